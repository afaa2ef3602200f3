// RUN: hone-opt %s --split-input-file --verify-diagnostics

// Model ops: each constraint is violated once, in a case of its name.

//===----------------------------------------------------------------------===//
// Module attributes
//===----------------------------------------------------------------------===//

// expected-error @+1 {{expects 'hone.max_rows' to be an integer of at least 1 on a module}}
module @max_rows_is_positive attributes {hone.max_rows = 0 : i64} {
}

// -----

// expected-error @+1 {{expects 'hone.arena_bytes' to be an integer of at least 0 on a module}}
module @arena_bytes_is_an_integer attributes {hone.arena_bytes = "4096"} {
}

// -----

// expected-error @+1 {{expects 'hone.max_rows' to be an integer of at least 1 on a module}}
hone.block @max_rows_is_of_modules() attributes {hone.max_rows = 4 : i64} {
  hone.return
}

// -----

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

// expected-error @+1 {{'hone.block' op expects a body ended by 'hone.return'}}
hone.block @block_c1()

// -----

hone.block @block_c2() {
  // expected-note @+1 {{the other one is here}}
  %0 = hone.parameter "w" : tensor<2x4xf32>
  // expected-error @+1 {{'hone.parameter' op expects parameters of one name to have one type and storage, but 'w' has two}}
  %1 = hone.parameter "w" : tensor<4x2xf32>
  hone.return
}

// -----

// Frozen and trainable under one name are two types as well.
hone.block @block_c2_trainable() {
  // expected-note @+1 {{the other one is here}}
  %0 = hone.parameter "w" : tensor<2x4xf32>
  // expected-error @+1 {{'hone.parameter' op expects parameters of one name to have one type and storage, but 'w' has two}}
  %1 = hone.parameter "w" trainable init <zero> : tensor<2x4xf32>
  hone.return
}

// -----

hone.block @return_c1(%x: tensor<?x4xf32>) -> tensor<?x8xf32> {
  %y = hone.add %x, %x : tensor<?x4xf32>
  // expected-error @+1 {{'hone.return' op expects operands of the types 'tensor<?x8xf32>' that block 'return_c1' declares, but got 'tensor<?x4xf32>'}}
  hone.return %y : tensor<?x4xf32>
}

// -----

hone.block @return_c2(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'hone.return' op expects each operand to be a value that the body computes and returns once}}
  hone.return %x : tensor<?x4xf32>
}

// -----

hone.block @return_c2_twice(%x: tensor<?x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %y = hone.add %x, %x : tensor<?x4xf32>
  // expected-error @+1 {{'hone.return' op expects each operand to be a value that the body computes and returns once}}
  hone.return %y, %y : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// A parameter is memory of the model, not of the caller.
hone.block @return_c2_ambient() -> tensor<2x4xf32> {
  %w = hone.parameter "w" : tensor<2x4xf32>
  // expected-error @+1 {{'hone.return' op expects each operand to be a value that the body computes and returns once}}
  hone.return %w : tensor<2x4xf32>
}

// -----

hone.entry @entry_returns_nothing(%x: tensor<f64>) {
  // expected-error @+1 {{'hone.return' op expects no operands in an entry}}
  hone.return %x : tensor<f64>
}

// -----

hone.entry @entry_c1(%x: tensor<f64>) -> tensor<f64> {
  // expected-note @+1 {{the other one is here}}
  hone.return %x : tensor<f64>
  // expected-error @+1 {{'hone.output' op expects outputs of an entry to have different names, but 'loss' is there twice}}
  hone.output %x as "loss" : tensor<f64>
}

// -----

hone.entry @call_c1() {
  // expected-error @+1 {{'hone.call' op expects 'nowhere' to be a 'hone.block'}}
  hone.call @nowhere "" () : () -> ()
}

// -----

// expected-note @+1 {{block declared here}}
hone.block @callee() {
  hone.return
}
hone.entry @call_c2() -> tensor<f64> {
  // expected-error @+1 {{'hone.call' op expects the type '() -> ()' but got '() -> tensor<?x4xf32>'}}
  %0 = hone.call @callee "" () : () -> tensor<?x4xf32>
}

// -----

hone.block @callee() {
  hone.return
}
hone.block @call_is_of_entries() {
  // expected-error @+1 {{'hone.call' op expects parent op 'hone.entry'}}
  hone.call @callee "" () : () -> ()
  hone.return
}

// -----

hone.block @output_is_of_entries() {
  %x = hone.input "loss_scale" : tensor<f64>
  // expected-error @+1 {{'hone.output' op expects parent op 'hone.entry'}}
  hone.return %x : tensor<f64>
  hone.return
}

// -----

hone.block @parameter_c1() {
  // expected-error @+1 {{'hone.parameter' op expects a static shape but got 'tensor<?x4xf32>'}}
  %0 = hone.parameter "w" : tensor<?x4xf32>
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

// A kernel is compiled for its features; only rows may be unknown.
hone.block @features_are_known(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{'hone.add' op operand #0 must be 2D tensor of 32- or 64-bit float values with a known number of features, but got 'tensor<?x?xf32>'}}
  %0 = hone.add %x, %x : tensor<?x?xf32>
  hone.return
}

// -----

//===----------------------------------------------------------------------===//
// Model ops
//===----------------------------------------------------------------------===//

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

hone.block @rms_norm_c1(%x: tensor<?x4xf32>, %w: tensor<5xf32>) {
  // expected-error @+1 {{'hone.rms_norm' op expects dimension 0 of 'weight' to be dimension 1 of 'x', but got 5 and 4}}
  %0 = hone.rms_norm %x, %w eps 1.0e-5
      : (tensor<?x4xf32>, tensor<5xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @rms_norm_c1_type(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'hone.rms_norm' op expects 'x' and 'y' to have one type, but got 'tensor<?x4xf32>' and 'tensor<?x4xf64>'}}
  %0 = hone.rms_norm %x, %w eps 1.0e-5
      : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf64>
  hone.return
}

// -----

hone.block @rms_norm_c2(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'hone.rms_norm' op expects 'rstd' and 'x' to have one element type, but got 'tensor<?xf64>' and 'tensor<?x4xf32>'}}
  %y, %rstd = hone.rms_norm %x, %w eps 1.0e-5
      : (tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?xf64>)
  hone.return
}

// -----

hone.block @rms_norm_c3(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'hone.rms_norm' op expects 'eps' not to be negative}}
  %0 = hone.rms_norm %x, %w eps -1.0e-5
      : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  hone.return
}

