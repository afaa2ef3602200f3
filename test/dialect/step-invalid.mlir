// RUN: hone-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics

// Ops of the step: each constraint is violated once, in a case of its name.

hone.block @scale_c1(%x: tensor<?x4xf32>, %s: tensor<f64>) {
  // expected-error @+1 {{'hone.scale' op expects 'x' and 'y' to have one type, but got 'tensor<?x4xf32>' and 'tensor<?x4xf64>'}}
  %0 = hone.scale %x, %s : (tensor<?x4xf32>, tensor<f64>) -> tensor<?x4xf64>
  hone.return
}

// -----

hone.block @rms_norm_adjoint_c1(%dy: tensor<?x4xf32>, %x: tensor<?x4xf32>,
                                %w: tensor<5xf32>) {
  // expected-error @+1 {{'hone.rms_norm_adjoint' op expects dimension 0 of 'weight' to be dimension 1 of 'x', but got 5 and 4}}
  %0 = hone.rms_norm_adjoint %dy, %x, %w eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<5xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @rms_norm_adjoint_c2(%dy: tensor<?x4xf32>, %x: tensor<?x4xf32>,
                                %w: tensor<4xf32>, %r: tensor<3x1xf32>) {
  // expected-error @+1 {{'hone.rms_norm_adjoint' op expects dimension 0 of 'rstd' to be dimension 0 of 'x', but got 3 and ?}}
  %0 = hone.rms_norm_adjoint %dy, %x, %w rstd %r eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<3x1xf32>)
      -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @rms_norm_adjoint_c2_type(%dy: tensor<?x4xf32>, %x: tensor<?x4xf32>,
                                     %w: tensor<4xf32>, %r: tensor<?x1xf64>) {
  // expected-error @+1 {{'hone.rms_norm_adjoint' op expects 'rstd' to be of 'f32', which 'x' is computed in, but got 'tensor<?x1xf64>'}}
  %0 = hone.rms_norm_adjoint %dy, %x, %w rstd %r eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<?x1xf64>)
      -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @rms_norm_adjoint_c3(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'hone.rms_norm_adjoint' op expects 'heads' to be positive but got -1}}
  %0 = hone.rms_norm_adjoint %x, %x, %w heads -1 eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @linear_adjoint_c1(%dy: tensor<?x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{'hone.linear_adjoint' op expects dimension 1 of 'weight' to be dimension 1 of 'dx', but got 4 and 5}}
  %0 = hone.linear_adjoint %dy, %w
      : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x5xf32>
  hone.return
}

// -----

hone.block @linear_adjoint_c2(%dy: tensor<?x8xf64>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{'hone.linear_adjoint' op expects 'dy' and 'dx' to have one element type, but got 'tensor<?x8xf64>' and 'tensor<?x4xf32>'}}
  %0 = hone.linear_adjoint %dy, %w
      : (tensor<?x8xf64>, tensor<8x4xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @lora_inner_adjoint_c1(%dy: tensor<?x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'hone.lora_inner_adjoint' op expects dimension 1 of 'u' to be dimension 1 of 'b', but got 3 and 2}}
  %0 = hone.lora_inner_adjoint %dy, %b scale 2.0
      : (tensor<?x8xf32>, tensor<8x2xf32>) -> tensor<?x3xf32>
  hone.return
}

// -----

hone.block @lora_inner_adjoint_c2(%dy: tensor<?x8xbf16>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'hone.lora_inner_adjoint' op expects 'u' to be of 'f32', which 'dy' is computed in, but got 'tensor<?x2xbf16>'}}
  %0 = hone.lora_inner_adjoint %dy, %b scale 2.0
      : (tensor<?x8xbf16>, tensor<8x2xf32>) -> tensor<?x2xbf16>
  hone.return
}

// -----

