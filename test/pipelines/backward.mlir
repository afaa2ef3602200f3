// RUN: hone-opt %s --hone-pipeline-derive | FileCheck %s --enable-var-scope --check-prefixes=DERIVE
// RUN: hone-opt %s --hone-pipeline-derive="residuals=full" | FileCheck %s --enable-var-scope --check-prefixes=FULL
// RUN: hone-opt %s --hone-pipeline-derive --hone-pipeline-place | FileCheck %s --enable-var-scope --check-prefixes=PLACE
// RUN: hone-opt %s --test-set-method="optimizer=sgd" --hone-pipeline-derive="residuals=full" --hone-pipeline-place | FileCheck %s --enable-var-scope --check-prefixes=SGD

// From a model to a placed training step, phase by phase.

// After derivation there are a loss, its gradient, an update, the schedules that
// run them, and exactly the blocks that they call: one of each kind for two
// layers.
// DERIVE-NOT: hone.block @unused
// DERIVE-DAG: hone.block @embed(
// DERIVE-DAG: hone.block @decoder(
// DERIVE-DAG: hone.block @decoder.backward(
// DERIVE-DAG: hone.block @head(
// DERIVE-DAG: hone.block @head.gradient(
// DERIVE-NOT: hone.block
// DERIVE: hone.entry @loss
// DERIVE: hone.entry gradient @gradient
// DERIVE: hone.call @embed "model."
// DERIVE-NEXT: hone.call @decoder "model.layers.0."
// DERIVE-NEXT: hone.call @decoder "model.layers.1."
// DERIVE: hone.call @head.gradient
// DERIVE: hone.call @decoder.backward "model.layers.1."
// DERIVE: hone.call @decoder.backward "model.layers.0."
// DERIVE-NEXT: hone.fold_gradient
// DERIVE-NEXT: hone.return
// DERIVE-NEXT: }
// DERIVE: hone.entry vector @gradient_squares
// DERIVE: hone.entry vector @zero_gradient
// DERIVE: hone.entry update @update
// DERIVE: hone.adamw
// DERIVE-NOT: hone.entry
// DERIVE: hone.schedule train
// DERIVE: hone.schedule evaluate
// DERIVE: hone.schedule differentiate

// `full` changes the kept values and nothing else.
// FULL-DAG: hone.block @decoder.forward(
// FULL-DAG: hone.block @decoder.backward(
// FULL-NOT: @embed.
// FULL: hone.entry gradient @gradient
// FULL: hone.call @decoder.forward "model.layers.0."
// FULL-NEXT: hone.call @decoder.forward "model.layers.1."
// FULL-NOT: hone.call @decoder "

// After placement the arena is known, the parameters of both layers are in it
// (2 x (8 + 8 + 8 + 8) floats), every call has its scratch and every run its
// working set.
// PLACE: module attributes {
// PLACE-SAME: hone.arena_bytes =
// PLACE: hone.region "theta" adapter at 0 bytes 256
// PLACE: hone.region "gradient" gradient at 256 bytes 256
// PLACE: hone.region "state0" optimizer at 512 bytes 256
// PLACE: hone.region "state1" optimizer at 768 bytes 256
// PLACE-DAG: hone.region "input.input_ids" batch
// PLACE-DAG: hone.region "input.targets" batch
// PLACE-DAG: hone.region "input.sequence_starts" batch
// PLACE: hone.region "scalars" batch
// PLACE: hone.entry gradient @gradient
// PLACE-COUNT-6: hone.call {{.*}}hone.scratch = #hone.slot<
// PLACE: hone.schedule train
// PLACE: hone.run @gradient({{.*}}hone.scratch = #hone.slot<

// SGD: hone.region "gradient" gradient
// SGD-NOT: optimizer
// SGD: hone.sgd
module attributes {hone.max_rows = 16 : i64} {
  hone.block @embed() -> tensor<?x4xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "embed_tokens.weight" : tensor<9x4xf32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    hone.return %x : tensor<?x4xf32>
  }
  hone.block @unused() {
    hone.return
  }
  hone.block @decoder(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %nw = hone.parameter "norm.weight" : tensor<4xf32>
    %n = hone.rms_norm %x, %nw eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %wq = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %aq = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %bq = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %q = hone.lora_linear %n, %wq, %aq, %bq scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %kw = hone.parameter "k_proj.weight" : tensor<2x4xf32>
    %k = hone.linear %n, %kw : (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x2xf32>
    %qr = hone.rope %q, %s heads 2 theta 1.0e4 : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    %kr = hone.rope %k, %s heads 1 theta 1.0e4 : (tensor<?x2xf32>, tensor<?xi32>) -> tensor<?x2xf32>
    %o = hone.attention %qr, %kr, %k, %s heads 2 kv_heads 1 scale 0.5 : (tensor<?x4xf32>, tensor<?x2xf32>, tensor<?x2xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    %g = hone.gated_activation silu %o, %n : tensor<?x4xf32>
    %wdown = hone.parameter "down_proj.weight" : tensor<4x4xf32>
    %adown = hone.parameter "down_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %bdown = hone.parameter "down_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %d = hone.lora_linear %g, %wdown, %adown, %bdown scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %y = hone.add %x, %d : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
    %1 = hone.call @decoder "model.layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @decoder "model.layers.1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = hone.call @head "" (%2) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %3 : tensor<f64>
  }
}
