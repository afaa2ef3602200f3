// RUN: hone-opt %s --test-set-method="optimizer=sgd data_parallel=true" --hone-schedule-step | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --test-set-method="optimizer=sgd" --hone-schedule-step | FileCheck %s --check-prefix=ONE
// RUN: not hone-opt %s --test-set-method="optimizer=sgd data_parallel=true optimizer_in_backward=true" --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=BACKWARD

// Whether a batch is folded to the one before is a setting: it is where no rank
// shares them. Else all ranks fold after the gradient of each.
// CHECK: hone.schedule train
// CHECK: %[[NO:.*]] = hone.scalar @scalar.false()
// CHECK: %[[ALONE:.*]] = hone.setting "alone" : tensor<i64>
// CHECK: hone.repeat %{{.*}} carry (%[[FOLDS:[^ ]*]] = %[[NO]]
// CHECK: %[[BATCH:.*]] = hone.load
// CHECK-NEXT: hone.run @gradient(%{{.*}}, %[[FOLDS]]) on %[[BATCH]]
// CHECK-NEXT: hone.fold
// CHECK: hone.yield %[[ALONE]]

// ONE: hone.schedule train
// ONE-NOT: hone.fold
// ONE-NOT: "alone"

// BACKWARD: train.optimizer_in_backward: expected false, since ranks add the gradients of all layers
module attributes {hone.max_rows = 4 : i64} {
  hone.block @head() -> tensor<f64> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "w" trainable init <zero> : tensor<9x4xf32>
    %y = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.gradient %w of "w" : tensor<9x4xf32>
    hone.return %y : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %y = hone.call @head "" () : () -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry gradient @gradient(%scale: tensor<f64>) -> tensor<f64> {
    %y = hone.call @head "" () : () -> tensor<f64>
    hone.return %y : tensor<f64>
  }
}
