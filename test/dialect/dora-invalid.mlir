// RUN: hone-opt %s --split-input-file --verify-diagnostics

hone.block @row_lengths_c1(%w: tensor<8x4xf32>, %a: tensor<2x4xf32>, %b: tensor<8x2xf32>) -> tensor<7xf32> {
  // expected-error @+1 {{'hone.row_lengths' op expects}}
  %n = hone.row_lengths %w, %a, %b scale 2.0 : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<7xf32>
  hone.return %n : tensor<7xf32>
}

// -----

hone.block @row_lengths_c2(%w: tensor<8x4xf32>, %a: tensor<2x4xf32>, %b: tensor<8x3xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'hone.row_lengths' op expects}}
  %n = hone.row_lengths %w, %a, %b scale 2.0 : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x3xf32>) -> tensor<8xf32>
  hone.return %n : tensor<8xf32>
}

// -----

hone.block @row_lengths_c3(%w: tensor<8x4xf64>, %a: tensor<2x4xf32>, %b: tensor<8x2xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'hone.row_lengths' op expects}}
  %n = hone.row_lengths %w, %a, %b scale 2.0 : (tensor<8x4xf64>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<8xf32>
  hone.return %n : tensor<8xf32>
}

// -----

hone.block @rescale_c1(%x: tensor<?x8xf32>, %m: tensor<8xf32>) -> tensor<?x7xf32> {
  // expected-error @+1 {{'hone.rescale' op expects}}
  %y = hone.rescale %x, %m, %m : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x7xf32>
  hone.return %y : tensor<?x7xf32>
}

// -----

hone.block @rescale_c2(%x: tensor<?x8xf32>, %m: tensor<8xf32>, %n: tensor<4xf32>) -> tensor<?x8xf32> {
  // expected-error @+1 {{'hone.rescale' op expects}}
  %y = hone.rescale %x, %m, %n : (tensor<?x8xf32>, tensor<8xf32>, tensor<4xf32>) -> tensor<?x8xf32>
  hone.return %y : tensor<?x8xf32>
}

// -----

hone.block @rescale_parameter_adjoint_c1(%dy: tensor<?x8xf32>, %x: tensor<?x4xf32>, %n: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'hone.rescale_parameter_adjoint' op expects}}
  %dm = hone.rescale_parameter_adjoint %dy, %x, %n : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  hone.return %dm : tensor<4xf32>
}

// -----

hone.block @rescale_parameter_adjoint_c2(%dy: tensor<?x8xf32>, %n: tensor<8xf32>) -> tensor<8xf64> {
  // expected-error @+1 {{'hone.rescale_parameter_adjoint' op expects}}
  %dm = hone.rescale_parameter_adjoint %dy, %dy, %n : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>) -> tensor<8xf64>
  hone.return %dm : tensor<8xf64>
}
