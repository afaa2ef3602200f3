// RUN: hone-opt %s --hone-derive-backward=recomputed-inputs=2 | FileCheck %s --enable-var-scope
// RUN: not hone-opt %s --hone-derive-backward=recomputed-inputs=3 2>&1 | FileCheck %s --check-prefix=TOO-MANY

// The inputs of layers 0 and 1 are not kept. When the backward has come to
// layer 1, the embedding and layer 0 run again and make both; layer 0's
// backward reads the value that was made then.
// CHECK-LABEL: hone.entry gradient @gradient(
// CHECK: %[[X0:.*]] = hone.call @embed ""
// CHECK-NEXT: %[[X1:.*]] = hone.call @layer "layers.0."(%[[X0]])
// CHECK-NEXT: %[[X2:.*]] = hone.call @layer "layers.1."(%[[X1]])
// CHECK-NEXT: %[[X3:.*]] = hone.call @layer "layers.2."(%[[X2]])
// CHECK-NEXT: %[[X4:.*]] = hone.call @layer "layers.3."(%[[X3]])
// CHECK: %[[D4:.*]]:2 = hone.call @head.gradient ""(%[[X4]],
// CHECK: %[[D3:.*]] = hone.call @layer.backward "layers.3."(%[[X3]], %[[D4]]#1)
// CHECK-NEXT: %[[D2:.*]] = hone.call @layer.backward "layers.2."(%[[X2]], %[[D3]])
// CHECK-NEXT: %[[Y0:.*]] = hone.call @embed ""
// CHECK-NEXT: %[[Y1:.*]] = hone.call @layer "layers.0."(%[[Y0]])
// CHECK-NEXT: %[[D1:.*]] = hone.call @layer.backward "layers.1."(%[[Y1]], %[[D2]])
// CHECK-NEXT: hone.call @layer.backward "layers.0."(%[[Y0]], %[[D1]])

// TOO-MANY: error: 'hone.entry' op has 4 block inputs that the backward reads: 3 of them cannot be computed again in the memory of the others

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
  %4 = hone.call @layer "layers.3." (%3) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %5 = hone.call @head "" (%4) : (tensor<?x4xf32>) -> tensor<f64>
  hone.return %5 : tensor<f64>
}