hone.block @lora_linear_adjoint_c1(%dy: tensor<?x8xf32>, %w: tensor<9x4xf32>,
                                   %a: tensor<2x4xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'hone.lora_linear_adjoint' op expects dimension 0 of 'weight' to be dimension 1 of 'dy', but got 9 and 8}}
  %0 = hone.lora_linear_adjoint %dy, %w, %a, %b scale 2.0
      : (tensor<?x8xf32>, tensor<9x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>)
      -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @lora_linear_adjoint_c2(%dy: tensor<?x8xf32>, %w: tensor<8x4xf32>,
                                   %a: tensor<2x4xf32>, %b: tensor<8x3xf32>) {
  // expected-error @+1 {{'hone.lora_linear_adjoint' op expects dimension 0 of 'a' to be dimension 1 of 'b', but got 2 and 3}}
  %0 = hone.lora_linear_adjoint %dy, %w, %a, %b scale 2.0
      : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x3xf32>)
      -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @lora_linear_adjoint_c3(%dy: tensor<?x8xf32>, %w: tensor<8x4xf32>,
                                   %a: tensor<2x4xf32>, %b: tensor<8x2xf64>) {
  // expected-error @+1 {{'hone.lora_linear_adjoint' op expects 'b' to be of 'f32', which 'dx' is computed in, but got 'tensor<8x2xf64>'}}
  %0 = hone.lora_linear_adjoint %dy, %w, %a, %b scale 2.0
      : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf64>)
      -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @lora_linear_adjoint_c5(%dy: tensor<?x8xf32>, %w: tensor<8x4xf32>,
                                   %a: tensor<2x4xf32>, %b: tensor<8x2xf32>,
                                   %u: tensor<?x3xf32>) {
  // expected-error @+1 {{'hone.lora_linear_adjoint' op expects dimension 1 of 'u' to be dimension 0 of 'a', but got 3 and 2}}
  %0 = hone.lora_linear_adjoint %dy, %w, %a, %b u %u scale 2.0
      : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>,
         tensor<?x3xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @lora_parameter_adjoint_c1(%dy: tensor<3x8xf32>,
                                      %x: tensor<?x4xf32>,
                                      %a: tensor<2x4xf32>,
                                      %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'hone.lora_parameter_adjoint' op expects dimension 0 of 'dy' to be dimension 0 of 'x', but got 3 and ?}}
  %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0
      : (tensor<3x8xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>)
      -> (tensor<2x4xf32>, tensor<8x2xf32>)
  hone.return
}

// -----

hone.block @lora_parameter_adjoint_c2(%dy: tensor<?x8xf32>,
                                      %x: tensor<?x4xf32>,
                                      %a: tensor<2x4xf32>,
                                      %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'hone.lora_parameter_adjoint' op expects 'a' and 'da' to have one type, but got 'tensor<2x4xf32>' and 'tensor<4x2xf32>'}}
  %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>)
      -> (tensor<4x2xf32>, tensor<8x2xf32>)
  hone.return
}

// -----

hone.block @lora_parameter_adjoint_c3(%dy: tensor<?x8xf32>,
                                      %x: tensor<?x4xf32>,
                                      %a: tensor<2x4xf32>, %b: tensor<8x2xf32>,
                                      %h: tensor<?x3xf32>) {
  // expected-error @+1 {{'hone.lora_parameter_adjoint' op expects dimension 1 of 'h' to be dimension 0 of 'a', but got 3 and 2}}
  %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b h %h scale 2.0
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>,
         tensor<?x3xf32>) -> (tensor<2x4xf32>, tensor<8x2xf32>)
  hone.return
}

// -----

hone.block @lora_parameter_adjoint_c4(%dy: tensor<?x8xf64>,
                                      %x: tensor<?x4xf32>,
                                      %a: tensor<2x4xf32>,
                                      %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'hone.lora_parameter_adjoint' op expects 'dy' and 'x' to have one element type, but got 'tensor<?x8xf64>' and 'tensor<?x4xf32>'}}
  %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0
      : (tensor<?x8xf64>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>)
      -> (tensor<2x4xf32>, tensor<8x2xf32>)
  hone.return
}

// -----

hone.block @attention_adjoint_c1(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                                 %l: tensor<?x4xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention_adjoint' op expects 'dk' and 'k' to have one type, but got 'tensor<?x8xf32>' and 'tensor<?x4xf32>'}}
  %dq, %dk, %dv = hone.attention_adjoint %q, %q, %k, %k, %q, %l, %s
      heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>,
         tensor<?x8xf32>, tensor<?x4xf32>, tensor<?xi32>)
      -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x4xf32>)
  hone.return
}

