// RUN: hone-opt %s --split-input-file --verify-diagnostics

// hone.lora_linear: each constraint is violated once, in a case of its name.

hone.block @lora_linear_c1(%x: tensor<?x4xf32>, %w: tensor<8x5xf32>,
                           %a: tensor<2x4xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'hone.lora_linear' op expects dimension 1 of 'weight' to be dimension 1 of 'x', but got 5 and 4}}
  %0 = hone.lora_linear %x, %w, %a, %b scale 2.0
      : (tensor<?x4xf32>, tensor<8x5xf32>, tensor<2x4xf32>, tensor<8x2xf32>)
      -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @lora_linear_c2(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>,
                           %a: tensor<2x4xf32>, %b: tensor<8x3xf32>) {
  // expected-error @+1 {{'hone.lora_linear' op expects dimension 0 of 'a' to be dimension 1 of 'b', but got 2 and 3}}
  %0 = hone.lora_linear %x, %w, %a, %b scale 2.0
      : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x3xf32>)
      -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @lora_linear_c3(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>,
                           %a: tensor<2x4xf32>, %b: tensor<8x2xf32>,
                           %bias: tensor<4xf32>) {
  // expected-error @+1 {{'hone.lora_linear' op expects dimension 0 of 'bias' to be dimension 1 of 'y', but got 4 and 8}}
  %0 = hone.lora_linear %x, %w, %a, %b bias %bias scale 2.0
      : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>,
         tensor<4xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @lora_linear_c4(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>,
                           %a: tensor<2x4xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'hone.lora_linear' op expects dimension 1 of 'h' to be dimension 0 of 'a', but got 3 and 2}}
  %y, %h = hone.lora_linear %x, %w, %a, %b scale 2.0
      : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>)
      -> (tensor<?x8xf32>, tensor<?x3xf32>)
  hone.return
}

// -----

hone.block @lora_linear_c5(%x: tensor<?x4xf64>, %w: tensor<8x4xf32>,
                           %a: tensor<2x4xf32>, %b: tensor<8x2xf64>) {
  // expected-error @+1 {{'hone.lora_linear' op expects 'a' to be of 'f64', which 'x' is computed in, but got 'tensor<2x4xf32>'}}
  %0 = hone.lora_linear %x, %w, %a, %b scale 2.0
      : (tensor<?x4xf64>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf64>)
      -> tensor<?x8xf64>
  hone.return
}

// -----

hone.block @lora_linear_c6(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>,
                           %a: tensor<2x4xf32>, %b: tensor<8x2xf32>,
                           %key: tensor<4xi32>) {
  // expected-error @+1 {{'hone.lora_linear' op expects 'dropout' to be above 0 and below 1 but got 1}}
  %0 = hone.lora_linear %x, %w, %a, %b scale 2.0 dropout 1.0 of "q" by %key
      : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>,
         tensor<4xi32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @lora_linear_c6_without_key(
    %x: tensor<?x4xf32>, %w: tensor<8x4xf32>, %a: tensor<2x4xf32>,
    %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'hone.lora_linear' op expects 'dropout', 'of' and 'key', or none of them}}
  %0 = "hone.lora_linear"(%x, %w, %a, %b)
      <{scale = 2.0 : f64, dropout = 0.5 : f64, of = "q",
        operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>}>
      : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>)
      -> tensor<?x8xf32>
  hone.return
}
