// RUN: hone-opt %s --test-set-method="optimizer=adamw" --hone-schedule-step | FileCheck %s --enable-var-scope

// Parameters that are stored as bfloat16 are rounded at random by the update,
// with a key that seed and step decide.
// CHECK-LABEL: hone.entry update @update(
// CHECK-SAME: %[[KEY:[^:]+]]: tensor<4xi32>) {
// CHECK-NEXT: hone.adamw {{.*}} round %[[KEY]]{{$}}
// CHECK: hone.schedule train
// CHECK: %[[COMPLETED:.*]] = hone.setting "completed" : tensor<i64>
// CHECK: %[[SEED:.*]] = hone.setting "seed" : tensor<i64>
// CHECK: %[[STEPKEY:.*]] = hone.scalar @scalar.step_key(%[[SEED]], %[[COMPLETED]]) : (tensor<i64>, tensor<i64>) -> tensor<4xi32>
// CHECK: hone.run @update({{.*}}, %[[STEPKEY]])
module {
  hone.block @head() -> tensor<f64> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "w" trainable init <zero> stored <bfloat16> : tensor<9x4xf32>
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