// -----

hone.block @attention_adjoint_c2(%q: tensor<?x8xf32>, %k: tensor<?x12xf32>,
                                 %l: tensor<?x4xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention_adjoint' op expects 'kv_heads' to divide 'heads', but got 3 and 2}}
  %dq, %dk, %dv = hone.attention_adjoint %q, %q, %k, %k, %q, %l, %s
      heads 2 kv_heads 3 scale 0.5
      : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x12xf32>, tensor<?x12xf32>,
         tensor<?x8xf32>, tensor<?x4xf32>, tensor<?xi32>)
      -> (tensor<?x8xf32>, tensor<?x12xf32>, tensor<?x12xf32>)
  hone.return
}

// -----

hone.block @attention_adjoint_c3(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                                 %l: tensor<?x1xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention_adjoint' op expects dimension 1 of 'normalizer' to be 4, but got 1}}
  %dq, %dk, %dv = hone.attention_adjoint %q, %q, %k, %k, %q, %l, %s
      heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>,
         tensor<?x8xf32>, tensor<?x1xf32>, tensor<?xi32>)
      -> (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>)
  hone.return
}

// -----

hone.block @attention_adjoint_c4(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                                 %l: tensor<?x4xf64>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention_adjoint' op expects 'normalizer' to be of 'f32', which 'q' is computed in, but got 'tensor<?x4xf64>'}}
  %dq, %dk, %dv = hone.attention_adjoint %q, %q, %k, %k, %q, %l, %s
      heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>,
         tensor<?x8xf32>, tensor<?x4xf64>, tensor<?xi32>)
      -> (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>)
  hone.return
}

// -----

hone.block @attention_adjoint_c5(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                                 %l: tensor<?x4xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention_adjoint' op expects 'window' to be positive but got -1}}
  %dq, %dk, %dv = hone.attention_adjoint %q, %q, %k, %k, %q, %l, %s
      heads 2 kv_heads 1 window -1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>,
         tensor<?x8xf32>, tensor<?x4xf32>, tensor<?xi32>)
      -> (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>)
  hone.return
}

// -----

hone.block @gated_activation_adjoint_c1(%dy: tensor<?x8xf32>, %g: tensor<?x4xf32>) {
  // expected-error @+1 {{'hone.gated_activation_adjoint' op requires the same type for all operands and results}}
  %0, %1 = "hone.gated_activation_adjoint"(%dy, %g, %g) {activation = #hone<activation silu>}
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>)
      -> (tensor<?x8xf32>, tensor<?x8xf32>)
  hone.return
}

// -----

hone.block @gradient_c1(%d: tensor<?x4xf32>) {
  // expected-error @+1 {{'hone.gradient' op expects a static shape but got 'tensor<?x4xf32>'}}
  hone.gradient %d of "a" : tensor<?x4xf32>
  hone.return
}

// -----

hone.entry @gradient_is_of_blocks(%d: tensor<2x4xf32>) {
  // expected-error @+1 {{'hone.gradient' op expects parent op to be one of 'hone.block, hone.row_tiles'}}
  hone.gradient %d of "a" : tensor<2x4xf32>
}

// -----

hone.block @update_is_of_entries(%g: tensor<f64>) {
  // expected-error @+1 {{'hone.sgd' op expects parent op 'hone.entry'}}
  hone.sgd %g, %g, %g
  hone.return
}

// -----

hone.block @perturbed_c1(%key: tensor<4xi32>, %s: tensor<f64>) {
  %w = hone.parameter "w" : tensor<8x4xf32>
  // expected-error @+1 {{'hone.perturbed' op expects 'parameter' to be the result of a trainable 'hone.parameter'}}
  %z = hone.perturbed %w by %key scale %s : tensor<8x4xf32>
  hone.return
}

// -----

