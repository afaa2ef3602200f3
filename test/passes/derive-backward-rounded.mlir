// RUN: hone-opt %s --hone-derive-backward="rounded-inputs=1 recomputed-inputs=1" | FileCheck %s --enable-var-scope
// RUN: not hone-opt %s --hone-derive-backward="rounded-inputs=5" 2>&1 | FileCheck %s --check-prefix=TOO-MANY

// The first kept input is rounded after the call that makes it; the forward
// goes on with the value itself, and the backward reads the value converted
// back.
// CHECK-LABEL: hone.block @layer.backward(
// CHECK-LABEL: hone.block @convert.4.f32.bf16(
// CHECK: hone.convert %{{.*}} : tensor<?x4xf32> to tensor<?x4xbf16>
// CHECK-LABEL: hone.block @convert.4.bf16.f32(
// CHECK-LABEL: hone.entry gradient @gradient(
// CHECK: %[[X1:.*]] = hone.call @layer "layers.0."
// CHECK-NEXT: %[[KEPT:.*]] = hone.call @convert.4.f32.bf16 "layers.0."(%[[X1]])
// CHECK-NEXT: hone.call @layer "layers.1."(%[[X1]])
// CHECK: %[[BACK:.*]] = hone.call @convert.4.bf16.f32 "layers.0."(%[[KEPT]])
// CHECK-NEXT: hone.call @layer.backward "layers.1."(%[[BACK]],

// TOO-MANY: error: 'hone.entry' op keeps 4 block inputs for the backward, fewer than the 5 to keep in bfloat16
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
