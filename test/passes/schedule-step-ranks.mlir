// RUN: hone-opt %s --test-set-method="optimizer=sgd" --hone-schedule-step="ranks=a,b rank=b" | FileCheck %s --enable-var-scope
// RUN: not hone-opt %s --hone-schedule-step="ranks=a,a,b rank=a" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not hone-opt %s --hone-schedule-step="ranks=a,b rank=c" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not hone-opt %s --hone-schedule-step="rank=a" 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not hone-opt %s --test-set-method="optimizer_in_backward=true" --hone-schedule-step="ranks=a,b rank=a" 2>&1 | FileCheck %s --check-prefix=BACKWARD

// A rank with another number of batches would wait for ever, so they are compared
// before the first. Each batch's gradients are added in the order of the ranks.
// CHECK: hone.schedule train
// CHECK: %[[BATCHES:.*]] = hone.setting "batches" : tensor<i64>
// CHECK-NEXT: hone.send %[[BATCHES]] to "a"
// CHECK-NEXT: %[[THEIRS:.*]] = hone.receive from "a" channel "train.batches"
// CHECK: %[[SAME:.*]] = hone.scalar @scalar.same_count(%[[BATCHES]], %[[THEIRS]])
// CHECK-NEXT: hone.check %[[SAME]]
// CHECK: hone.repeat %[[BATCHES]]
// CHECK: %[[OWN:.*]] = hone.run @read_gradient()
// CHECK: hone.send %[[OWN]] to "a" channel "train.gradient"
// CHECK: %[[PEERS:.*]] = hone.receive from "a" channel "train.gradient"
// CHECK: hone.run @add_gradient(%[[PEERS]])
// CHECK-NEXT: hone.run @add_gradient(%[[OWN]])

// TWICE: expects different ranks but got 'a' twice
// OTHER: expects rank to be one of the ranks but got 'c'
// ALONE: expects rank to be one of the ranks but got 'a'
// BACKWARD: expects no update in the backward
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
