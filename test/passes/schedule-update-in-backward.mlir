// RUN: hone-opt %s --hone-schedule-update="optimizer=sgd in-backward=true" | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --hone-schedule-update="optimizer=adamw in-backward=true" --hone-verify-step | FileCheck %s --enable-var-scope --check-prefix=ADAMW

// A layer has its gradients from its first sink on and is updated behind the
// last call that reads its parameters, whatever it is that stands between.

// CHECK-LABEL: hone.entry @gradient
// CHECK-NOT: hone.layer_gradient
// CHECK-LABEL: hone.entry @step
// CHECK-DAG: %[[SCALE:.*]] = hone.input "gradient_scale" : tensor<f64>
// CHECK-DAG: %[[RATE:.*]] = hone.input "learning_rate" : tensor<f64>
// CHECK-DAG: %[[DECAY:.*]] = hone.input "weight_decay" : tensor<f64>
// CHECK: %[[G1:.*]] = hone.layer_gradient "layers.1." : tensor<16xf32>
// CHECK-NEXT: %[[DX:.*]] = hone.call @layer.backward "layers.1."
// CHECK-NEXT: hone.sgd %[[SCALE]], %[[RATE]], %[[DECAY]] from %[[G1]] : tensor<16xf32>
// CHECK-NEXT: %[[G0:.*]] = hone.layer_gradient "layers.0." : tensor<16xf32>
// CHECK-NEXT: hone.call @layer.backward "layers.0."(%{{.*}}, %[[DX]])
// CHECK-NEXT: hone.call @layer.more "layers.0."
// CHECK-NEXT: hone.sgd %[[SCALE]], %[[RATE]], %[[DECAY]] from %[[G0]] : tensor<16xf32>
// CHECK-NOT: hone.entry @update

// ADAMW-LABEL: hone.entry @step
// ADAMW: %[[G1:.*]] = hone.layer_gradient "layers.1."
// ADAMW: hone.adamw {{.*}} from %[[G1]] : tensor<16xf32>
module {
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
  hone.entry gradient @gradient(%0: tensor<?x4xf32>) {
    %1 = hone.call @layer.backward "layers.1." (%0, %0) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @layer.backward "layers.0." (%0, %1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    hone.call @layer.more "layers.0." (%0, %2) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
  }
}