hone.block @perturbed_c2(%key: tensor<4xi32>) {
  %w = hone.parameter "w" trainable init <zero> : tensor<8x4xf32>
  %s = hone.input "scale" : tensor<f64>
  // expected-error @+1 {{'hone.perturbed' op expects 'key' and 'scale' to be arguments of the block}}
  %z = hone.perturbed %w by %key scale %s : tensor<8x4xf32>
  hone.return
}

// -----

hone.entry gradient @fold_gradient_c1() {
  %d = hone.layer_gradient "layers.0." : tensor<16xf32>
  // expected-error @+1 {{'hone.fold_gradient' op expects 'window' to be the result of a conditional 'hone.layer_gradient'}}
  hone.fold_gradient %d : tensor<16xf32>
}

// -----

hone.entry @layer_gradient_c1() {
  // expected-error @+1 {{'hone.layer_gradient' op expects a static length but got 'tensor<?xf32>'}}
  %d = hone.layer_gradient "layers.0." : tensor<?xf32>
}

// -----

hone.entry @sgd_c1(%g: tensor<f64>, %d: tensor<16xf32>) {
  // expected-error @+1 {{'hone.sgd' op expects 'gradient' to be the result of a 'hone.layer_gradient'}}
  hone.sgd %g, %g, %g from %d : tensor<16xf32>
}

// -----

hone.entry @adamw_c1(%g: tensor<f64>, %d: tensor<16xf32>) {
  // expected-error @+1 {{'hone.adamw' op expects 'gradient' to be the result of a 'hone.layer_gradient'}}
  hone.adamw %g, %g, %g, %g, %g, %g, %g, %g from %d : tensor<16xf32>
}

// -----

// expected-error @+1 {{'hone.region' op expects an offset that is a multiple of 64 and a size that is not negative, but got 32 and 64}}
hone.region "region_c1" adapter at 32 bytes 64

// -----

// expected-error @+1 {{'hone.region' op expects an offset that is a multiple of 64 and a size that is not negative, but got 64 and -1}}
hone.region "region_c1_size" adapter at 64 bytes -1

// -----

hone.block @row_tiles_c1(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'hone.row_tiles' op expects its rows to be a multiple of 32, the rows of one partial sum of a gradient, but got 48}}
  %y = hone.row_tiles 48 (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^tile(%rows: tensor<?x4xf32>):
    %0 = hone.add %rows, %rows : tensor<?x4xf32>
    hone.return %0 : tensor<?x4xf32>
  }
  hone.return %y : tensor<?x4xf32>
}

// -----

hone.block @row_tiles_c2(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{'hone.row_tiles' op expects results that have rows}}
  %y = hone.row_tiles 32 (%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^tile(%whole: tensor<4x4xf32>):
    %0 = hone.add %whole, %whole : tensor<4x4xf32>
    hone.return %0 : tensor<4x4xf32>
  }
  hone.return %y : tensor<4x4xf32>
}

// -----

hone.block @row_tiles_c2(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'hone.row_tiles' op expects a body with arguments of the types 'tensor<?x4xf32>' but got 'tensor<?x4xf32>', 'tensor<?x4xf32>'}}
  %y = hone.row_tiles 32 (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^tile(%rows: tensor<?x4xf32>, %more: tensor<?x4xf32>):
    %0 = hone.add %rows, %rows : tensor<?x4xf32>
    hone.return %0 : tensor<?x4xf32>
  }
  hone.return %y : tensor<?x4xf32>
}

// -----

hone.block @row_tiles_c3(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %s = hone.input "sequence_starts" : tensor<?xi32>
  %y = hone.row_tiles 32 (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^tile(%rows: tensor<?x4xf32>):
    // expected-error @+1 {{'hone.rope' op is not row-wise and cannot run for slices of rows}}
    %0 = hone.rope %rows, %s heads 1 theta 1.0e4 : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    hone.return %0 : tensor<?x4xf32>
  }
  hone.return %y : tensor<?x4xf32>
}

// -----

