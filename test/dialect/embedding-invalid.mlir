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
