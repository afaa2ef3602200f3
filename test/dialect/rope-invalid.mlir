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
  // expected-error @+1 {{'hone.rope' op expects 'theta' to be finite and positive}}
  %0 = hone.rope %x, %s heads 2 theta 0.0
      : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @rope_c3_stretch(%x: tensor<?x8xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.rope' op expects 'stretch' to be finite and positive}}
  %0 = hone.rope %x, %s heads 2 theta 1.0e4 stretch 0.0
      : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @rope_c3_infinite(%x: tensor<?x8xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.rope' op expects 'theta' to be finite and positive}}
  %0 = hone.rope %x, %s heads 2 theta 0x7FF0000000000000
      : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @rope_c3_infinite_stretch(%x: tensor<?x8xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.rope' op expects 'stretch' to be finite and positive}}
  %0 = hone.rope %x, %s heads 2 theta 1.0e4 stretch 0x7FF0000000000000
      : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @rope_c4(%x: tensor<?x8xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.rope' op expects finite frequencies, but that of pair 0 is not}}
  %0 = hone.rope %x, %s heads 2 theta 1.0e4 stretch 5.0e-324
      : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  hone.return
}

// -----

// #hone.llama3_rope_scaling (C1)
hone.block @llama3_rope_scaling_c1() {
  // expected-error @+1 {{expects 'factor' to be a positive f64 but got 0.000000e+00 : f64}}
  %0 = hone.input "x" {test.scaling = #hone.llama3_rope_scaling<factor = 0.0 : f64, low_freq_factor = 1.0 : f64, high_freq_factor = 4.0 : f64, original_max_position_embeddings = 8192>} : tensor<?x4xf32>
  hone.return
}

// -----

// #hone.llama3_rope_scaling (C1): infinity
hone.block @llama3_rope_scaling_c1_infinite() {
  // expected-error @+1 {{expects 'high_freq_factor' to be a positive f64 but got 0x7FF0000000000000 : f64}}
  %0 = hone.input "x" {test.scaling = #hone.llama3_rope_scaling<factor = 8.0 : f64, low_freq_factor = 1.0 : f64, high_freq_factor = 0x7FF0000000000000 : f64, original_max_position_embeddings = 8192>} : tensor<?x4xf32>
  hone.return
}

// -----

// #hone.llama3_rope_scaling (C1)
hone.block @llama3_rope_scaling_c1_type() {
  // expected-error @+1 {{expects 'low_freq_factor' to be a positive f64 but got 1.000000e+00 : f32}}
  %0 = hone.input "x" {test.scaling = #hone.llama3_rope_scaling<factor = 8.0 : f64, low_freq_factor = 1.0 : f32, high_freq_factor = 4.0 : f64, original_max_position_embeddings = 8192>} : tensor<?x4xf32>
  hone.return
}

// -----

// #hone.llama3_rope_scaling (C2): they would be blended over nothing, 0 / 0.
hone.block @llama3_rope_scaling_c2() {
  // expected-error @+1 {{expects 'low_freq_factor' to be below 'high_freq_factor', but got 4.000000e+00 : f64 and 4.000000e+00 : f64}}
  %0 = hone.input "x" {test.scaling = #hone.llama3_rope_scaling<factor = 8.0 : f64, low_freq_factor = 4.0 : f64, high_freq_factor = 4.0 : f64, original_max_position_embeddings = 8192>} : tensor<?x4xf32>
  hone.return
}

// -----

// #hone.llama3_rope_scaling (C3)
hone.block @llama3_rope_scaling_c3() {
  // expected-error @+1 {{expects 'original_max_position_embeddings' to be positive but got 0}}
  %0 = hone.input "x" {test.scaling = #hone.llama3_rope_scaling<factor = 8.0 : f64, low_freq_factor = 1.0 : f64, high_freq_factor = 4.0 : f64, original_max_position_embeddings = 0>} : tensor<?x4xf32>
  hone.return
}