hone.block @row_tiles_c3_ambient(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = hone.row_tiles 32 (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^tile(%rows: tensor<?x4xf32>):
    // expected-error @+1 {{'hone.parameter' op expects to stand in the block itself, outside of 'hone.row_tiles'}}
    %w = hone.parameter "w" : tensor<4x4xf32>
    %0 = hone.linear %rows, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    hone.return %0 : tensor<?x4xf32>
  }
  hone.return %y : tensor<?x4xf32>
}

// -----

hone.block @row_tiles_c5_rows(%x: tensor<?x4xf32>, %s: tensor<?xi32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'hone.row_tiles' op expects tiles of sequences of up to 130 rows to have a multiple of 128 rows, at least 384, but got 256}}
  %y = hone.row_tiles 256 (%s, %x) {hone.longest_sequence = 130} : (tensor<?xi32>, tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^tile(%starts: tensor<?xi32>, %rows: tensor<?x4xf32>):
    %0 = hone.add %rows, %rows : tensor<?x4xf32>
    hone.return %0 : tensor<?x4xf32>
  }
  hone.return %y : tensor<?x4xf32>
}

// -----

hone.block @row_tiles_c5_starts(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'hone.row_tiles' op expects its first operand to say where the sequences of its rows start}}
  %y = hone.row_tiles 384 (%x) {hone.longest_sequence = 130} : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^tile(%rows: tensor<?x4xf32>):
    %0 = hone.add %rows, %rows : tensor<?x4xf32>
    hone.return %0 : tensor<?x4xf32>
  }
  hone.return %y : tensor<?x4xf32>
}

// -----

hone.block @row_tiles_c5_batch(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %s = hone.input "sequence_starts" : tensor<?xi32>
  %y = hone.row_tiles 384 (%s, %x) {hone.longest_sequence = 130} : (tensor<?xi32>, tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^tile(%starts: tensor<?xi32>, %rows: tensor<?x4xf32>):
    // expected-error @+1 {{'hone.rope' op expects to read the rows of a tile, not those of the batch}}
    %0 = hone.rope %rows, %s heads 1 theta 1.0e4 : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    hone.return %0 : tensor<?x4xf32>
  }
  hone.return %y : tensor<?x4xf32>
}

// -----

hone.block @row_tiles_c5_sum(%x: tensor<?x4xf32>, %s: tensor<?xi32>, %g: tensor<2x4xf32>) -> tensor<?x4xf32> {
  %y = hone.row_tiles 384 (%s, %x, %g) {hone.longest_sequence = 130} : (tensor<?xi32>, tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x4xf32> {
  ^tile(%starts: tensor<?xi32>, %rows: tensor<?x4xf32>, %d: tensor<2x4xf32>):
    // expected-error @+1 {{'hone.gradient' op cannot run for one sequence after another}}
    hone.gradient %d of "a" : tensor<2x4xf32>
    %0 = hone.add %rows, %rows : tensor<?x4xf32>
    hone.return %0 : tensor<?x4xf32>
  }
  hone.return %y : tensor<?x4xf32>
}

// -----

hone.block @row_tiles_c4(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = hone.row_tiles 32 (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^tile(%rows: tensor<?x4xf32>):
    // expected-error @+1 {{'hone.add' op expects each value from outside of 'hone.row_tiles' to be a parameter or an input}}
    %0 = hone.add %rows, %x : tensor<?x4xf32>
    hone.return %0 : tensor<?x4xf32>
  }
  hone.return %y : tensor<?x4xf32>
}

// -----

hone.block @convert_c1(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{'hone.convert' op expects 'x' and 'y' to have one shape but got 'tensor<?x4xf32>' and 'tensor<?x8xbf16>'}}
  %0 = hone.convert %x : tensor<?x4xf32> to tensor<?x8xbf16>
  hone.return
}

// -----

hone.entry @pool_c1() {
  // expected-error @+1 {{'hone.pool' op expects at least one slot but got 'tensor<0x?x4xf32>'}}
  %0 = hone.pool : tensor<0x?x4xf32>
}

// -----

hone.entry @pool_is_of_known_slots() {
  // expected-error @+1 {{'hone.pool' op result #0 must be a known number of matrices with a known number of features, but got 'tensor<?x?x4xf32>'}}
  %0 = hone.pool : tensor<?x?x4xf32>
}

