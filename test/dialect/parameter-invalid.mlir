// RUN: hone-opt %s --split-input-file --verify-diagnostics

// Parameters and how they are stored: each constraint is violated once, in a
// case of its name.

hone.block @parameter_c1() {
  // expected-error @+1 {{'hone.parameter' op expects a vector or a matrix with a known number of elements, at least one, but got 'tensor<?x4xf32>'}}
  %0 = hone.parameter "w" : tensor<?x4xf32>
  hone.return
}

// -----

hone.block @parameter_c1_elements() {
  // expected-error @+1 {{'hone.parameter' op expects a vector or a matrix with a known number of elements, at least one, but got 'tensor<0x4xf32>'}}
  %0 = hone.parameter "w" : tensor<0x4xf32>
  hone.return
}

// -----

hone.block @parameter_c1_rank() {
  // expected-error @+1 {{'hone.parameter' op expects a vector or a matrix with a known number of elements, at least one, but got 'tensor<f32>'}}
  %0 = hone.parameter "w" trainable init <zero> : tensor<f32>
  hone.return
}

// -----

hone.block @parameter_c2() {
  // expected-error @+1 {{'hone.parameter' op expects 'init' exactly when 'trainable' is given}}
  %0 = hone.parameter "a" trainable : tensor<2x4xf32>
  hone.return
}

// -----

hone.block @parameter_c2_frozen() {
  // expected-error @+1 {{'hone.parameter' op expects 'init' exactly when 'trainable' is given}}
  %0 = hone.parameter "w" init <zero> : tensor<2x4xf32>
  hone.return
}

// -----

hone.block @parameter_c5() {
  // expected-error @+1 {{'hone.parameter' op expects 'init <row_lengths>' on a vector only but got 'tensor<2x4xf32>'}}
  %0 = hone.parameter "m" trainable init <row_lengths> : tensor<2x4xf32>
  hone.return
}

// -----

// #hone.storage (C1)
hone.block @storage_group() {
  // expected-error @+1 {{expects 'group' to be 32, 64 or 128 but got 48}}
  %w = hone.parameter "w" stored <int4, group = 48> : tensor<8x96xf32>
  hone.return
}

// -----

// #hone.storage (C1)
hone.block @storage_no_group() {
  // expected-error @+1 {{expects 'group' to be 32, 64 or 128 but got 0}}
  %w = hone.parameter "w" stored <int8> : tensor<8x96xf32>
  hone.return
}

// -----

// #hone.storage (C1)
hone.block @storage_float_group() {
  // expected-error @+1 {{expects no 'group' for bfloat16 but got 32}}
  %w = hone.parameter "w" stored <bfloat16, group = 32> : tensor<8x96xf32>
  hone.return
}

// -----

// parameter (C3)
hone.block @parameter_c3_indices() {
  // expected-error @+1 {{'hone.parameter' op expects 'stored' on a float tensor only}}
  %w = hone.parameter "w" stored <bfloat16> : tensor<8x4xi32>
  hone.return
}

// -----

// parameter (C3)
hone.block @parameter_c3_trainable() {
  // expected-error @+1 {{'hone.parameter' op expects a trainable parameter to be stored as bfloat16 or as its type but got #hone.storage<int8, group = 64>}}
  %w = hone.parameter "w" trainable init <zero> stored <int8, group = 64> : tensor<8x64xf32>
  hone.return
}

// -----

// parameter (C3)
hone.block @parameter_c3_vector() {
  // expected-error @+1 {{'hone.parameter' op expects a matrix whose columns are whole groups of 32 but got 'tensor<64xf32>'}}
  %w = hone.parameter "w" stored <int4, group = 32> : tensor<64xf32>
  hone.return
}

// -----

// parameter (C3)
hone.block @parameter_c3_columns() {
  // expected-error @+1 {{'hone.parameter' op expects a matrix whose columns are whole groups of 64 but got 'tensor<8x96xf32>'}}
  %w = hone.parameter "w" stored <int8, group = 64> : tensor<8x96xf32>
  hone.return
}
