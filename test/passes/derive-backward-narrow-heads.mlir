// RUN: hone-opt %s --hone-derive-backward="residuals=narrow" | FileCheck %s --enable-var-scope

// With heads of one feature the normalizer is wider than the block's input. It
// is kept all the same, since attention's result is.
// CHECK-LABEL: hone.block @layer.backward(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x2xf32>, %[[Y:[^:]*]]: tensor<?x2xf32>, %[[N:[^:]*]]: tensor<?x4xf32>, %{{[^:]*}}: tensor<?x2xf32>)
// CHECK-NOT: hone.attention %
// CHECK: hone.attention_adjoint %{{.*}}, %[[X]], %[[X]], %[[X]], %[[Y]], %[[N]], %
// CHECK-LABEL: hone.block @layer.forward(
// CHECK-SAME: -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x4xf32>)
hone.block @layer(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %s = hone.input "sequence_starts" : tensor<?xi32>
  %y = hone.attention %x, %x, %x, %s heads 2 kv_heads 2 scale 1.0 : (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>, tensor<?xi32>) -> tensor<?x2xf32>
  %w = hone.parameter "o_proj.weight" trainable init <pretrained> : tensor<2x2xf32>
  %p = hone.linear %y, %w : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32>
  %z = hone.add %x, %p : tensor<?x2xf32>
  hone.return %z : tensor<?x2xf32>
}
hone.block @head(%x: tensor<?x2xf32>) -> tensor<f64> {
  %t = hone.input "targets" : tensor<?xi32>
  %w = hone.parameter "lm_head.weight" : tensor<9x2xf32>
  %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x2xf32>, tensor<9x2xf32>, tensor<?xi32>) -> tensor<f64>
  hone.return %l : tensor<f64>
}
hone.block @embed() -> tensor<?x2xf32> {
  %ids = hone.input "input_ids" : tensor<?xi32>
  %t = hone.parameter "embed.weight" trainable init <pretrained> : tensor<9x2xf32>
  %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x2xf32>) -> tensor<?x2xf32>
  hone.return %x : tensor<?x2xf32>
}
hone.entry @loss() -> tensor<f64> {
  %0 = hone.call @embed "" () : () -> tensor<?x2xf32>
  %1 = hone.call @layer "layers.0." (%0) : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %2 = hone.call @head "" (%1) : (tensor<?x2xf32>) -> tensor<f64>
  hone.return %2 : tensor<f64>
}