// -----

hone.entry @keep_c1(%x: tensor<?x8xf32>, %slots: tensor<2xi32>) {
  %pool = hone.pool : tensor<2x?x4xf32>
  // expected-error @+1 {{'hone.keep' op failed to verify that 'x' has the type of a slot of 'pool'}}
  "hone.keep"(%x, %pool, %slots) <{slot_index = 0 : i64}> : (tensor<?x8xf32>, tensor<2x?x4xf32>, tensor<2xi32>) -> ()
}

// -----

hone.entry @keep_c2(%x: tensor<?x4xf32>, %slots: tensor<2xi32>) {
  %pool = hone.pool : tensor<2x?x4xf32>
  // expected-error @+1 {{'hone.keep' op expects an element of the 2 of 'slots' but got 2}}
  hone.keep %x in %pool at %slots[2] : tensor<2x?x4xf32>, tensor<2xi32>
}

// -----

hone.block @choose(%x: tensor<2xi32>) -> tensor<2xi32> {
  %y = "test.choose"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  hone.return %y : tensor<2xi32>
}
hone.entry @keep_c2_argument(%x: tensor<?x4xf32>, %given: tensor<2xi32>) {
  %slots = hone.call @choose "" (%given) : (tensor<2xi32>) -> tensor<2xi32>
  %pool = hone.pool : tensor<2x?x4xf32>
  // expected-error @+1 {{'hone.keep' op expects 'slots' to be an argument of the entry}}
  hone.keep %x in %pool at %slots[0] : tensor<2x?x4xf32>, tensor<2xi32>
}

// -----

hone.entry @keep_c3(%x: tensor<?x4xf32>, %slots: tensor<2xi32>, %mask: tensor<3xi32>) {
  %pool = hone.pool : tensor<2x?x4xf32>
  // expected-error @+1 {{'hone.keep' op expects an element of the 3 of 'mask' but got 3}}
  hone.keep %x in %pool at %slots[1] when %mask[3] : tensor<2x?x4xf32>, tensor<2xi32>, tensor<3xi32>
}

// -----

hone.entry @kept_c1(%slots: tensor<2xi32>) {
  %pool = hone.pool : tensor<2x?x4xf32>
  // expected-error @+1 {{'hone.kept' op failed to verify that 'x' has the type of a slot of 'pool'}}
  %x = "hone.kept"(%pool, %slots) <{slot_index = 0 : i64}> : (tensor<2x?x4xf32>, tensor<2xi32>) -> tensor<?x8xf32>
}

// -----

hone.entry @kept_c2(%slots: tensor<2xi32>) {
  %pool = hone.pool : tensor<2x?x4xf32>
  // expected-error @+1 {{'hone.kept' op expects an element of the 2 of 'slots' but got -1}}
  %x = hone.kept %pool at %slots[-1] : tensor<2x?x4xf32>, tensor<2xi32>
}

// -----

hone.entry @keep_c4(%x: tensor<?x4xf32>, %pool: tensor<2x?x4xf32>, %slots: tensor<2xi32>) {
  // expected-error @+1 {{'hone.keep' op expects 'pool' to be the result of a 'hone.pool'}}
  hone.keep %x in %pool at %slots[0] : tensor<2x?x4xf32>, tensor<2xi32>
}

// -----

hone.block @direction_c1(%key: tensor<4xi32>) {
  %w = hone.parameter "w" : tensor<8x4xf32>
  // expected-error @+1 {{'hone.direction' op expects 'parameter' to be the result of a trainable 'hone.parameter'}}
  %z = hone.direction %w by %key : tensor<8x4xf32>
  hone.return
}

// -----

hone.block @direction_c2() {
  %w = hone.parameter "w" trainable init <zero> : tensor<8x4xf32>
  %key = hone.input "key" : tensor<4xi32>
  // expected-error @+1 {{'hone.direction' op expects 'key' and 'scale' to be arguments of the block}}
  %z = hone.direction %w by %key : tensor<8x4xf32>
  hone.return
}

// -----

