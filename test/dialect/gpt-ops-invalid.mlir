// RUN: hone-opt %s --split-input-file --verify-diagnostics

// Ops of decoders before Llama: each constraint is violated once, in a case of
// its name.

hone.block @activation_has_one_type(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'hone.activation' op requires the same type for all operands and results}}
  %0 = "hone.activation"(%x) {activation = #hone<activation relu>}
      : (tensor<?x8xf32>) -> tensor<?x8xf64>
  hone.return
}

// -----

hone.block @layer_norm_c1(%x: tensor<?x4xf32>, %w: tensor<5xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{'hone.layer_norm' op expects dimension 0 of 'weight' to be dimension 1 of 'x', but got 5 and 4}}
  %0 = hone.layer_norm %x, %w, %b eps 1.0e-5
      : (tensor<?x4xf32>, tensor<5xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @layer_norm_c1_bias(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{'hone.layer_norm' op expects dimension 0 of 'bias' to be dimension 1 of 'x', but got 5 and 4}}
  %0 = hone.layer_norm %x, %w, %b eps 1.0e-5
      : (tensor<?x4xf32>, tensor<4xf32>, tensor<5xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @layer_norm_c2(%x: tensor<?x4xbf16>, %w: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{'hone.layer_norm' op expects 'statistics' to be of 'f32', which 'x' is computed in, but got 'tensor<?x2xbf16>'}}
  %0:2 = hone.layer_norm %x, %w, %b eps 1.0e-5
      : (tensor<?x4xbf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<?x4xbf16>, tensor<?x2xbf16>)
  hone.return
}

// -----

hone.block @layer_norm_c3(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{'hone.layer_norm' op expects 'eps' not to be negative}}
  %0 = hone.layer_norm %x, %w, %b eps -1.0
      : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @layer_norm_c3_nan(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{'hone.layer_norm' op expects 'eps' not to be negative}}
  %0 = hone.layer_norm %x, %w, %b eps 0x7FF8000000000000
      : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @layer_norm_adjoint_c1(%dy: tensor<?x5xf32>, %x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'hone.layer_norm_adjoint' op expects 'dy' and 'x' to have one type, but got 'tensor<?x5xf32>' and 'tensor<?x4xf32>'}}
  %0 = hone.layer_norm_adjoint %dy, %x, %w eps 1.0e-5
      : (tensor<?x5xf32>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @layer_norm_parameter_adjoint_c1(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{'hone.layer_norm_parameter_adjoint' op expects dimension 0 of 'db' to be dimension 1 of 'x', but got 5 and 4}}
  %0:2 = hone.layer_norm_parameter_adjoint %x, %x eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>) -> (tensor<4xf32>, tensor<5xf32>)
  hone.return
}

// -----

hone.block @layer_norm_parameter_adjoint_c2(%x: tensor<?x4xf32>, %s: tensor<?x3xf32>) {
  // expected-error @+1 {{'hone.layer_norm_parameter_adjoint' op expects dimension 1 of 'statistics' to be 2}}
  %0:2 = hone.layer_norm_parameter_adjoint %x, %x statistics %s eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x3xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  hone.return
}

// -----

hone.block @layer_norm_parameter_adjoint_c3(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{'hone.layer_norm_parameter_adjoint' op expects 'dw' to be of 'f32', which 'x' is computed in, but got 'tensor<4xf64>'}}
  %0:2 = hone.layer_norm_parameter_adjoint %x, %x eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>) -> (tensor<4xf64>, tensor<4xf32>)
  hone.return
}

// -----

