// RUN: hone-opt %s --split-input-file --verify-diagnostics

// hone.rope: each constraint is violated once, in a case of its name.

// Two heads of five features: pairs (j, j + d/2) need an even d.
hone.block @rope_c1(%x: tensor<?x10xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.rope' op expects 'x' to have an even number of features for each of 2 heads, but it has 10 features}}
  %0 = hone.rope %x, %s heads 2 theta 1.0e4
      : (tensor<?x10xf32>, tensor<?xi32>) -> tensor<?x10xf32>
  hone.return
}

// -----

// Twice as many heads is no number of 64 bits.
hone.block @rope_c1_heads(%x: tensor<?x8xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.rope' op expects 'x' to have an even number of features for each of 9223372036854775807 heads, but it has 8 features}}
  %0 = hone.rope %x, %s heads 9223372036854775807 theta 1.0e4
      : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @rope_c1_type(%x: tensor<?x8xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.rope' op expects 'x' and 'y' to have one type, but got 'tensor<?x8xf32>' and 'tensor<?x4xf32>'}}
  %0 = hone.rope %x, %s heads 2 theta 1.0e4
      : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @rope_c2(%x: tensor<?x8xf32>, %s: tensor<3xi32>) {
  // expected-error @+1 {{'hone.rope' op expects dimension 0 of 'starts' to be dimension 0 of 'x', but got 3 and ?}}
  %0 = hone.rope %x, %s heads 2 theta 1.0e4
      : (tensor<?x8xf32>, tensor<3xi32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @rope_c3(%x: tensor<?x8xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.rope' op expects 'theta' to be positive}}
  %0 = hone.rope %x, %s heads 2 theta 0.0
      : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @rope_c3_stretch(%x: tensor<?x8xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.rope' op expects 'stretch' to be positive}}
  %0 = hone.rope %x, %s heads 2 theta 1.0e4 stretch 0.0
      : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  hone.return
}
