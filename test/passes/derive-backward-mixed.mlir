// RUN: hone-opt %s --hone-derive-backward=residuals=mesp*1+narrow*1+full*1 | FileCheck %s --enable-var-scope
// RUN: not hone-opt %s --hone-derive-backward=residuals=mesp*1+full*1 2>&1 | FileCheck %s --check-prefix=COUNT

// Layers of one kind under three policies: each is derived once, and a layer's
// kept values go from its forward call to its backward call.

// Nothing here is narrow and costly: u is wide, and the norm of x is cheap.
// CHECK-LABEL: hone.block @layer.backward.full(
// CHECK: hone.block @layer.backward.narrow(%{{[^:]*}}: tensor<?x4xf32>, %{{[^:]*}}: tensor<?x4xf32>)
// CHECK: hone.block @layer.backward.mesp(
// CHECK-LABEL: hone.entry gradient @gradient(
// CHECK: %[[X0:.*]] = hone.call @embed
// CHECK: %[[X1:.*]] = hone.call @layer "layers.0."(%[[X0]])
// CHECK: %[[X2:.*]] = hone.call @layer "layers.1."(%[[X1]])
// CHECK: %[[X3:.*]]:{{[0-9]+}} = hone.call @layer.forward.full "layers.2."(%[[X2]])
// CHECK: hone.call @layer.backward.full "layers.2."({{.*}}%[[X3]]#1,
// CHECK: hone.call @layer.backward.narrow "layers.1."(%[[X1]],
// CHECK: hone.call @layer.backward.mesp "layers.0."(%[[X0]],

// COUNT: error: 'hone.entry' op has 3 layers to derive, but residuals is 'mesp*1+full*1'

hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %nw = hone.parameter "norm.weight" : tensor<4xf32>
  %n = hone.rms_norm %x, %nw eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %w = hone.parameter "up.weight" : tensor<8x4xf32>
  %a = hone.parameter "up.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
  %b = hone.parameter "up.lora_B.weight" trainable init <zero> : tensor<8x2xf32>
  %u = hone.lora_linear %n, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<?x8xf32>
  %g = hone.gated_activation silu %u, %u : tensor<?x8xf32>
  %v = hone.parameter "down.weight" : tensor<4x8xf32>
  %c = hone.parameter "down.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x8xf32>
  %d = hone.parameter "down.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
  %p = hone.lora_linear %g, %v, %c, %d scale 2.0 : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<2x8xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
  %y = hone.add %x, %p : tensor<?x4xf32>
  hone.return %y : tensor<?x4xf32>
}
hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
  %t = hone.input "targets" : tensor<?xi32>
  %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
  %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
  hone.return %l : tensor<f64>
}
hone.block @embed() -> tensor<?x4xf32> {
  %ids = hone.input "input_ids" : tensor<?xi32>
  %t = hone.parameter "embed.weight" : tensor<9x4xf32>
  %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
  hone.return %x : tensor<?x4xf32>
}
hone.entry @loss() -> tensor<f64> {
  %0 = hone.call @embed "" () : () -> tensor<?x4xf32>
  %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = hone.call @layer "layers.1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %3 = hone.call @layer "layers.2." (%2) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %4 = hone.call @head "" (%3) : (tensor<?x4xf32>) -> tensor<f64>
  hone.return %4 : tensor<f64>
}