hone.entry gradient @sgd_c2(%g: tensor<f64>, %key: tensor<4xi32>, %c: tensor<1xf32>) {
  %d = hone.layer_gradient "model.layers.0." : tensor<16xf32>
  // expected-error @+1 {{'hone.sgd' op expects a gradient or directions but got both}}
  hone.sgd %g, %g, %g from %d : tensor<16xf32> along %key, %c : tensor<1xf32>
}

// -----

hone.block @lora_linear_adjoint_c4(%dy: tensor<?x8xf32>, %w: tensor<8x4xf32>,
                                   %a: tensor<2x4xf32>, %b: tensor<8x2xf32>,
                                   %key: tensor<4xi32>) {
  // expected-error @+1 {{'hone.lora_linear_adjoint' op expects 'dropout' to be above 0 and below 1 but got 1}}
  %0 = hone.lora_linear_adjoint %dy, %w, %a, %b scale 2.0
      dropout 1.0 of "q" by %key
      : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>,
         tensor<4xi32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @lora_parameter_adjoint_c5(%dy: tensor<?x8xf32>,
                                      %x: tensor<?x4xf32>,
                                      %a: tensor<2x4xf32>,
                                      %b: tensor<8x2xf32>,
                                      %key: tensor<4xi32>) {
  // expected-error @+1 {{'hone.lora_parameter_adjoint' op expects 'dropout' to be above 0 and below 1 but got 1}}
  %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0
      dropout 1.0 of "q" by %key
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>,
         tensor<4xi32>) -> (tensor<2x4xf32>, tensor<8x2xf32>)
  hone.return
}

// -----

hone.entry @sgd_c3(%g: tensor<f64>, %mask: tensor<2xi32>) {
  // expected-error @+1 {{'hone.sgd' op expects an element of the 2 of 'mask' but got 2}}
  hone.sgd %g, %g, %g on ["layers.2."] when %mask[2] : tensor<2xi32>
}

// -----

hone.entry @adamw_c2(%g: tensor<f64>) {
  %d = hone.layer_gradient "layers.0." : tensor<16xf32>
  // expected-error @+1 {{'hone.adamw' op expects one layer or several but got both}}
  hone.adamw %g, %g, %g, %g, %g, %g, %g, %g from %d : tensor<16xf32> on ["layers.0."]
}

// -----

hone.entry @adamw_c3(%g: tensor<f64>, %mask: tensor<2xi32>) {
  // expected-error @+1 {{'hone.adamw' op expects an element of the 2 of 'mask' but got 2}}
  hone.adamw %g, %g, %g, %g, %g, %g, %g, %g on ["layers.2."] when %mask[2] : tensor<2xi32>
}

// -----

hone.entry @adamw_coded_c1(%g: tensor<f64>, %d: tensor<16xf32>) {
  // expected-error @+1 {{'hone.adamw_coded' op expects 'gradient' to be the result of a 'hone.layer_gradient'}}
  hone.adamw_coded %g, %g, %g, %g, %g, %g, %g, %g from %d : tensor<16xf32>
}

// -----

hone.entry @adamw_coded_c2(%g: tensor<f64>) {
  %d = hone.layer_gradient "layers.0." : tensor<16xf32>
  // expected-error @+1 {{'hone.adamw_coded' op expects one layer or several but got both}}
  hone.adamw_coded %g, %g, %g, %g, %g, %g, %g, %g from %d : tensor<16xf32> on ["layers.0."]
}

// -----

hone.entry @adamw_coded_c3(%g: tensor<f64>, %mask: tensor<2xi32>) {
  // expected-error @+1 {{'hone.adamw_coded' op expects an element of the 2 of 'mask' but got 2}}
  hone.adamw_coded %g, %g, %g, %g, %g, %g, %g, %g on ["layers.2."] when %mask[2] : tensor<2xi32>
}

// -----

hone.entry @lion_c1(%g: tensor<f64>, %d: tensor<16xf32>) {
  // expected-error @+1 {{'hone.lion' op expects 'gradient' to be the result of a 'hone.layer_gradient'}}
  hone.lion %g, %g, %g, %g, %g from %d : tensor<16xf32>
}

// -----

