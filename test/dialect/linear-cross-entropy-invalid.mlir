// RUN: hone-opt %s --split-input-file --verify-diagnostics

// hone.linear_cross_entropy: each constraint is violated once, in a case of its name.

hone.block @linear_cross_entropy_c1(%x: tensor<?x4xf32>, %w: tensor<9x5xf32>,
                                    %t: tensor<?xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy' op expects dimension 1 of 'weight' to be dimension 1 of 'x', but got 5 and 4}}
  %0 = hone.linear_cross_entropy %x, %w, %t
      : (tensor<?x4xf32>, tensor<9x5xf32>, tensor<?xi32>) -> tensor<f64>
  hone.return
}

// -----

hone.block @linear_cross_entropy_c4(%x: tensor<?x4xf32>, %w: tensor<?x4xf32>,
                                    %t: tensor<?xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy' op expects dimension 0 of 'weight' to be known, but got 'tensor<?x4xf32>'}}
  %0 = hone.linear_cross_entropy %x, %w, %t
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>) -> tensor<f64>
  hone.return
}

// -----

hone.block @linear_cross_entropy_c2(%x: tensor<?x4xf32>, %w: tensor<9x4xf32>,
                                    %t: tensor<3xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy' op expects dimension 0 of 'targets' to be dimension 0 of 'x', but got 3 and ?}}
  %0 = hone.linear_cross_entropy %x, %w, %t
      : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<3xi32>) -> tensor<f64>
  hone.return
}

// -----

hone.block @linear_cross_entropy_c3(%x: tensor<?x4xf32>, %w: tensor<9x4xf32>,
                                    %t: tensor<?xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy' op expects 'dx' and 'x' to have one type, but got 'tensor<?x9xf32>' and 'tensor<?x4xf32>'}}
  %loss, %dx = hone.linear_cross_entropy %x, %w, %t
      : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>)
      -> (tensor<f64>, tensor<?x9xf32>)
  hone.return
}

// -----

hone.block @loss_is_a_double(%x: tensor<?x4xf32>, %w: tensor<9x4xf32>,
                             %t: tensor<?xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy' op result #0 must be tensor<f64>, but got 'tensor<f32>'}}
  %0 = hone.linear_cross_entropy %x, %w, %t
      : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f32>
  hone.return
}

// -----

hone.block @linear_cross_entropy_c5(%x: tensor<?x4xf32>, %w: tensor<9x4xf32>,
                                    %t: tensor<?xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy' op expects 'smoothing' to be above 0 and below 1 but got 0}}
  %0 = hone.linear_cross_entropy %x, %w, %t smoothing 0.0
      : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
  hone.return
}
