// RUN: hone-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics

// Modules, blocks and their calls: each constraint is violated once, in a case
// of its name. The constraints of entries are in schedule-invalid.mlir.

// expected-error @+1 {{expects 'hone.max_rows' to be an integer from 1 to 2147483647 on a module, but got 0 : i64}}
module @max_rows_is_positive attributes {hone.max_rows = 0 : i64} {
}

// -----

// expected-error @+1 {{expects 'hone.max_rows' to be an integer from 1 to 2147483647 on a module, but got 2147483648 : i64}}
module @max_rows_have_32_bits attributes {hone.max_rows = 2147483648 : i64} {
}

// -----

// expected-error @+1 {{expects 'hone.arena_bytes' to be an integer from 0 to 9223372036854775807 on a module, but got "4096"}}
module @arena_bytes_is_an_integer attributes {hone.arena_bytes = "4096"} {
}

// -----

// expected-error @+1 {{expects 'hone.attention_iterations' to be an integer from 1 to 2147483647 on a module, but got 0 : i64}}
module @attention_has_iterations attributes {hone.attention_iterations = 0 : i64} {
}

// -----

// expected-error @+1 {{expects 'hone.max_rows' to be an integer from 1 to 2147483647 on a module, but got 4 : i64}}
hone.block @max_rows_is_of_modules() attributes {hone.max_rows = 4 : i64} {
  hone.return
}

// -----

// expected-error @+1 {{expects 'hone.layers' to be different strings on a module, but got ["h.0.", "h.0."]}}
module @layers_are_different attributes {hone.layers = ["h.0.", "h.0."]} {
}

// -----

// expected-error @+1 {{expects 'hone.layers' to be different strings on a module, but got [0, 1]}}
module @layers_are_prefixes attributes {hone.layers = [0, 1]} {
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

hone.entry @call_c1() {
  // expected-error @+1 {{'hone.call' op expects 'nowhere' to be a 'hone.block'}}
  hone.call @nowhere "" () : () -> ()
}

// -----

// expected-note @+1 {{block declared here}}
hone.block @callee() {
  hone.return
}
hone.entry @call_c2() {
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

// block (C2)
hone.block @two_storages() {
  // expected-note @+1 {{the other one is here}}
  %0 = hone.parameter "w" : tensor<8x4xf32>
  // expected-error @+1 {{'hone.parameter' op expects parameters of one name to have one type and storage, but 'w' has two}}
  %1 = hone.parameter "w" stored <bfloat16> : tensor<8x4xf32>
  hone.return
}

// -----

hone.block @callee() {
  hone.return
}
hone.entry @call_c3_without_condition() {
  // expected-error @+1 {{'hone.call' op expects 'else' only with 'when'}}
  hone.call @callee "" () else @callee : () -> ()
}

// -----

hone.block @callee() {
  hone.return
}
hone.entry @call_c3_block(%mask: tensor<2xi32>) {
  // expected-error @+1 {{'hone.call' op expects 'nowhere' to be a 'hone.block'}}
  hone.call @callee "" () when %mask[0] : tensor<2xi32> else @nowhere : () -> ()
}

// -----

hone.block @callee() {
  hone.return
}
// expected-note @+1 {{block declared here}}
hone.block @other(%x: tensor<?x4xf32>) {
  hone.return
}
hone.entry @call_c3_type(%mask: tensor<2xi32>) {
  // expected-error @+1 {{'hone.call' op expects the type '(tensor<?x4xf32>) -> ()' but got '() -> ()'}}
  hone.call @callee "" () when %mask[0] : tensor<2xi32> else @other : () -> ()
}

// -----

hone.block @callee() -> tensor<?x4xf32> {
  %x = hone.input "hidden" : tensor<?x4xf32>
  %y = hone.add %x, %x : tensor<?x4xf32>
  hone.return %y : tensor<?x4xf32>
}
hone.entry @call_c4(%mask: tensor<2xi32>) {
  // expected-error @+1 {{'hone.call' op expects an 'else' that gives its results when the condition does not hold}}
  %0 = hone.call @callee "" () when %mask[0] : tensor<2xi32> : () -> tensor<?x4xf32>
}

// -----

hone.block @callee() {
  hone.return
}
hone.entry @call_c5_index(%mask: tensor<2xi32>) {
  // expected-error @+1 {{'hone.call' op expects an element of the 2 of 'mask' but got 2}}
  hone.call @callee "" () when %mask[2] : tensor<2xi32> : () -> ()
}

// -----

hone.block @callee() {
  hone.return
}
hone.entry @call_c5_negative_index(%mask: tensor<2xi32>) {
  // expected-error @+1 {{'hone.call' op expects an element of the 2 of 'mask' but got -1}}
  hone.call @callee "" () when %mask[-1] : tensor<2xi32> : () -> ()
}

// -----

hone.block @callee() {
  hone.return
}
hone.entry @call_c5_without_index(%mask: tensor<2xi32>) {
  // expected-error @+1 {{'hone.call' op expects 'mask' and an element of it, or neither}}
  "hone.call"(%mask) <{block = @callee, prefix = "", operandSegmentSizes = array<i32: 0, 1>}> : (tensor<2xi32>) -> ()
}

// -----

// Numbers of layers come from the schedule: an entry computes none.
hone.block @choose(%x: tensor<2xi32>) -> tensor<2xi32> {
  %y = "test.choose"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  hone.return %y : tensor<2xi32>
}
hone.block @callee() {
  hone.return
}
hone.entry @call_c5_argument(%x: tensor<2xi32>) {
  %mask = hone.call @choose "" (%x) : (tensor<2xi32>) -> tensor<2xi32>
  // expected-error @+1 {{'hone.call' op expects 'mask' to be an argument of the entry}}
  hone.call @callee "" () when %mask[0] : tensor<2xi32> : () -> ()
}

// -----

// A view is memory of another value.
hone.entry @return_c2_view(%pool: tensor<2x?x4xf32>, %slots: tensor<2xi32>) -> tensor<?x4xf32> {
  %k = hone.kept %pool at %slots[0] : tensor<2x?x4xf32>, tensor<2xi32>
  // expected-error @+1 {{'hone.return' op expects each operand to be a value that the body computes and returns once}}
  hone.return %k : tensor<?x4xf32>
}
