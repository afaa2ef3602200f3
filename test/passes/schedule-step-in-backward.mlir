// RUN: hone-opt %s --test-set-method="optimizer=sgd optimizer_in_backward=true" --hone-schedule-step | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --test-set-method="optimizer=adamw optimizer_in_backward=true" --hone-schedule-step --hone-erase-unused --hone-verify-step | FileCheck %s --enable-var-scope --check-prefix=ADAMW

// A layer has its gradients from its first sink on and is updated after the
// last call that reads its parameters, with any calls between.

// CHECK-LABEL: hone.entry gradient @gradient(
// CHECK-NOT: hone.sgd
// CHECK-LABEL: hone.entry gradient @gradient.update(
// CHECK-SAME: %[[WEIGHT:[^:]+]]: tensor<f64>, %[[SCALE:[^:]+]]: tensor<f64>, %[[RATE:[^:]+]]: tensor<f64>, %[[DECAY:[^:]+]]: tensor<f64>) -> tensor<f64> {
// CHECK: %[[G1:.*]] = hone.layer_gradient "layers.1." : tensor<16xf32>
// CHECK-NEXT: %[[DX:.*]] = hone.call @layer.backward "layers.1."
// CHECK-NEXT: hone.sgd %[[SCALE]], %[[RATE]], %[[DECAY]] from %[[G1]] : tensor<16xf32>
// CHECK-NEXT: %[[G0:.*]] = hone.layer_gradient "layers.0." : tensor<16xf32>
// CHECK-NEXT: hone.call @layer.backward "layers.0."(%{{.*}}, %[[DX]])
// CHECK-NEXT: hone.call @layer.more "layers.0."
// CHECK-NEXT: hone.sgd %[[SCALE]], %[[RATE]], %[[DECAY]] from %[[G0]] : tensor<16xf32>
// CHECK-NEXT: hone.return
// CHECK-NOT: hone.entry update

// The entry is the step: one batch, no gradient of all layers, no clipping.
// CHECK: hone.schedule train
// CHECK-NOT: hone.repeat
// CHECK-NOT: @zero_gradient
// CHECK: %[[ONE:.*]] = hone.scalar @scalar.one()
// CHECK: %[[BATCH:.*]] = hone.load
// CHECK-NEXT: hone.run @gradient.update(%{{[^,]+}}, %[[ONE]], %{{[^,]+}}, %{{[^,]+}}) on %[[BATCH]]
// CHECK-NOT: hone.run
// CHECK: hone.schedule evaluate

// ADAMW-LABEL: hone.entry gradient @gradient.update(
// ADAMW: %[[G1:.*]] = hone.layer_gradient "layers.1."
// ADAMW: hone.adamw {{.*}} from %[[G1]] : tensor<16xf32>
module {
  hone.block @start() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    %dx = hone.add %dy, %dy : tensor<?x4xf32>
    hone.return %dx : tensor<?x4xf32>
  }
  hone.block @layer.more(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %dx = hone.add %dy, %dy : tensor<?x4xf32>
    hone.return
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "head.weight" : tensor<9x4xf32>
    %y = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %0 = hone.call @start "" () : () -> tensor<?x4xf32>
    %1 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %1 : tensor<f64>
  }
  hone.entry gradient @gradient(%scale: tensor<f64>) -> tensor<f64> {
    %0 = hone.call @start "" () : () -> tensor<?x4xf32>
    %loss = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
    %1 = hone.call @layer.backward "layers.1." (%0, %0) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @layer.backward "layers.0." (%0, %1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    hone.call @layer.more "layers.0." (%0, %2) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
    hone.return %loss : tensor<f64>
  }
}
