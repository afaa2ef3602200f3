// RUN: hone-opt %s --test-set-method="method=lcsb selection=uniform unselected_update=none selection_warmup=2" --hone-derive-backward --hone-schedule-step --hone-erase-unused --hone-verify-step --hone-place --hone-verify-placement | FileCheck %s --check-prefix=UPDATE --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=lcsb selection=badam unselected=exact unselected_update=none selection_period=5 selection_warmup=0" --hone-derive-backward --hone-schedule-step | FileCheck %s --check-prefix=BADAM --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=lcsb selection=importance selection_warmup=1" --hone-derive-backward --hone-schedule-step | FileCheck %s --check-prefix=IMPORTANCE --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=lcsb selection=stochastic-depth selection_warmup=0" --hone-derive-backward --hone-schedule-step --hone-erase-unused --hone-verify-step --hone-place --hone-verify-placement | FileCheck %s --check-prefix=DEPTH --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=lcsb selection=uniform selection_ratio=0.3 selection_ratio_end=0.6 selection_schedule=linear selection_warmup=0" --hone-derive-backward --hone-schedule-step | FileCheck %s --check-prefix=RATIO --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=lcsb selection=lisa unselected=exact unselected_update=none optimizer_in_backward=true selection_warmup=0" --hone-derive-backward --hone-schedule-step --hone-erase-unused --hone-verify-step --hone-place --hone-verify-placement | FileCheck %s --check-prefix=BACKWARD --enable-var-scope
// RUN: not hone-opt %s --test-set-method="method=lcsb selection=lisa unselected=identity selection_warmup=0" --hone-derive-backward --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=BADLISA
// RUN: not hone-opt %s --test-set-method="method=lcsb unselected_update=some selection_warmup=0" --hone-derive-backward --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=BADUPDATE
// RUN: not hone-opt %s --test-set-method="method=lcsb selection=importance selection_warmup=0" --hone-derive-backward --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=BADIMPORTANCE
// RUN: not hone-opt %s --test-set-method="method=lcsb selection=cyclic selection_groups=2 selection_schedule=step selection_warmup=0" --hone-derive-backward --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=BADSCHEDULE
// RUN: not hone-opt %s --test-set-method="method=lcsb selection_period=0 selection_warmup=0" --hone-derive-backward --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=BADPERIOD

// An update is of each layer by itself, if the mask says so, with the bias
// correction of as many updates as the layer had; a warm-up has all of them.
// UPDATE-LABEL: hone.entry update @update(
// UPDATE-SAME: %[[C1:[^ ]*]]: tensor<3xf64>, %[[C2:[^ ]*]]: tensor<3xf64>, %[[MASK:[^ ]*]]: tensor<3xi32>)
// UPDATE: %[[OWN1:.*]] = hone.element %[[C1]][1] : tensor<3xf64>
// UPDATE: %[[OWN2:.*]] = hone.element %[[C2]][1] : tensor<3xf64>
// UPDATE: hone.adamw {{.*}}, %[[OWN1]], %[[OWN2]] on ["layers.1."] when %[[MASK]][1] : tensor<3xi32>
// UPDATE-LABEL: hone.schedule train
// UPDATE-DAG: %[[DRAWN:.*]] = hone.scalar @scalar.select_uniform
// UPDATE-DAG: %[[PAST:.*]] = hone.scalar @scalar.is_warm
// UPDATE: %[[SELECTED:.*]] = hone.scalar @scalar.selected_now(%[[DRAWN]], %[[PAST]])
// UPDATE: %[[BEFORE:.*]] = hone.setting "before.updates"
// UPDATE: %[[COUNTS:.*]] = hone.scalar @scalar.count_updates(%[[BEFORE]], %[[SELECTED]]
// UPDATE: hone.report %[[COUNTS]] as "updates"

// BAdam: the optimizer forgets where a block begins, and before the update.
// BADAM-LABEL: hone.schedule train
// BADAM: %[[BEGINS:.*]] = hone.scalar @scalar.begins_turn
// BADAM: hone.run @zero_state() when %[[BEGINS]]
// BADAM: hone.run @update

// A layer's new importance follows from the gradient's lengths by layer, and is
// there in the next step.
// IMPORTANCE-LABEL: hone.schedule train
// IMPORTANCE: %[[BEFORE:.*]] = hone.setting "before.importance" : tensor<3xf32>
// IMPORTANCE: %[[KNOWN:.*]] = hone.scalar @scalar.importance_before(%[[BEFORE]]
// IMPORTANCE: hone.scalar @scalar.select_importance({{.*}}, %[[KNOWN]],
// IMPORTANCE: %[[SQUARES:.*]] = hone.run @gradient_squares
// IMPORTANCE: %[[NORMS:.*]] = hone.scalar @scalar.layer_norms(%[[SQUARES]])
// IMPORTANCE: %[[NEW:.*]] = hone.scalar @scalar.importance_after(%[[KNOWN]], {{.*}}, %[[NORMS]],
// IMPORTANCE: hone.report %[[NEW]] as "importance" : tensor<3xf32>

// Forwards are skipped by the mask of the backwards; evaluations have all
// layers, weighted.
// DEPTH-LABEL: hone.entry @loss.scaled(
// DEPTH-SAME: %[[RESTS:[^ ]*]]: tensor<3xf64>, %[[WEIGHTS:[^ ]*]]: tensor<3xf64>)
// DEPTH: %[[H:[^ ]*]] = hone.call @layer "layers.1."(%[[X:[^)]*]])
// DEPTH: %[[R:[^ ]*]] = hone.element %[[RESTS]][1]
// DEPTH: %[[W:[^ ]*]] = hone.element %[[WEIGHTS]][1]
// DEPTH: hone.call @blend "layers.1."(%[[X]], %[[H]], %[[R]], %[[W]])
// DEPTH-LABEL: hone.entry gradient @gradient(
// DEPTH-SAME: tensor<f64>, %[[MASK:[^ ]*]]: tensor<3xi32>
// DEPTH: hone.call @layer "layers.1."({{.*}}) when %[[MASK]][1] : tensor<3xi32> else @pass_through
// DEPTH: hone.call @layer.backward "layers.1."({{.*}}) when %[[MASK]][1]
// DEPTH-LABEL: hone.schedule evaluate
// DEPTH: hone.run @loss.scaled(

// Slots are for the larger of both ends.
// RATIO: hone.pool : tensor<2x?x4xf32>
// RATIO: hone.scalar @scalar.ratio_linear

// In the backward, too, only the selected have an update.
// BACKWARD-LABEL: hone.entry gradient @gradient.update(
// BACKWARD: hone.adamw {{.*}} from %{{.*}} : tensor<{{.*}}> when %{{.*}}[2] : tensor<3xi32>

// BADLISA: train.unselected: expected exact, which selection lisa is, but found identity
// BADUPDATE: hone.method: expects train.unselected_update to be one of momentum, none but got "some"
// BADIMPORTANCE: train.selection_warmup: expected at least 1
// BADSCHEDULE: train.selection_schedule: selection cyclic does not read it
// BADPERIOD: hone.method: expects train.selection_period to be an integer from 1 to 16777216 but got "0"

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