hone.entry @lion_c2(%g: tensor<f64>) {
  %d = hone.layer_gradient "layers.0." : tensor<16xf32>
  // expected-error @+1 {{'hone.lion' op expects one layer or several but got both}}
  hone.lion %g, %g, %g, %g, %g from %d : tensor<16xf32> on ["layers.0."]
}

// -----

hone.entry @lion_c3(%g: tensor<f64>, %mask: tensor<2xi32>) {
  // expected-error @+1 {{'hone.lion' op expects an element of the 2 of 'mask' but got 2}}
  hone.lion %g, %g, %g, %g, %g on ["layers.2."] when %mask[2] : tensor<2xi32>
}

// -----

hone.entry @adafactor_c1(%g: tensor<f64>, %d: tensor<16xf32>) {
  // expected-error @+1 {{'hone.adafactor' op expects 'gradient' to be the result of a 'hone.layer_gradient'}}
  hone.adafactor %g, %g, %g, %g, %g, %g from %d : tensor<16xf32>
}

// -----

hone.entry @adafactor_c2(%g: tensor<f64>) {
  %d = hone.layer_gradient "layers.0." : tensor<16xf32>
  // expected-error @+1 {{'hone.adafactor' op expects one layer or several but got both}}
  hone.adafactor %g, %g, %g, %g, %g, %g from %d : tensor<16xf32> on ["layers.0."]
}

// -----

hone.entry @adafactor_c3(%g: tensor<f64>, %mask: tensor<2xi32>) {
  // expected-error @+1 {{'hone.adafactor' op expects an element of the 2 of 'mask' but got 2}}
  hone.adafactor %g, %g, %g, %g, %g, %g on ["layers.2."] when %mask[2] : tensor<2xi32>
}

// -----

hone.entry @adafactor_c4(%g: tensor<f64>, %key: tensor<4xi32>, %c: tensor<1xf32>) {
  // expected-error @+1 {{'hone.adafactor' op expects a gradient in memory but got directions}}
  hone.adafactor %g, %g, %g, %g, %g, %g along %key, %c : tensor<1xf32>
}

// -----

hone.entry @sinkgd_c1(%g: tensor<f64>, %d: tensor<16xf32>) {
  // expected-error @+1 {{'hone.sinkgd' op expects 'gradient' to be the result of a 'hone.layer_gradient'}}
  hone.sinkgd %g, %g, %g from %d : tensor<16xf32>
}

// -----

hone.entry @sinkgd_c2(%g: tensor<f64>) {
  %d = hone.layer_gradient "layers.0." : tensor<16xf32>
  // expected-error @+1 {{'hone.sinkgd' op expects one layer or several but got both}}
  hone.sinkgd %g, %g, %g from %d : tensor<16xf32> on ["layers.0."]
}

// -----

hone.entry @sinkgd_c3(%g: tensor<f64>, %mask: tensor<2xi32>) {
  // expected-error @+1 {{'hone.sinkgd' op expects an element of the 2 of 'mask' but got 2}}
  hone.sinkgd %g, %g, %g on ["layers.2."] when %mask[2] : tensor<2xi32>
}

// -----

hone.entry @sinkgd_c4(%g: tensor<f64>, %key: tensor<4xi32>, %c: tensor<1xf32>) {
  // expected-error @+1 {{'hone.sinkgd' op expects a gradient in memory but got directions}}
  hone.sinkgd %g, %g, %g along %key, %c : tensor<1xf32>
}

// -----

hone.entry @element_c1(%rates: tensor<2xf64>) {
  // expected-error @+1 {{'hone.element' op expects an element of the 2 of 'numbers' but got 2}}
  %0 = hone.element %rates[2] : tensor<2xf64>
}

// -----

hone.entry @prefetch_c1() {
  // expected-error @+1 {{'hone.prefetch' op expects 'nowhere' to be a 'hone.block'}}
  hone.prefetch @nowhere "layers.0."
}

// -----

hone.entry @release_c1() {
  // expected-error @+1 {{'hone.release' op expects 'nowhere' to be a 'hone.block'}}
  hone.release @nowhere "layers.0."
}