// -----

hone.block @linear_c1(%x: tensor<?x4xf32>, %w: tensor<8x5xf32>) {
  // expected-error @+1 {{'hone.linear' op expects dimension 1 of 'weight' to be dimension 1 of 'x', but got 5 and 4}}
  %0 = hone.linear %x, %w
      : (tensor<?x4xf32>, tensor<8x5xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @linear_c2(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>,
                      %b: tensor<4xf32>) {
  // expected-error @+1 {{'hone.linear' op expects dimension 0 of 'bias' to be dimension 1 of 'y', but got 4 and 8}}
  %0 = hone.linear %x, %w bias %b
      : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @linear_c3(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{'hone.linear' op expects 'x' and 'y' to have one element type, but got 'tensor<?x4xf32>' and 'tensor<?x8xf64>'}}
  %0 = hone.linear %x, %w
      : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf64>
  hone.return
}

// -----

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
  // expected-error @+1 {{'hone.lora_linear' op expects 'a' and 'x' to have one element type, but got 'tensor<2x4xf32>' and 'tensor<?x4xf64>'}}
  %0 = hone.lora_linear %x, %w, %a, %b scale 2.0
      : (tensor<?x4xf64>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf64>)
      -> tensor<?x8xf64>
  hone.return
}

// -----

// Two heads of five features: pairs (j, j + d/2) need an even d.
hone.block @rope_c1(%x: tensor<?x10xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.rope' op expects 'x' to have an even number of features for each of 2 heads, but it has 10 features}}
  %0 = hone.rope %x, %s heads 2 theta 1.0e4
      : (tensor<?x10xf32>, tensor<?xi32>) -> tensor<?x10xf32>
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

hone.block @attention_c1(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                         %v: tensor<?x8xf32>, %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention' op expects 'k' and 'v' to have one type, but got 'tensor<?x4xf32>' and 'tensor<?x8xf32>'}}
  %0 = hone.attention %q, %k, %v, %s heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x8xf32>, tensor<?xi32>)
      -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @attention_c1_head_size(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>,
                                   %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention' op expects 'q' and 'k' to have heads of one size, but 2 heads share 8 features and 1 heads share 8}}
  %0 = hone.attention %q, %k, %k, %s heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xi32>)
      -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @attention_c2(%q: tensor<?x12xf32>, %k: tensor<?x8xf32>,
                         %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention' op expects 'kv_heads' to divide 'heads', but got 2 and 3}}
  %0 = hone.attention %q, %k, %k, %s heads 3 kv_heads 2 scale 0.5
      : (tensor<?x12xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xi32>)
      -> tensor<?x12xf32>
  hone.return
}

// -----

hone.block @attention_c3(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                         %s: tensor<3xi32>) {
  // expected-error @+1 {{'hone.attention' op expects dimension 0 of 'starts' to be dimension 0 of 'q', but got 3 and ?}}
  %0 = hone.attention %q, %k, %k, %s heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<3xi32>)
      -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @attention_c4(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                         %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention' op expects dimension 1 of 'normalizer' to be 4, but got 1}}
  %y, %normalizer = hone.attention %q, %k, %k, %s heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>)
      -> (tensor<?x8xf32>, tensor<?x1xf32>)
  hone.return
}

// -----

hone.block @attention_c5(%q: tensor<?x8xf32>, %k: tensor<?x4xf64>,
                         %s: tensor<?xi32>) {
  // expected-error @+1 {{'hone.attention' op expects 'k' and 'q' to have one element type, but got 'tensor<?x4xf64>' and 'tensor<?x8xf32>'}}
  %0 = hone.attention %q, %k, %k, %s heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf64>, tensor<?x4xf64>, tensor<?xi32>)
      -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @swiglu_has_one_type(%gate: tensor<?x8xf32>, %up: tensor<?x4xf32>) {
  // expected-error @+1 {{'hone.swiglu' op requires the same type for all operands and results}}
  %0 = "hone.swiglu"(%gate, %up)
      : (tensor<?x8xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @add_has_one_type(%lhs: tensor<?x8xf32>, %rhs: tensor<?x8xf64>) {
  // expected-error @+1 {{'hone.add' op requires the same type for all operands and results}}
  %0 = "hone.add"(%lhs, %rhs)
      : (tensor<?x8xf32>, tensor<?x8xf64>) -> tensor<?x8xf32>
  hone.return
}

// -----

hone.block @linear_cross_entropy_c1(%x: tensor<?x4xf32>, %w: tensor<9x5xf32>,
                                    %t: tensor<?xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy' op expects dimension 1 of 'weight' to be dimension 1 of 'x', but got 5 and 4}}
  %0 = hone.linear_cross_entropy %x, %w, %t
      : (tensor<?x4xf32>, tensor<9x5xf32>, tensor<?xi32>) -> tensor<f64>
  hone.return
}

// -----

hone.block @linear_cross_entropy_c4(%x: tensor<?x4xf32>, %w: tensor<?x4xf32>,
                                    %t: tensor<?xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy' op expects dimension 0 of 'weight' to be known, but got 'tensor<?x4xf32>'}}
  %0 = hone.linear_cross_entropy %x, %w, %t
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>) -> tensor<f64>
  hone.return
}

// -----

hone.block @linear_cross_entropy_c2(%x: tensor<?x4xf32>, %w: tensor<9x4xf32>,
                                    %t: tensor<3xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy' op expects dimension 0 of 'targets' to be dimension 0 of 'x', but got 3 and ?}}
  %0 = hone.linear_cross_entropy %x, %w, %t
      : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<3xi32>) -> tensor<f64>
  hone.return
}

// -----

hone.block @linear_cross_entropy_c3(%x: tensor<?x4xf32>, %w: tensor<9x4xf32>,
                                    %t: tensor<?xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy' op expects 'dx' and 'x' to have one type, but got 'tensor<?x9xf32>' and 'tensor<?x4xf32>'}}
  %loss, %dx = hone.linear_cross_entropy %x, %w, %t
      : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>)
      -> (tensor<f64>, tensor<?x9xf32>)
  hone.return
}

