// RUN: hone-opt %s --test-set-method="method=lcsb selection=uniform selection_ratio=0.3 selection_warmup=0" --hone-derive-backward --hone-schedule-step | FileCheck %s --check-prefixes=CHECK,UNIFORM --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=lcsb selection=round-robin selection_ratio=0.3 selection_warmup=0" --hone-derive-backward --hone-schedule-step | FileCheck %s --check-prefixes=CHECK,ROBIN --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=lcsb selection=cyclic selection_groups=3 selection_warmup=0" --hone-derive-backward --hone-schedule-step | FileCheck %s --check-prefixes=CHECK,CYCLIC --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=lcsb selection=bernoulli selection_ratio=0.3 selection_warmup=0" --hone-derive-backward --hone-schedule-step | FileCheck %s --check-prefix=BERNOULLI --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=lcsb selection=uniform selection_ratio=0.3 selection_warmup=2" --hone-derive-backward --hone-schedule-step | FileCheck %s --check-prefix=WARM --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=lcsb selection=uniform selection_warmup=2 optimizer_in_backward=true" --hone-derive-backward --hone-schedule-step --hone-erase-unused --hone-verify-step --hone-place --hone-verify-placement | FileCheck %s --check-prefix=BACKWARD --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=lcsb selection=uniform selection_warmup=0 data_parallel=true" --hone-derive-backward --hone-schedule-step --hone-erase-unused --hone-verify-step --hone-place --hone-verify-placement | FileCheck %s --check-prefix=RANKS --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=lcsb selection=uniform unselected=exact selection_warmup=0" --hone-derive-backward="residuals=full" --hone-schedule-step | FileCheck %s --check-prefix=EXACT --enable-var-scope
// RUN: not hone-opt %s --test-set-method="method=lcsb selection=uniform unselected=none selection_warmup=0" --hone-derive-backward --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=BADREST
// RUN: not hone-opt %s --test-set-method="method=lcsb selection=even selection_warmup=0" --hone-derive-backward --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=BADKIND
// RUN: not hone-opt %s --test-set-method="method=lcsb selection=uniform selection_ratio=0 selection_warmup=0" --hone-derive-backward --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=BADRATIO
// RUN: not hone-opt %s --test-set-method="method=lcsb selection=cyclic selection_groups=4 selection_warmup=0" --hone-derive-backward --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=BADGROUPS
// RUN: not hone-opt %s --test-set-method="method=lcsb selection=uniform selection_warmup=0" --hone-derive-backward="residuals=full" --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=FULL

// The pool has as many slots as the largest selection: one of three layers here,
// but with a probability for each as many as there are layers.
// CHECK-LABEL: hone.entry gradient @gradient(
// CHECK-SAME: tensor<3xi32>, %{{.*}}: tensor<3xi32>, %{{.*}}: tensor<i64>)
// CHECK: hone.pool : tensor<1x?x4xf32>
// BERNOULLI: hone.pool : tensor<3x?x4xf32>

// The selection is made once, before the first batch, and all batches are under
// it.
// CHECK-LABEL: hone.schedule train
// UNIFORM-DAG: %[[STEP:.*]] = hone.setting "completed" : tensor<i64>
// UNIFORM-DAG: %[[RATIO:.*]] = hone.setting "selection_ratio" : tensor<f64>
// UNIFORM-DAG: %[[SEED:.*]] = hone.setting "seed" : tensor<i64>
// UNIFORM: %[[MASK:.*]] = hone.scalar @scalar.select_uniform(%[[RATIO]], %[[STEP]], %[[SEED]])
// ROBIN-DAG: %[[STEP:.*]] = hone.setting "completed" : tensor<i64>
// ROBIN-DAG: %[[RATIO:.*]] = hone.setting "selection_ratio" : tensor<f64>
// ROBIN: %[[MASK:.*]] = hone.scalar @scalar.select_round_robin(%[[RATIO]], %[[STEP]])
// CYCLIC-DAG: %[[STEP:.*]] = hone.setting "completed" : tensor<i64>
// CYCLIC-DAG: %[[GROUPS:.*]] = hone.setting "selection_groups" : tensor<i64>
// CYCLIC: %[[MASK:.*]] = hone.scalar @scalar.select_cyclic(%[[GROUPS]], %[[STEP]])
// CHECK-NEXT: %[[SLOTS:.*]] = hone.scalar @scalar.slots(%[[MASK]])
// CHECK: hone.repeat
// CHECK-NEXT: %[[BATCH:.*]] = hone.load
// CHECK-NEXT: hone.run @gradient(%{{.*}}, %[[MASK]], %[[SLOTS]], %{{.*}}) on %[[BATCH]]

