// RUN: hone-opt %s --hone-derive-backward="residuals=store-h" | FileCheck %s --enable-var-scope --check-prefix=STOREH
// RUN: hone-opt %s --hone-derive-backward="residuals=mebp" | FileCheck %s --enable-var-scope --check-prefix=MEBP

// The policies that stand beside MeSP in its paper.

// store-h keeps h = xA^T of each LoRA linear and nothing else: the norm is
// recomputed, and the adjoint reads the h that came from the forward pass.
// STOREH-LABEL: hone.block @layer.backward(
// STOREH-SAME: %[[X:[^:]*]]: tensor<?x4xf32>, %[[H:[^:]*]]: tensor<?x2xf32>, %[[DY:[^:]*]]: tensor<?x4xf32>)
// STOREH: %[[N:[^ ]*]] = hone.rms_norm %[[X]]
// STOREH-NOT: hone.lora_linear %
// STOREH: hone.lora_parameter_adjoint %[[DY]], %[[N]], {{.*}} h %[[H]]
// STOREH-LABEL: hone.block @layer.forward(
// STOREH-SAME: -> (tensor<?x4xf32>, tensor<?x2xf32>)

// mebp keeps the block's input only, but runs the whole block again: also the
// projection whose result no adjoint reads, and with it h.
// MEBP-LABEL: hone.block @layer.backward(
// MEBP-SAME: %[[X:[^:]*]]: tensor<?x4xf32>, %[[DY:[^:]*]]: tensor<?x4xf32>)
// MEBP: %[[N:[^,]*]], %[[RSTD:[^ ]*]] = hone.rms_norm %[[X]]
// MEBP: %{{.*}}, %[[H:[^ ]*]] = hone.lora_linear %[[N]]
// MEBP: hone.add %[[X]]
// MEBP: hone.lora_parameter_adjoint %[[DY]], %[[N]], {{.*}} h %[[H]]
// MEBP: hone.rms_norm_adjoint {{.*}} rstd %[[RSTD]]
// MEBP-NOT: hone.block @layer.forward
hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %nw = hone.parameter "norm.weight" : tensor<4xf32>
  %n = hone.rms_norm %x, %nw eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %w = hone.parameter "q_proj.weight" : tensor<4x4xf32>
  %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
  %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
  %p = hone.lora_linear %n, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
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
  %3 = hone.call @head "" (%2) : (tensor<?x4xf32>) -> tensor<f64>
  hone.return %3 : tensor<f64>
}
