// RUN: hone-opt %s --split-input-file --verify-diagnostics

// Ops on single elements: each constraint is violated once, in a case of its name.

// A kernel is compiled for its features; only rows may be unknown.
hone.block @features_are_known(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{'hone.add' op operand #0 must be 2D tensor of floats of 16 to 64 bits with a known number of features, but got 'tensor<?x?xf32>'}}
  %0 = hone.add %x, %x : tensor<?x?xf32>
  hone.return
}

// -----

hone.block @gated_activation_c1(%gate: tensor<?x8xf32>, %up: tensor<?x4xf32>) {
  // expected-error @+1 {{'hone.gated_activation' op requires the same type for all operands and results}}
  %0 = "hone.gated_activation"(%gate, %up) {activation = #hone<activation silu>}
      : (tensor<?x8xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @convert_c2(%x: tensor<?x8xf64>) {
  // expected-error @+1 {{'hone.convert' op expects f64 not to become bf16, which targets round f32 to alone}}
  %0 = hone.convert %x : tensor<?x8xf64> to tensor<?x8xbf16>
  hone.return
}

// -----

hone.block @add_has_one_type(%lhs: tensor<?x8xf32>, %rhs: tensor<?x8xf64>) {
  // expected-error @+1 {{'hone.add' op requires the same type for all operands and results}}
  %0 = "hone.add"(%lhs, %rhs)
      : (tensor<?x8xf32>, tensor<?x8xf64>) -> tensor<?x8xf32>
  hone.return
}
