// RUN: hone-opt %s --split-input-file --verify-diagnostics

// hone.linear: each constraint is violated once, in a case of its name.

hone.block @linear_c1(%x: tensor<?x4xf32>, %w: tensor<8x5xf32>) {
  // expected-error @+1 {{'hone.linear' op expects dimension 1 of 'weight' to be dimension 1 of 'x', but got 5 and 4}}
  %0 = hone.linear %x, %w
      : (tensor<?x4xf32>, tensor<8x5xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @linear_c2(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>,
                      %b: tensor<4xf32>) {
  // expected-error @+1 {{'hone.linear' op expects dimension 0 of 'bias' to be dimension 1 of 'y', but got 4 and 8}}
  %0 = hone.linear %x, %w bias %b
      : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @linear_c3(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{'hone.linear' op expects 'x' and 'y' to have one element type, but got 'tensor<?x4xf32>' and 'tensor<?x8xf64>'}}
  %0 = hone.linear %x, %w
      : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf64>
  hone.return
}
