// Gradients of parameters print and parse, as text and as bytecode.
// RUN: hone-opt %s | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --emit-bytecode | hone-opt | FileCheck %s --enable-var-scope

// CHECK-LABEL: hone.block @linear_parameter_adjoint(
// CHECK-SAME: %[[DY:[^:]*]]: tensor<?x8xbf16>, %[[X:[^:]*]]: tensor<?x4xbf16>)
hone.block @linear_parameter_adjoint(%dy: tensor<?x8xbf16>,
                                     %x: tensor<?x4xbf16>) {
  // CHECK: hone.linear_parameter_adjoint %[[DY]], %[[X]] : (tensor<?x8xbf16>, tensor<?x4xbf16>) -> tensor<8x4xf32>
  %0 = hone.linear_parameter_adjoint %dy, %x
      : (tensor<?x8xbf16>, tensor<?x4xbf16>) -> tensor<8x4xf32>
  hone.return
}

// CHECK-LABEL: hone.block @bias(
// CHECK-SAME: %[[DY:[^:]*]]: tensor<?x8xf32>, %[[TB:[^:]*]]: tensor<8xf32>)
hone.block @bias(%dy: tensor<?x8xf32>, %tb: tensor<8xf32>) {
  // CHECK: hone.bias_adjoint %[[DY]] : (tensor<?x8xf32>) -> tensor<8xf32>
  %0 = hone.bias_adjoint %dy : (tensor<?x8xf32>) -> tensor<8xf32>
  // CHECK: hone.bias_tangent %[[TB]] : (tensor<8xf32>) -> tensor<?x8xf32>
  %1 = hone.bias_tangent %tb : (tensor<8xf32>) -> tensor<?x8xf32>
  hone.return
}

// CHECK-LABEL: hone.block @rms_norm_parameter_adjoint(
// CHECK-SAME: %[[DY:[^:]*]]: tensor<?x4xf32>, %[[X:[^:]*]]: tensor<?x4xf32>, %[[R:[^:]*]]: tensor<?x1xf32>)
hone.block @rms_norm_parameter_adjoint(%dy: tensor<?x4xf32>, %x: tensor<?x4xf32>,
                                       %r: tensor<?x1xf32>) {
  // CHECK: hone.rms_norm_parameter_adjoint %[[DY]], %[[X]] eps
  %0 = hone.rms_norm_parameter_adjoint %dy, %x eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<4xf32>
  // CHECK: hone.rms_norm_parameter_adjoint %[[DY]], %[[X]] rstd %[[R]] eps
  %1 = hone.rms_norm_parameter_adjoint %dy, %x rstd %r eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x1xf32>) -> tensor<4xf32>
  hone.return
}

// CHECK-LABEL: hone.block @tables(
// CHECK-SAME: %[[D:[^:]*]]: tensor<f64>, %[[X:[^:]*]]: tensor<?x4xf32>, %[[W:[^:]*]]: tensor<9x4xf32>, %[[I:[^:]*]]: tensor<?xi32>)
hone.block @tables(%d: tensor<f64>, %x: tensor<?x4xf32>, %w: tensor<9x4xf32>,
                   %i: tensor<?xi32>) {
  // CHECK: hone.embedding_parameter_adjoint %[[X]], %[[I]] : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<9x4xf32>
  %0 = hone.embedding_parameter_adjoint %x, %i
      : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<9x4xf32>
  // CHECK: hone.linear_cross_entropy_parameter_adjoint %[[D]], %[[X]], %[[W]], %[[I]] :
  %1 = hone.linear_cross_entropy_parameter_adjoint %d, %x, %w, %i
      : (tensor<f64>, tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>)
      -> tensor<9x4xf32>
  hone.return
}
