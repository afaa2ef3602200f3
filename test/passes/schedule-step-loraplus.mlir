// RUN: hone-opt %s --test-set-method="optimizer=adamw loraplus_lr_ratio=16" --hone-schedule-step | FileCheck %s --enable-var-scope --check-prefixes=CHECK,ADAMW
// RUN: hone-opt %s --test-set-method="optimizer=sgd momentum=0.9 loraplus_lr_ratio=16" --hone-schedule-step | FileCheck %s --enable-var-scope --check-prefixes=CHECK,MOMENTUM

// B has the rate of a step times a setting; the reported rate is A's.

// ADAMW-LABEL: hone.entry update @update(
// ADAMW-SAME: %[[C2:[^:,]+]]: tensor<f64>, %[[B:[^:,]+]]: tensor<f64>) {
// ADAMW-NEXT: hone.adamw {{.*}}, %[[C2]] rate_of_b %[[B]]{{$}}
// MOMENTUM-LABEL: hone.entry update @update(
// MOMENTUM-SAME: %[[M:[^:,]+]]: tensor<f64>, %[[B:[^:,]+]]: tensor<f64>) {
// MOMENTUM-NEXT: hone.sgd {{.*}} momentum %[[M]] rate_of_b %[[B]]{{$}}

// CHECK: hone.schedule train
// CHECK: %[[RATE:.*]] = hone.scalar @scalar.learning_rate(
// CHECK: %[[RATIO:.*]] = hone.setting "loraplus_lr_ratio"
// CHECK: %[[FAST:.*]] = hone.scalar @scalar.multiply(%[[RATE]], %[[RATIO]])
// CHECK: hone.run @update({{.*}}, %[[FAST]])
// CHECK: hone.report %[[RATE]] as "learning_rate"
module {
  hone.block @head() -> tensor<f64> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "w" trainable init <zero> : tensor<9x4xf32>
    %y = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
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
