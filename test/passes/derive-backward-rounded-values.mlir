// RUN: hone-opt %s --hone-derive-backward=residuals=products-bfloat16 | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --hone-derive-backward=residuals=products-bfloat16 | FileCheck %s --check-prefix=FORWARD

// Inner values in half of their memory. Results of element-wise ops (the norm,
// activation) are computed again, from values that were converted back; h = xA
// is narrow and kept as it is.
// CHECK-LABEL: hone.block @layer.backward(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x32xf32>, %[[U16:[^:]*]]: tensor<?x64xbf16>, %{{[^:]*}}: tensor<?x1xf32>, %{{[^:]*}}: tensor<?x2xf32>, %{{[^:]*}}: tensor<?x2xf32>, %{{[^:]*}}: tensor<?x32xf32>)
// CHECK: hone.rms_norm %[[X]]
// CHECK: %[[U:.*]] = hone.convert %[[U16]] : tensor<?x64xbf16> to tensor<?x64xf32>
// CHECK: hone.gated_activation silu %[[U]], %[[U]]
// CHECK-NOT: hone.lora_linear %
// CHECK-LABEL: hone.block @layer.forward(

// Rounded after the op that makes it; the forward goes on with the value.
// FORWARD-LABEL: hone.block @layer.forward(
// FORWARD: %[[U:[^,]*]], %{{.*}} = hone.lora_linear
// FORWARD-NEXT: %[[U16:.*]] = hone.convert %[[U]] : tensor<?x64xf32> to tensor<?x64xbf16>
// FORWARD-NEXT: hone.gated_activation silu %[[U]], %[[U]]
// FORWARD: hone.return %{{[^,]*}}, %[[U16]],
hone.block @layer(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %nw = hone.parameter "norm.weight" : tensor<32xf32>
  %n = hone.rms_norm %x, %nw eps 1.0e-5 : (tensor<?x32xf32>, tensor<32xf32>) -> tensor<?x32xf32>
  %w = hone.parameter "up.weight" : tensor<64x32xf32>
  %a = hone.parameter "up.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x32xf32>
  %b = hone.parameter "up.lora_B.weight" trainable init <zero> : tensor<64x2xf32>
  %u = hone.lora_linear %n, %w, %a, %b scale 2.0 : (tensor<?x32xf32>, tensor<64x32xf32>, tensor<2x32xf32>, tensor<64x2xf32>) -> tensor<?x64xf32>
  %g = hone.gated_activation silu %u, %u : tensor<?x64xf32>
  %v = hone.parameter "down.weight" : tensor<32x64xf32>
  %c = hone.parameter "down.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x64xf32>
  %d = hone.parameter "down.lora_B.weight" trainable init <zero> : tensor<32x2xf32>
  %p = hone.lora_linear %g, %v, %c, %d scale 2.0 : (tensor<?x64xf32>, tensor<32x64xf32>, tensor<2x64xf32>, tensor<32x2xf32>) -> tensor<?x32xf32>
  %y = hone.add %x, %p : tensor<?x32xf32>
  hone.return %y : tensor<?x32xf32>
}
hone.block @head(%x: tensor<?x32xf32>) -> tensor<f64> {
  %t = hone.input "targets" : tensor<?xi32>
  %w = hone.parameter "lm_head.weight" : tensor<9x32xf32>
  %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x32xf32>, tensor<9x32xf32>, tensor<?xi32>) -> tensor<f64>
  hone.return %l : tensor<f64>
}
hone.block @embed() -> tensor<?x32xf32> {
  %ids = hone.input "input_ids" : tensor<?xi32>
  %t = hone.parameter "embed.weight" : tensor<9x32xf32>
  %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x32xf32>) -> tensor<?x32xf32>
  hone.return %x : tensor<?x32xf32>
}
hone.entry @loss() -> tensor<f64> {
  %0 = hone.call @embed "" () : () -> tensor<?x32xf32>
  %1 = hone.call @layer "layers.0." (%0) : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %2 = hone.call @layer "layers.1." (%1) : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %3 = hone.call @layer "layers.2." (%2) : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %4 = hone.call @layer "layers.3." (%3) : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %5 = hone.call @head "" (%4) : (tensor<?x32xf32>) -> tensor<f64>
  hone.return %5 : tensor<f64>
}
