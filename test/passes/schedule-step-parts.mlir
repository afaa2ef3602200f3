// RUN: hone-opt %s --test-set-method="lower.method=mezo lower.optimizer=sgd lower.directions=2 upper.method=backprop upper.optimizer=adamw lower.layers=0" --hone-derive-backward --hone-schedule-step | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --test-set-method="lower.method=backprop upper.method=fgd upper.optimizer=sgd lower.layers=0" --hone-derive-backward --hone-schedule-step --hone-erase-unused --hone-verify-step --hone-place --hone-verify-placement | FileCheck %s --check-prefix=BELOW --enable-var-scope
// RUN: hone-opt %s --test-set-method="lower.method=lcsb lower.selection=round-robin upper.method=backprop lower.layers=0 lower.selection_warmup=0" --hone-derive-backward --hone-schedule-step | FileCheck %s --check-prefix=SOME --enable-var-scope
// RUN: not hone-opt %s --test-set-method="lower.method=mezo upper.method=mezo lower.layers=0-2" --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not hone-opt %s --test-set-method="lower.method=none upper.method=mezo lower.layers=0" --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not hone-opt %s --test-set-method="lower.method=mezo upper.method=backprop compare=mezo lower.layers=0" --hone-derive-backward --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=COMPARED

// MANY: error: {{.*}}has 2 layers, so the cut after layer 3 leaves none above
// NONE: error: hone.method: expects parts.lower.method to be one of backprop, {{.*}} but got "none"
// COMPARED: train.compare: expected none, since parts have methods of their own

// A probe moves the lower part alone.
// CHECK-LABEL: hone.entry @lower.loss.perturbed(
// CHECK: hone.call @layer.perturbed "0."
// CHECK: hone.call @layer "1."

// Where the lower part has no backward, the cotangent ends above it.
// CHECK-LABEL: hone.entry gradient @gradient(
// CHECK: hone.call @layer "0."
// CHECK: hone.call @layer.backward "1."
// CHECK-NOT: hone.call
// CHECK: hone.return

// Each part's update is on its layers.
// CHECK-LABEL: hone.entry update @lower.update(
// CHECK: hone.sgd {{.*}} along {{.*}} on ["0."]
// CHECK-LABEL: hone.entry update @upper.update(
// CHECK: hone.adamw {{.*}} on ["1."]

// For each batch all probes of the lower part, then one gradient at the parameters
// of the step; updates come last, and nothing moves before all is checked.
// CHECK: hone.schedule train
// CHECK: hone.repeat
// CHECK-NEXT: %[[BATCH:.*]] = hone.load
// CHECK-NEXT: hone.repeat %{{.*}} expected 4
// CHECK: hone.run @lower.loss.perturbed({{.*}}) on %[[BATCH]]
// CHECK: hone.run @gradient({{.*}}) on %[[BATCH]]
// CHECK-NOT: hone.load
// CHECK: hone.run @upper.gradient_squares() : () -> tensor<2xf64>
// CHECK: hone.check
// CHECK: hone.setting "lower.learning_rate"
// CHECK: hone.run @lower.update(
// CHECK: hone.setting "upper.max_grad_norm"
// CHECK: hone.setting "upper.learning_rate"
// CHECK: hone.run @upper.update(
// CHECK-NOT: hone.schedule replay

// A cotangent goes through layers that do not train, whose parameters are
// constants.
// BELOW-LABEL: hone.block @layer.backward.held(
// BELOW-NOT: hone.gradient
// BELOW: hone.return
// BELOW-LABEL: hone.entry gradient @gradient(
// BELOW: hone.call @layer.backward.held "1."
// BELOW: hone.call @layer.backward "0."

// A selection is of the part's layers.
// SOME-LABEL: hone.entry gradient @gradient(
// SOME-SAME: tensor<1xi32>
// SOME: hone.call @layer.backward "1."({{[^)]*}}) :
// SOME: hone.call @layer.backward "0."({{[^)]*}}) when %{{.*}}[0]
module attributes {hone.max_rows = 16 : i64} {
  hone.block @embed() -> tensor<?x4xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "embed_tokens.weight" : tensor<9x4xf32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    hone.return %x : tensor<?x4xf32>
  }
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %y = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %x0 = hone.call @embed "" () : () -> tensor<?x4xf32>
    %x1 = hone.call @layer "0." (%x0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %x2 = hone.call @layer "1." (%x1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %y = hone.call @head "head." (%x2) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
}
