// RUN: hone-opt %s --split-input-file --verify-diagnostics

// hone.embedding: each constraint is violated once, in a case of its name.

hone.block @embedding_c1(%ids: tensor<?xi32>, %table: tensor<9x4xf32>) {
  // expected-error @+1 {{'hone.embedding' op expects dimension 1 of 'table' to be dimension 1 of 'y', but got 4 and 5}}
  %0 = hone.embedding %ids, %table
      : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x5xf32>
  hone.return
}

// -----

hone.block @embedding_c1_rows(%ids: tensor<3xi32>, %table: tensor<9x4xf32>) {
  // expected-error @+1 {{'hone.embedding' op expects dimension 0 of 'ids' to be dimension 0 of 'y', but got 3 and ?}}
  %0 = hone.embedding %ids, %table
      : (tensor<3xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @embedding_c2(%ids: tensor<?xi32>, %table: tensor<?x4xf32>) {
  // expected-error @+1 {{'hone.embedding' op expects dimension 0 of 'table' to be known, but got 'tensor<?x4xf32>'}}
  %0 = hone.embedding %ids, %table
      : (tensor<?xi32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @embedding_noise_c2(%x: tensor<?x4xf32>, %s: tensor<3xi32>,
                               %key: tensor<4xi32>) {
  // expected-error @+1 {{'hone.embedding_noise' op expects dimension 0 of 'starts' to be dimension 0 of 'x', but got 3 and ?}}
  %0 = hone.embedding_noise %x, %s alpha 5.0 of "embed_tokens" by %key
      : tensor<?x4xf32>, tensor<3xi32>
  hone.return
}

// -----

hone.block @embedding_noise_c3(%x: tensor<?x4xf32>, %s: tensor<?xi32>,
                               %key: tensor<4xi32>) {
  // expected-error @+1 {{'hone.embedding_noise' op expects 'alpha' to be finite and positive}}
  %0 = hone.embedding_noise %x, %s alpha 0.0 of "embed_tokens" by %key
      : tensor<?x4xf32>, tensor<?xi32>
  hone.return
}

// -----

hone.block @embedding_noise_c1(%x: tensor<?x4xf32>, %s: tensor<?xi32>, %key: tensor<4xi32>) {
  // expected-error @+1 {{'hone.embedding_noise' op failed to verify that all of {x, y} have same type}}
  %0 = "hone.embedding_noise"(%x, %s, %key) {alpha = 5.0 : f64, of = "embed_tokens"}
      : (tensor<?x4xf32>, tensor<?xi32>, tensor<4xi32>) -> tensor<?x8xf32>
  hone.return
}