// -----

hone.block @loss_is_a_double(%x: tensor<?x4xf32>, %w: tensor<9x4xf32>,
                             %t: tensor<?xi32>) {
  // expected-error @+1 {{'hone.linear_cross_entropy' op result #0 must be tensor<f64>, but got 'tensor<f32>'}}
  %0 = hone.linear_cross_entropy %x, %w, %t
      : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f32>
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
hone.block @stored_indices() {
  // expected-error @+1 {{'hone.parameter' op expects 'stored' on a float tensor only}}
  %w = hone.parameter "w" stored <bfloat16> : tensor<8x4xi32>
  hone.return
}

// -----

// parameter (C3)
hone.block @stored_trainable() {
  // expected-error @+1 {{'hone.parameter' op expects a trainable parameter to be stored as bfloat16 or as its type but got #hone.storage<int8, group = 64>}}
  %w = hone.parameter "w" trainable init <zero> stored <int8, group = 64> : tensor<8x64xf32>
  hone.return
}

// -----

// parameter (C3)
hone.block @stored_vector() {
  // expected-error @+1 {{'hone.parameter' op expects a matrix whose columns are whole groups of 32 but got 'tensor<64xf32>'}}
  %w = hone.parameter "w" stored <int4, group = 32> : tensor<64xf32>
  hone.return
}

// -----

// parameter (C3)
hone.block @stored_columns() {
  // expected-error @+1 {{'hone.parameter' op expects a matrix whose columns are whole groups of 64 but got 'tensor<8x96xf32>'}}
  %w = hone.parameter "w" stored <int8, group = 64> : tensor<8x96xf32>
  hone.return
}

// -----

// block (C2)
hone.block @two_storages() {
  // expected-note @+1 {{the other one is here}}
  %0 = hone.parameter "w" : tensor<8x4xf32>
  // expected-error @+1 {{'hone.parameter' op expects parameters of one name to have one type and storage, but 'w' has two}}
  %1 = hone.parameter "w" stored <bfloat16> : tensor<8x4xf32>
  hone.return
}
