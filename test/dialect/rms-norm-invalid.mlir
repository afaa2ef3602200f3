// RUN: hone-opt %s --split-input-file --verify-diagnostics

// hone.rms_norm: each constraint is violated once, in a case of its name.

hone.block @rms_norm_c1(%x: tensor<?x4xf32>, %w: tensor<5xf32>) {
  // expected-error @+1 {{'hone.rms_norm' op expects dimension 0 of 'weight' to be dimension 1 of 'x', but got 5 and 4}}
  %0 = hone.rms_norm %x, %w eps 1.0e-5
      : (tensor<?x4xf32>, tensor<5xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @rms_norm_c1_type(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'hone.rms_norm' op expects 'x' and 'y' to have one type, but got 'tensor<?x4xf32>' and 'tensor<?x4xf64>'}}
  %0 = hone.rms_norm %x, %w eps 1.0e-5
      : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf64>
  hone.return
}

// -----

hone.block @rms_norm_c2(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'hone.rms_norm' op expects 'rstd' to be of 'f32', which 'x' is computed in, but got 'tensor<?x1xf64>'}}
  %y, %rstd = hone.rms_norm %x, %w eps 1.0e-5
      : (tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x1xf64>)
  hone.return
}

// -----

hone.block @rms_norm_c3(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'hone.rms_norm' op expects 'eps' not to be negative}}
  %0 = hone.rms_norm %x, %w eps -1.0e-5
      : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @rms_norm_c3_nan(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'hone.rms_norm' op expects 'eps' not to be negative}}
  %0 = hone.rms_norm %x, %w eps 0x7FF8000000000000
      : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

// 4 times as many heads is 8 modulo 2^64.
hone.block @rms_norm_c1_many_heads(%x: tensor<?x8xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'hone.rms_norm' op expects 'x' to have 4611686018427387906 heads as long as 'weight', but got 'tensor<?x8xf32>' and 'tensor<4xf32>'}}
  %0 = hone.rms_norm %x, %w heads 4611686018427387906 eps 1.0e-5
      : (tensor<?x8xf32>, tensor<4xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @rms_norm_c1_heads(%x: tensor<?x8xf32>, %w: tensor<3xf32>) {
  // expected-error @+1 {{'hone.rms_norm' op expects 'x' to have 2 heads as long as 'weight', but got 'tensor<?x8xf32>' and 'tensor<3xf32>'}}
  %0 = hone.rms_norm %x, %w heads 2 eps 1.0e-5
      : (tensor<?x8xf32>, tensor<3xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @rms_norm_c2_heads(%x: tensor<?x8xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'hone.rms_norm' op expects dimension 1 of 'rstd' to be 2, but got 1}}
  %y, %rstd = hone.rms_norm %x, %w heads 2 eps 1.0e-5
      : (tensor<?x8xf32>, tensor<4xf32>) -> (tensor<?x8xf32>, tensor<?x1xf32>)
  hone.return
}

// -----

hone.block @rms_norm_c4(%x: tensor<?x8xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'hone.rms_norm' op expects 'heads' to be positive but got 0}}
  %0 = hone.rms_norm %x, %w heads 0 eps 1.0e-5
      : (tensor<?x8xf32>, tensor<4xf32>) -> tensor<?x8xf32>
  hone.return
}