hone.block @layer_norm_tangent_c3(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'hone.layer_norm_tangent' op expects a tangent of at least one operand}}
  %0 = hone.layer_norm_tangent %x, %w eps 1.0e-5
      : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @position_embedding_c1(%s: tensor<?xi32>, %t: tensor<9x5xf32>) {
  // expected-error @+1 {{'hone.position_embedding' op expects dimension 1 of 'table' to be dimension 1 of 'y', but got 5 and 4}}
  %0 = hone.position_embedding %s, %t offset 0
      : (tensor<?xi32>, tensor<9x5xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @position_embedding_c2_offset(%s: tensor<?xi32>, %t: tensor<9x4xf32>) {
  // expected-error @+1 {{'hone.position_embedding' op expects 'offset' not to be negative but got -1}}
  %0 = hone.position_embedding %s, %t offset -1
      : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

module attributes {hone.max_rows = 8 : i64} {
  hone.block @position_embedding_c2(%s: tensor<?xi32>, %t: tensor<9x4xf32>) {
    // expected-error @+1 {{'hone.position_embedding' op expects a table of at least 8 + 2 rows, for the longest sequence, but got 9}}
    %0 = hone.position_embedding %s, %t offset 2
        : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    hone.return
  }
}

// -----

module attributes {hone.max_rows = 8 : i64, hone.max_positions = 16 : i64} {
  hone.block @position_embedding_parameter_adjoint_c2(%s: tensor<?xi32>, %dy: tensor<?x4xf32>) {
    // expected-error @+1 {{'hone.position_embedding_parameter_adjoint' op expects a table of at least 16 + 0 rows}}
    %0 = hone.position_embedding_parameter_adjoint %dy, %s offset 0
        : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<9x4xf32>
    hone.return
  }
}

// -----

hone.block @columns_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'hone.columns' op expects 'x' and 'y' to have one element type}}
  %0 = hone.columns %x from 0 : tensor<?x8xf32> -> tensor<?x4xf64>
  hone.return
}

// -----

hone.block @columns_c2(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'hone.columns' op expects columns of 'x', which has 8, but got 4 from 5}}
  %0 = hone.columns %x from 5 : tensor<?x8xf32> -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @columns_adjoint_c2(%dy: tensor<?x8xf32>) {
  // expected-error @+1 {{'hone.columns_adjoint' op expects columns of 'dx', which has 4, but got 8 from 0}}
  %0 = hone.columns_adjoint %dy from 0 : tensor<?x8xf32> -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @parameter_c4() {
  // expected-error @+1 {{'hone.parameter' op expects 'transposed' on a matrix only but got 'tensor<4xf32>'}}
  %0 = hone.parameter "w" transposed : tensor<4xf32>
  hone.return
}

// -----

hone.block @block_c2_transposed() {
  // expected-note @+1 {{the other one is here}}
  %0 = hone.parameter "w" transposed : tensor<4x4xf32>
  // expected-error @+1 {{expects parameters of one name to have one type and storage, but 'w' has two}}
  %1 = hone.parameter "w" : tensor<4x4xf32>
  hone.return
}

// -----

hone.block @columns_adjoint_c1(%dy: tensor<?x4xf32>) {
  // expected-error @+1 {{'hone.columns_adjoint' op expects 'dx' and 'dy' to have one element type}}
  %0 = hone.columns_adjoint %dy from 0 : tensor<?x4xf32> -> tensor<?x8xf64>
  hone.return
}

// -----

hone.block @layer_norm_adjoint_c2(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %n: tensor<?x3xf32>) {
  // expected-error @+1 {{'hone.layer_norm_adjoint' op expects dimension 1 of 'statistics' to be 2, but got 3}}
  %0 = hone.layer_norm_adjoint %x, %x, %w statistics %n eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<?x3xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @layer_norm_tangent_c1(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %tb: tensor<5xf32>) {
  // expected-error @+1 {{'hone.layer_norm_tangent' op expects dimension 0 of 'tb' to be dimension 1 of 'x', but got 5 and 4}}
  %0 = hone.layer_norm_tangent %x, %w tb %tb eps 1.0e-5
      : (tensor<?x4xf32>, tensor<4xf32>, tensor<5xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @layer_norm_tangent_c2(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %n: tensor<?x3xf32>) {
  // expected-error @+1 {{'hone.layer_norm_tangent' op expects dimension 1 of 'statistics' to be 2, but got 3}}
  %0 = hone.layer_norm_tangent %x, %w tx %x statistics %n eps 1.0e-5
      : (tensor<?x4xf32>, tensor<4xf32>, tensor<?x4xf32>, tensor<?x3xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @position_embedding_parameter_adjoint_c1(%s: tensor<?xi32>, %dy: tensor<?x4xf32>) {
  // expected-error @+1 {{'hone.position_embedding_parameter_adjoint' op expects dimension 1 of 'dtable' to be dimension 1 of 'dy', but got 5 and 4}}
  %0 = hone.position_embedding_parameter_adjoint %dy, %s offset 0
      : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<9x5xf32>
  hone.return
}
