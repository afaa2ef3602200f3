// RUN: hone-opt %s --hone-derive-backward --hone-schedule-step | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=mezo" --hone-schedule-step | FileCheck %s --check-prefix=MEZO
// RUN: hone-opt %s --hone-derive-generation="rows=4 positions=16" | FileCheck %s --check-prefix=TEXT

// Evaluations have plain blocks.
// CHECK-LABEL: hone.block @embed.plain(
// CHECK-NOT: random_key
// CHECK-NOT: hone.embedding_noise
// CHECK: %[[X:.*]] = hone.embedding
// CHECK: hone.return %[[X]]
// CHECK-LABEL: hone.block @layer.plain(
// CHECK-NOT: random_key
// CHECK: hone.lora_linear
// CHECK-NOT: dropout
// CHECK-SAME: ->

// The key is an input of the batch, so the backward reads the one of the forward.
// CHECK-LABEL: hone.block @layer.backward(
// CHECK: %[[KEY:.*]] = hone.input "random_key"
// CHECK: hone.lora_parameter_adjoint {{.*}} dropout 1.000000e-01 of "q_proj" by %[[KEY]]

// CHECK-LABEL: hone.block @head.plain(
// CHECK: hone.linear_cross_entropy
// CHECK-NOT: smoothing
// CHECK-SAME: ->

// CHECK-LABEL: hone.entry @loss.plain()
// CHECK: hone.call @embed.plain "model."
// CHECK: hone.call @layer.plain "model.layers.0."
// CHECK: hone.call @head.plain ""
// CHECK: hone.entry gradient @gradient(
// CHECK: hone.call @embed "model."
// CHECK: hone.call @layer "model.layers.0."

// CHECK-LABEL: hone.schedule train
// CHECK: hone.run @gradient(
// CHECK-LABEL: hone.schedule evaluate
// CHECK: hone.run @loss.plain(

// Probes have the masks; unused blocks are not there.
// MEZO: hone.block @layer.perturbed(
// MEZO: hone.lora_linear {{.*}} dropout
// MEZO-NOT: hone.entry @loss()
// MEZO-LABEL: hone.schedule train
// MEZO: hone.run @loss.perturbed(
// MEZO-LABEL: hone.schedule evaluate
// MEZO: hone.run @loss.plain(

// Text is drawn without.
// TEXT-NOT: random_key
// TEXT-NOT: hone.embedding_noise
// TEXT-NOT: dropout
module attributes {hone.max_rows = 16 : i64} {
  hone.block @embed() -> tensor<?x4xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "embed_tokens.weight" : tensor<9x4xf32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %key = hone.input "random_key" : tensor<4xi32>
    %y = hone.embedding_noise %x, %s alpha 5.0 of "embed_tokens" by %key : tensor<?x4xf32>, tensor<?xi32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %key = hone.input "random_key" : tensor<4xi32>
    %y = hone.lora_linear %x, %w, %a, %b scale 2.0 dropout 0.1 of "q_proj" by %key : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>, tensor<4xi32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t smoothing 0.1 : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
    %1 = hone.call @layer "model.layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
  }
}
