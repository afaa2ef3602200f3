// RUN: hone-opt %s --test-set-method="method=lcsb selection_ratio=0.3 compare=backprop selection_warmup=0" --hone-derive-backward --hone-schedule-step --hone-erase-unused --hone-verify-step | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=backprop selection_ratio=0.3 compare=lcsb selection_warmup=0" --hone-derive-backward --hone-schedule-step --hone-erase-unused --hone-verify-step | FileCheck %s --check-prefix=LCSB --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=backprop directions=3 compare=mezo" --hone-derive-backward --hone-schedule-step --hone-erase-unused --hone-verify-step | FileCheck %s --check-prefix=MEZO --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=mezo optimizer=sgd compare=backprop" --hone-derive-backward --hone-schedule-step --hone-erase-unused --hone-verify-step --hone-place --hone-verify-placement | FileCheck %s --check-prefix=PLACED
// RUN: not hone-opt %s --test-set-method="compare=mezo data_parallel=true" --hone-derive-backward --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not hone-opt %s --test-set-method="compare=adjoint" --hone-derive-backward --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=NONE

// RANKS: train.compare: expected none, since each rank would compare gradients of its own batches
// NONE: hone.method: expects train.compare to be one of none, backprop, {{.*}}, fgd but got "adjoint"

// A second backward is a copy of the first from before layers are selected: it runs
// all of them, and keeps all of their inputs.
// CHECK-LABEL: hone.entry gradient @gradient(
// CHECK: hone.pool : tensor<1x?x4xf32>
// CHECK: hone.call @layer.backward "layers.1."{{.*}} when %{{.*}}[1]
// CHECK-LABEL: hone.entry gradient @compare.gradient(
// CHECK-SAME: %{{[^:]+}}: tensor<f64>, %{{[^:]+}}: tensor<i64>)
// CHECK-NOT: hone.pool
// CHECK: hone.call @layer.backward "layers.1."
// CHECK-NOT: hone.call {{.*}} when
// CHECK: hone.return

// It has a schedule of its own, which updates nothing. Its gradient is where that of
// `differentiate` is, so the one is copied before the other is made.
// CHECK-LABEL: hone.schedule differentiate
// CHECK: hone.run @gradient(
// CHECK-LABEL: hone.schedule compare
// CHECK: hone.run @compare.zero_gradient()
// CHECK: hone.load
// CHECK-NEXT: hone.run @compare.gradient(
// CHECK-NOT: @update
// CHECK: hone.report %{{.*}} as "loss"

// Its settings have names of their own.
// LCSB-LABEL: hone.entry gradient @gradient(
// LCSB-NOT: hone.pool
// LCSB-LABEL: hone.entry gradient @compare.gradient(
// LCSB: hone.pool : tensor<1x?x4xf32>
// LCSB-LABEL: hone.schedule train
// LCSB-NOT: selection_ratio
// LCSB-LABEL: hone.schedule compare
// LCSB: %[[RATIO:.*]] = hone.setting "compare.selection_ratio"
// LCSB: hone.scalar @scalar.select_uniform(%[[RATIO]],

// An estimate has the entries that make it, and none that update along it.
// MEZO-NOT: @compare.update
// MEZO: hone.entry @compare.loss.perturbed(
// MEZO-NOT: @compare.update
// MEZO-LABEL: hone.schedule compare
// MEZO: hone.setting "compare.perturbation_scale"
// MEZO: hone.run @compare.loss.perturbed(
// MEZO: hone.run @compare.estimate_gradient(

// Both gradients are in the arena, though no step of mezo has one, the copy after
// the other. State and accumulation are as they were.
// PLACED: module attributes {hone.arena_bytes
// PLACED: hone.region "theta"
// PLACED-NEXT: hone.region "gradient" gradient at [[GRADIENT:[0-9]+]]
// PLACED-NEXT: hone.region "comparison" comparison at
// PLACED-NOT: hone.region "state
// PLACED-NOT: hone.region "gradient"
module attributes {hone.max_rows = 16 : i64} {
  hone.block @start() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %n = hone.parameter "norm" : tensor<4xf32>
    %0 = hone.rms_norm %x, %n eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %y = hone.lora_linear %0, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %z = hone.add %x, %y : tensor<?x4xf32>
    hone.return %z : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %0 = hone.call @start "" () : () -> tensor<?x4xf32>
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @layer "layers.1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = hone.call @layer "layers.2." (%2) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %4 = hone.call @head "" (%3) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %4 : tensor<f64>
  }
}