// So is the gradient that is dumped.
// CHECK-LABEL: hone.schedule differentiate
// CHECK: hone.run @gradient(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})

// A warm-up has an entry of its own, which has all layers and no more inputs at a
// time than there are slots, here one: the others are computed again.
// WARM-LABEL: hone.entry gradient @gradient.all(
// WARM-SAME: tensor<3xi32>, %{{.*}}: tensor<3xi32>, %{{.*}}: tensor<i64>)
// WARM: %[[X2:.*]] = hone.call @layer "layers.1."
// WARM: hone.call @head.gradient
// WARM: hone.call @layer.backward "layers.2."(%[[X2]],
// WARM: %[[H:.*]] = hone.call @start ""()
// WARM: %[[X1:.*]] = hone.call @layer "layers.0."(%[[H]])
// WARM: hone.call @layer.backward "layers.1."(%[[X1]],
// WARM: %[[X0:.*]] = hone.call @start ""()
// WARM: hone.call @layer.backward "layers.0."(%[[X0]],
// WARM-LABEL: hone.entry gradient @gradient(
// WARM: hone.pool : tensor<1x?x4xf32>
// WARM-LABEL: hone.schedule train
// WARM: %[[LATER:.*]] = hone.scalar @scalar.is_warm(
// WARM: hone.run @gradient({{.*}}) on %{{.*}} when %[[LATER]] else @gradient.all

// Layers that are not selected are updated like the others, by gradients of zero.
// BACKWARD-LABEL: hone.entry gradient @gradient.update(
// BACKWARD: hone.call @layer.backward "layers.2."{{.*}} when
// BACKWARD-COUNT-3: hone.adamw
// BACKWARD: hone.run @gradient.update({{.*}} else @gradient.all.update

// All ranks have one selection, as they have one seed.
// RANKS: %[[SHARED:.*]] = hone.scalar @scalar.select_uniform
// RANKS: hone.run @gradient(%{{.*}}, %[[SHARED]],
// RANKS-NEXT: hone.fold

// With exact gradients through the others, those run calls without a sink,
// under any policy and without a pool, unless nothing below is selected. Below
// the first layer nobody reads one.
// EXACT-LABEL: hone.block @layer.backward(
// EXACT: hone.lora_parameter_adjoint
// EXACT: hone.gradient
// EXACT-LABEL: hone.block @layer.backward.frozen(
// EXACT-NOT: hone.lora_parameter_adjoint
// EXACT-NOT: hone.gradient
// EXACT: %[[U:.*]] = hone.lora_inner_adjoint
// EXACT: hone.lora_linear_adjoint {{.*}} u %[[U]] scale
// EXACT-LABEL: hone.entry gradient @gradient(
// EXACT-SAME: %[[MASK:[^:]*]]: tensor<3xi32>, %[[SKIPS:[^:]*]]: tensor<3xi32>, %{{[^:]*}}: tensor<i64>)
// EXACT-NOT: hone.pool
// EXACT: %[[THROUGH:.*]] = hone.call @pass_through "layers.2."{{.*}} when %[[SKIPS]][2] : tensor<3xi32> else @layer.backward.frozen
// EXACT: hone.call @layer.backward "layers.2."({{.*}}, %[[THROUGH]]) when %[[MASK]][2] : tensor<3xi32> else @pass_through
// EXACT-NOT: "layers.0."{{.*}} else @layer.backward.frozen
// EXACT: hone.call @layer.backward "layers.0."{{.*}} when %[[MASK]][0] : tensor<3xi32> else @pass_through
// EXACT-LABEL: hone.schedule train
// EXACT: %[[CHOSEN:.*]] = hone.scalar @scalar.select_uniform
// EXACT: %[[REACHES:.*]] = hone.scalar @scalar.reaches(%[[CHOSEN]])
// EXACT: hone.scalar @scalar.skips(%[[CHOSEN]], %[[REACHES]])
// EXACT: %[[OWN:.*]] = hone.scalar @scalar.selected_layers(%[[CHOSEN]],
// EXACT: hone.report %[[OWN]] as "selected_layers" : tensor<3xf32>
// BADREST: hone.method: expects train.unselected to be one of identity, exact but got "none"

// BADKIND: hone.method: expects train.selection to be one of uniform, bernoulli, cyclic, round-robin, importance, freeze, lisa, badam, stochastic-depth but got "even"
// BADRATIO: hone.method: expects train.selection_ratio to be a number greater than 0 and at most 1, or planned but got "0"
// BADGROUPS: train.selection_groups: expected at most 3, since that many layers train, but found 4; lower train.selection_groups
// FULL: expects an input and a cotangent: layers that are selected keep nothing but their one input
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
