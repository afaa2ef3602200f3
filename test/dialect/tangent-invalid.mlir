// RUN: hone-opt %s --split-input-file --verify-diagnostics

// Tangents: each constraint is violated once, in a case of its name.

hone.block @rms_norm_tangent_c1(%tx: tensor<?x4xf32>, %x: tensor<?x4xf32>,
                                %w: tensor<5xf32>) {
  // expected-error @+1 {{'hone.rms_norm_tangent' op expects dimension 0 of 'weight' to be dimension 1 of 'x', but got 5 and 4}}
  %0 = hone.rms_norm_tangent %tx, %x, %w eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<5xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @rms_norm_tangent_c2(%tx: tensor<?x4xf32>, %x: tensor<?x4xf32>,
                                %w: tensor<4xf32>, %r: tensor<3x1xf32>) {
  // expected-error @+1 {{'hone.rms_norm_tangent' op expects dimension 0 of 'rstd' to be dimension 0 of 'x', but got 3 and ?}}
  %0 = hone.rms_norm_tangent %tx, %x, %w rstd %r eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<3x1xf32>)
      -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @rms_norm_tangent_c2_element(%tx: tensor<?x4xf32>,
                                        %x: tensor<?x4xf32>, %w: tensor<4xf32>,
                                        %r: tensor<?x1xf64>) {
  // expected-error @+1 {{'hone.rms_norm_tangent' op expects 'rstd' to be of 'f32', which 'x' is computed in, but got 'tensor<?x1xf64>'}}
  %0 = hone.rms_norm_tangent %tx, %x, %w rstd %r eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<?x1xf64>)
      -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @rms_norm_tangent_c3(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'hone.rms_norm_tangent' op expects 'heads' to be positive but got 0}}
  %0 = hone.rms_norm_tangent %x, %x, %w heads 0 eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @lora_parameter_tangent_c1(%x: tensor<?x4xf32>, %a: tensor<2x4xf32>,
                                      %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'hone.lora_parameter_tangent' op expects dimension 0 of 'ty' to be dimension 0 of 'x', but got 3 and ?}}
  %0 = hone.lora_parameter_tangent %x, %a, %b ta %a scale 2.0
      : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<2x4xf32>)
      -> tensor<3x8xf32>
  hone.return
}

// -----

