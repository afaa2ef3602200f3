// Each rule of the gradients of parameters, broken once.
// RUN: hone-opt %s --split-input-file --verify-diagnostics

hone.block @linear_parameter_adjoint_c1(%dy: tensor<?x8xf32>, %x: tensor<?x4xf32>) {
  // expected-error @+1 {{'hone.linear_parameter_adjoint' op expects dimension 1 of 'dw' to be dimension 1 of 'x', but got 5 and 4}}
  %0 = hone.linear_parameter_adjoint %dy, %x
      : (tensor<?x8xf32>, tensor<?x4xf32>) -> tensor<8x5xf32>
  hone.return
}

// -----

hone.block @linear_parameter_adjoint_c2(%dy: tensor<?x8xf64>, %x: tensor<?x4xf64>) {
  // expected-error @+1 {{'hone.linear_parameter_adjoint' op expects 'dw'}}
  %0 = hone.linear_parameter_adjoint %dy, %x
      : (tensor<?x8xf64>, tensor<?x4xf64>) -> tensor<8x4xf32>
  hone.return
}

// -----

hone.block @bias_adjoint_c1(%dy: tensor<?x8xf32>) {
  // expected-error @+1 {{'hone.bias_adjoint' op expects dimension 0 of 'db' to be dimension 1 of 'dy', but got 7 and 8}}
  %0 = hone.bias_adjoint %dy : (tensor<?x8xf32>) -> tensor<7xf32>
  hone.return
}

// -----

hone.block @bias_adjoint_c2(%dy: tensor<?x8xf32>) {
  // expected-error @+1 {{'hone.bias_adjoint' op expects 'db'}}
  %0 = hone.bias_adjoint %dy : (tensor<?x8xf32>) -> tensor<8xf64>
  hone.return
}

// -----

hone.block @bias_tangent_c1(%tb: tensor<7xf32>) {
  // expected-error @+1 {{'hone.bias_tangent' op expects dimension 0 of 'tb' to be dimension 1 of 'ty', but got 7 and 8}}
  %0 = hone.bias_tangent %tb : (tensor<7xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @bias_tangent_c2(%tb: tensor<8xf64>) {
  // expected-error @+1 {{'hone.bias_tangent' op expects 'tb'}}
  %0 = hone.bias_tangent %tb : (tensor<8xf64>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @rms_norm_parameter_adjoint_c1(%dy: tensor<?x4xf32>, %x: tensor<?x4xf32>) {
  // expected-error @+1 {{'hone.rms_norm_parameter_adjoint' op expects dimension 0 of 'dw' to be dimension 1 of 'x', but got 5 and 4}}
  %0 = hone.rms_norm_parameter_adjoint %dy, %x eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<5xf32>
  hone.return
}

// -----

hone.block @rms_norm_parameter_adjoint_c2(%dy: tensor<?x4xf32>, %x: tensor<?x4xf32>,
                                          %r: tensor<3x1xf32>) {
  // expected-error @+1 {{'hone.rms_norm_parameter_adjoint' op expects dimension 0 of 'rstd' to be dimension 0 of 'x', but got 3 and ?}}
  %0 = hone.rms_norm_parameter_adjoint %dy, %x rstd %r eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<3x1xf32>) -> tensor<4xf32>
  hone.return
}

// -----

hone.block @embedding_parameter_adjoint_c1(%dy: tensor<?x4xf32>, %ids: tensor<3xi32>) {
  // expected-error @+1 {{'hone.embedding_parameter_adjoint' op expects dimension 0 of 'ids' to be dimension 0 of 'dy', but got 3 and ?}}
  %0 = hone.embedding_parameter_adjoint %dy, %ids
      : (tensor<?x4xf32>, tensor<3xi32>) -> tensor<9x4xf32>
  hone.return
}

// -----

hone.block @embedding_parameter_adjoint_c2(%dy: tensor<?x4xf32>, %ids: tensor<?xi32>) {
  // expected-error @+1 {{'hone.embedding_parameter_adjoint' op expects dimension 0 of 'dt' to be known}}
  %0 = hone.embedding_parameter_adjoint %dy, %ids
      : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @embedding_parameter_adjoint_c3(%dy: tensor<?x4xf32>, %ids: tensor<?xi32>) {
  // expected-error @+1 {{'hone.embedding_parameter_adjoint' op expects 'dt'}}
  %0 = hone.embedding_parameter_adjoint %dy, %ids
      : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<9x4xf64>
  hone.return
}

// -----

hone.block @linear_cross_entropy_parameter_adjoint_c1(%d: tensor<f64>,
    %x: tensor<?x5xf32>, %w: tensor<9x4xf32>, %t: tensor<?xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy_parameter_adjoint' op expects dimension 1 of 'weight' to be dimension 1 of 'x', but got 4 and 5}}
  %0 = hone.linear_cross_entropy_parameter_adjoint %d, %x, %w, %t
      : (tensor<f64>, tensor<?x5xf32>, tensor<9x4xf32>, tensor<?xi32>)
      -> tensor<9x4xf32>
  hone.return
}

// -----

hone.block @linear_cross_entropy_parameter_adjoint_c2(%d: tensor<f64>,
    %x: tensor<?x4xf32>, %w: tensor<9x4xf32>, %t: tensor<3xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy_parameter_adjoint' op expects dimension 0 of 'targets' to be dimension 0 of 'x', but got 3 and ?}}
  %0 = hone.linear_cross_entropy_parameter_adjoint %d, %x, %w, %t
      : (tensor<f64>, tensor<?x4xf32>, tensor<9x4xf32>, tensor<3xi32>)
      -> tensor<9x4xf32>
  hone.return
}

// -----

hone.block @linear_cross_entropy_parameter_adjoint_c3(%d: tensor<f64>,
    %x: tensor<?x4xf32>, %w: tensor<?x4xf32>, %t: tensor<?xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy_parameter_adjoint' op expects dimension 0 of 'weight' to be known}}
  %0 = hone.linear_cross_entropy_parameter_adjoint %d, %x, %w, %t
      : (tensor<f64>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>)
      -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @linear_cross_entropy_parameter_adjoint_c4(
    %d: tensor<f64>, %x: tensor<?x4xf32>, %w: tensor<9x4xf32>,
    %t: tensor<?xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy_parameter_adjoint' op expects 'smoothing' to be above 0 and below 1 but got 1}}
  %0 = hone.linear_cross_entropy_parameter_adjoint %d, %x, %w, %t smoothing 1.0
      : (tensor<f64>, tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>)
      -> tensor<9x4xf32>
  hone.return
}
