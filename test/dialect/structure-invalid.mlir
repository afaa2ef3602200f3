// RUN: hone-opt %s --split-input-file --verify-diagnostics

// Modules, blocks, entries and their calls: each constraint is violated once,
// in a case of its name.

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
  // expected-error @+1 {{'hone.return' op expects each operand to be a value that the block computes and returns once}}
  hone.return %x : tensor<?x4xf32>
}

// -----

hone.block @return_c2_twice(%x: tensor<?x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %y = hone.add %x, %x : tensor<?x4xf32>
  // expected-error @+1 {{'hone.return' op expects each operand to be a value that the block computes and returns once}}
  hone.return %y, %y : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// A parameter is memory of the model, not of the caller.
hone.block @return_c2_ambient() -> tensor<2x4xf32> {
  %w = hone.parameter "w" : tensor<2x4xf32>
  // expected-error @+1 {{'hone.return' op expects each operand to be a value that the block computes and returns once}}
  hone.return %w : tensor<2x4xf32>
}

// -----

hone.entry @entry_returns_nothing {
  %x = hone.input "loss_scale" : tensor<f64>
  // expected-error @+1 {{'hone.return' op expects no operands in an entry}}
  hone.return %x : tensor<f64>
}

// -----

hone.entry @entry_c1 {
  %x = hone.input "loss_scale" : tensor<f64>
  // expected-note @+1 {{the other one is here}}
  hone.output %x as "loss" : tensor<f64>
  // expected-error @+1 {{'hone.output' op expects outputs of an entry to have different names, but 'loss' is there twice}}
  hone.output %x as "loss" : tensor<f64>
}

// -----

hone.entry @call_c1 {
  // expected-error @+1 {{'hone.call' op expects 'nowhere' to be a 'hone.block'}}
  hone.call @nowhere "" () : () -> ()
}

// -----

// expected-note @+1 {{block declared here}}
hone.block @callee() {
  hone.return
}
hone.entry @call_c2 {
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
  hone.output %x as "loss" : tensor<f64>
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
