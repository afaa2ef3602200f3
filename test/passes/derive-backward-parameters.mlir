// A trainable parameter of the model itself ends in a sink, whichever op reads
// it.
// RUN: hone-opt %s --hone-derive-backward="residuals=mesp" | FileCheck %s --enable-var-scope

hone.block @embed() -> tensor<?x4xf32> {
  %ids = hone.input "input_ids" : tensor<?xi32>
  %t = hone.parameter "table" trainable init <pretrained> : tensor<9x4xf32>
  %y = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
  hone.return %y : tensor<?x4xf32>
}

// The embedding's backward reads the cotangent alone and gives nothing.
// CHECK-LABEL: hone.block @embed.backward(
// CHECK-SAME: %[[DY:[^:]*]]: tensor<?x4xf32>) {
// CHECK: %[[DT:.*]] = hone.embedding_parameter_adjoint %[[DY]], %{{.*}} -> tensor<9x4xf32>
// CHECK: hone.gradient %[[DT]] of "table"

hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %n = hone.parameter "norm" trainable init <pretrained> : tensor<4xf32>
  %w = hone.parameter "w" trainable init <pretrained> : tensor<4x4xf32>
  %b = hone.parameter "b" trainable init <pretrained> : tensor<4xf32>
  %h = hone.rms_norm %x, %n eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %y = hone.linear %h, %w bias %b : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  hone.return %y : tensor<?x4xf32>
}

// The weight's gradient reads the norm's result, which is made again.
// CHECK-LABEL: hone.block @layer.backward(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4xf32>, %[[DY:[^:]*]]: tensor<?x4xf32>)
// CHECK: %[[H:.*]] = hone.rms_norm %[[X]]
// CHECK: %[[DB:.*]] = hone.bias_adjoint %[[DY]]
// CHECK: %[[DW:.*]] = hone.linear_parameter_adjoint %[[DY]], %[[H]]
// CHECK: hone.rms_norm_parameter_adjoint %{{.*}}, %[[X]] eps

// One table, two readers: a sink in each, of the same name in the model.
// CHECK-LABEL: hone.block @head.gradient(
// CHECK: %[[DW:.*]] = hone.linear_cross_entropy_parameter_adjoint
// CHECK: hone.gradient %[[DW]] of "model.table"
hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
  %t = hone.input "targets" : tensor<?xi32>
  %w = hone.parameter "model.table" trainable init <pretrained> : tensor<9x4xf32>
  %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
  hone.return %l : tensor<f64>
}

// CHECK-LABEL: hone.entry gradient @gradient(
// CHECK: hone.call @head.gradient ""
// CHECK: hone.call @layer.backward "model.layers.0."
// CHECK: hone.call @embed.backward "model."
hone.entry @loss() -> tensor<f64> {
  %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
  %1 = hone.call @layer "model.layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
  hone.return %2 : tensor<f64>
}