hone.block @lora_parameter_tangent_c2(%x: tensor<?x4xf32>, %a: tensor<2x4xf32>,
                                      %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'hone.lora_parameter_tangent' op expects 'ta' and 'a' to have one type, but got 'tensor<8x2xf32>' and 'tensor<2x4xf32>'}}
  %0 = hone.lora_parameter_tangent %x, %a, %b ta %b scale 2.0
      : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
      -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @lora_parameter_tangent_c3(%x: tensor<?x4xf32>, %a: tensor<2x4xf32>,
                                      %b: tensor<8x2xf32>,
                                      %h: tensor<?x3xf32>) {
  // expected-error @+1 {{'hone.lora_parameter_tangent' op expects dimension 1 of 'h' to be dimension 0 of 'a', but got 3 and 2}}
  %0 = hone.lora_parameter_tangent %x, %a, %b tb %b h %h scale 2.0
      : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>,
         tensor<?x3xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @lora_parameter_tangent_c4(%x: tensor<?x4xf32>, %a: tensor<2x4xf32>,
                                      %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'hone.lora_parameter_tangent' op expects a tangent of at least one operand}}
  %0 = hone.lora_parameter_tangent %x, %a, %b scale 2.0
      : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @lora_parameter_tangent_c5(%x: tensor<?x4xf32>, %a: tensor<2x4xf32>,
                                      %b: tensor<8x2xf64>) {
  // expected-error @+1 {{'hone.lora_parameter_tangent' op expects 'b' to be of 'f32', which 'x' is computed in, but got 'tensor<8x2xf64>'}}
  %0 = hone.lora_parameter_tangent %x, %a, %b ta %a scale 2.0
      : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf64>, tensor<2x4xf32>)
      -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @attention_tangent_c1(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                                 %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention_tangent' op expects 'tv' and 'v' to have one type, but got 'tensor<?x8xf32>' and 'tensor<?x4xf32>'}}
  %0 = hone.attention_tangent %q, %k, %k, %s tv %q heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>,
         tensor<?x8xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @attention_tangent_c2(%q: tensor<?x8xf32>, %k: tensor<?x12xf32>,
                                 %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention_tangent' op expects 'kv_heads' to divide 'heads', but got 3 and 2}}
  %0 = hone.attention_tangent %q, %k, %k, %s tq %q heads 2 kv_heads 3 scale 0.5
      : (tensor<?x8xf32>, tensor<?x12xf32>, tensor<?x12xf32>, tensor<?xi32>,
         tensor<?x8xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @attention_tangent_c3(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                                 %l: tensor<?x1xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention_tangent' op expects dimension 1 of 'normalizer' to be 4, but got 1}}
  %0 = hone.attention_tangent %q, %k, %k, %s tq %q normalizer %l
      heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>,
         tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @attention_tangent_c3_starts(%q: tensor<?x8xf32>,
                                        %k: tensor<?x4xf32>,
                                        %s: tensor<3xi32>) {
  // expected-error @+1 {{'hone.attention_tangent' op expects dimension 0 of 'starts' to be dimension 0 of 'q', but got 3 and ?}}
  %0 = hone.attention_tangent %q, %k, %k, %s tq %q heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<3xi32>,
         tensor<?x8xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @attention_tangent_c4(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                                 %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention_tangent' op expects a tangent of at least one operand}}
  %0 = hone.attention_tangent %q, %k, %k, %s heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>)
      -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @attention_tangent_c5(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                                 %l: tensor<?x4xf64>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention_tangent' op expects 'normalizer' to be of 'f32', which 'q' is computed in, but got 'tensor<?x4xf64>'}}
  %0 = hone.attention_tangent %q, %k, %k, %s tq %q normalizer %l
      heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>,
         tensor<?x8xf32>, tensor<?x4xf64>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @attention_tangent_c6(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                                 %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention_tangent' op expects 'window' to be positive but got 0}}
  %0 = hone.attention_tangent %q, %k, %k, %s tq %q
      heads 2 kv_heads 1 window 0 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>,
         tensor<?x8xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @gated_activation_tangent_c1(%g: tensor<?x8xf32>, %t: tensor<?x4xf32>) {
  // expected-error @+1 {{'hone.gated_activation_tangent' op expects 'tup' and 'gate' to have one type, but got 'tensor<?x4xf32>' and 'tensor<?x8xf32>'}}
  %0 = hone.gated_activation_tangent silu %g, %g tup %t
      : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @gated_activation_tangent_c2(%g: tensor<?x8xf32>) {
  // expected-error @+1 {{'hone.gated_activation_tangent' op expects a tangent of at least one operand}}
  %0 = hone.gated_activation_tangent silu %g, %g
      : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @linear_cross_entropy_tangent_c1(%x: tensor<?x4xf32>,
                                            %w: tensor<9x5xf32>,
                                            %t: tensor<?xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy_tangent' op expects dimension 1 of 'weight' to be dimension 1 of 'x', but got 5 and 4}}
  %0 = hone.linear_cross_entropy_tangent %x, %w, %t tx %x
      : (tensor<?x4xf32>, tensor<9x5xf32>, tensor<?xi32>, tensor<?x4xf32>)
      -> tensor<f64>
  hone.return
}

// -----

hone.block @linear_cross_entropy_tangent_c2(%x: tensor<?x4xf32>,
                                            %w: tensor<9x4xf32>,
                                            %t: tensor<3xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy_tangent' op expects dimension 0 of 'targets' to be dimension 0 of 'x', but got 3 and ?}}
  %0 = hone.linear_cross_entropy_tangent %x, %w, %t tx %x
      : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<3xi32>, tensor<?x4xf32>)
      -> tensor<f64>
  hone.return
}

// -----

hone.block @linear_cross_entropy_tangent_c3(%x: tensor<?x4xf32>,
                                            %w: tensor<?x4xf32>,
                                            %t: tensor<?xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy_tangent' op expects dimension 0 of 'weight' to be known, but got 'tensor<?x4xf32>'}}
  %0 = hone.linear_cross_entropy_tangent %x, %w, %t tx %x
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>, tensor<?x4xf32>)
      -> tensor<f64>
  hone.return
}

// -----

hone.block @linear_cross_entropy_tangent_c4(%x: tensor<?x4xf32>,
                                            %w: tensor<9x4xf32>,
                                            %t: tensor<?xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy_tangent' op expects a tangent of at least one operand}}
  %0 = hone.linear_cross_entropy_tangent %x, %w, %t
      : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
  hone.return
}

// -----

hone.block @dot_c1(%a: tensor<?x4xf32>, %b: tensor<?x5xf32>) {
  // expected-error @+1 {{'hone.dot' op requires all operands to have the same type}}
  %0 = "hone.dot"(%a, %b) : (tensor<?x4xf32>, tensor<?x5xf32>) -> tensor<f64>
  hone.return
}

// -----

hone.block @lora_parameter_tangent_c6(
    %x: tensor<?x4xf32>, %a: tensor<2x4xf32>, %b: tensor<8x2xf32>,
    %key: tensor<4xi32>) {
  // expected-error @+1 {{'hone.lora_parameter_tangent' op expects 'dropout' to be above 0 and below 1 but got 1}}
  %0 = hone.lora_parameter_tangent %x, %a, %b ta %a scale 2.0
      dropout 1.0 of "q" by %key
      : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<2x4xf32>,
         tensor<4xi32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @linear_cross_entropy_tangent_c5(
    %x: tensor<?x4xf32>, %w: tensor<9x4xf32>, %t: tensor<?xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy_tangent' op expects 'smoothing' to be above 0 and below 1 but got 1}}
  %0 = hone.linear_cross_entropy_tangent %x, %w, %t tx %x smoothing 1.0
      : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>, tensor<?x4xf32>)
      -> tensor<f64>
  hone.return
}
