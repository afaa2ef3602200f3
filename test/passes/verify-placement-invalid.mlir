// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-verify-placement

// Each way in which a placement can be wrong.

// expected-error @+1 {{expects the attribute 'hone.arena_bytes'; run hone-place}}
module @arena_is_missing attributes {hone.max_rows = 16 : i64} {
}

// -----

// %z is written while %y is read.
module @buffers_in_use_overlap attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.region "theta" adapter at 0 bytes 64
  hone.block @layer(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    // expected-note @+1 {{the other buffer is of this op}}
    %y = hone.add %x, %x {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 0, last = 1>]} : tensor<?x4xf32>
    // expected-error @+1 {{'hone.add' op shares memory with a buffer in use at the same time}}
    %z = hone.add %y, %y {hone.slots = [#hone.slot<offset = 192, bytes = 256, first = 1, last = 1>]} : tensor<?x4xf32>
    hone.return
  }
  hone.entry @loss(%x: tensor<?x4xf32>) {
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 64, bytes = 512, first = 1, last = 1>} : (tensor<?x4xf32>) -> ()
  }
}

// -----

module @slot_is_too_small attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.region "theta" adapter at 0 bytes 64
  hone.block @layer(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    %y = hone.add %x, %x {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 0, last = 1>]} : tensor<?x4xf32>
    // expected-error @+1 {{'hone.add' op expects a slot of 256 bytes but got 128}}
    %z = hone.add %y, %y {hone.slots = [#hone.slot<offset = 256, bytes = 128, first = 1, last = 1>]} : tensor<?x4xf32>
    hone.return
  }
  hone.entry @loss(%x: tensor<?x4xf32>) {
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 64, bytes = 512, first = 1, last = 1>} : (tensor<?x4xf32>) -> ()
  }
}

// -----

module @slot_leaves_the_scratch attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.region "theta" adapter at 0 bytes 64
  hone.block @layer(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    %y = hone.add %x, %x {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 0, last = 1>]} : tensor<?x4xf32>
    // expected-error @+1 {{'hone.add' op expects an aligned slot between 0 and 512 but got #hone.slot<offset = 320, bytes = 256, first = 1, last = 1>}}
    %z = hone.add %y, %y {hone.slots = [#hone.slot<offset = 320, bytes = 256, first = 1, last = 1>]} : tensor<?x4xf32>
    hone.return
  }
  hone.entry @loss(%x: tensor<?x4xf32>) {
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 64, bytes = 512, first = 1, last = 1>} : (tensor<?x4xf32>) -> ()
  }
}

// -----

module @slot_is_not_aligned attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.region "theta" adapter at 0 bytes 64
  hone.block @layer(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    // expected-error @+1 {{'hone.add' op expects an aligned slot between 0 and 512 but got #hone.slot<offset = 8, bytes = 256, first = 0, last = 1>}}
    %y = hone.add %x, %x {hone.slots = [#hone.slot<offset = 8, bytes = 256, first = 0, last = 1>]} : tensor<?x4xf32>
    %z = hone.add %y, %y {hone.slots = [#hone.slot<offset = 256, bytes = 256, first = 1, last = 1>]} : tensor<?x4xf32>
    hone.return
  }
  hone.entry @loss(%x: tensor<?x4xf32>) {
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 64, bytes = 512, first = 1, last = 1>} : (tensor<?x4xf32>) -> ()
  }
}

// -----

module @slot_is_missing attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.region "theta" adapter at 0 bytes 64
  hone.block @layer(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    %y = hone.add %x, %x {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 0, last = 1>]} : tensor<?x4xf32>
    // expected-error @+1 {{'hone.add' op expects one slot for each result in 'hone.slots'}}
    %z = hone.add %y, %y : tensor<?x4xf32>
    hone.return
  }
  hone.entry @loss(%x: tensor<?x4xf32>) {
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 64, bytes = 512, first = 1, last = 1>} : (tensor<?x4xf32>) -> ()
  }
}

// -----

module @slot_is_no_slot attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.region "theta" adapter at 0 bytes 64
  hone.block @layer(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    %y = hone.add %x, %x {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 0, last = 1>]} : tensor<?x4xf32>
    // expected-error @+1 {{'hone.add' op expects a '#hone.slot' but got unit}}
    %z = hone.add %y, %y {hone.slots = [unit]} : tensor<?x4xf32>
    hone.return
  }
  hone.entry @loss(%x: tensor<?x4xf32>) {
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 64, bytes = 512, first = 1, last = 1>} : (tensor<?x4xf32>) -> ()
  }
}

// -----

module @call_has_no_scratch attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.region "theta" adapter at 0 bytes 64
  hone.block @layer(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    %y = hone.add %x, %x {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 0, last = 1>]} : tensor<?x4xf32>
    %z = hone.add %y, %y {hone.slots = [#hone.slot<offset = 256, bytes = 256, first = 1, last = 1>]} : tensor<?x4xf32>
    hone.return
  }
  hone.entry @loss(%x: tensor<?x4xf32>) {
    // expected-error @+1 {{'hone.call' op expects a '#hone.slot' but got unit}}
    hone.call @layer "" (%x) : (tensor<?x4xf32>) -> ()
  }
}

// -----

module @scratch_overlaps_a_region attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.region "theta" adapter at 0 bytes 64
  hone.block @layer(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    %y = hone.add %x, %x {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 0, last = 1>]} : tensor<?x4xf32>
    %z = hone.add %y, %y {hone.slots = [#hone.slot<offset = 256, bytes = 256, first = 1, last = 1>]} : tensor<?x4xf32>
    hone.return
  }
  hone.entry @loss(%x: tensor<?x4xf32>) {
    // expected-error @+1 {{'hone.call' op expects an aligned slot between 64 and 576 but got #hone.slot<offset = 0, bytes = 512, first = 1, last = 1>}}
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 0, bytes = 512, first = 1, last = 1>} : (tensor<?x4xf32>) -> ()
  }
}

// -----

module @block_is_not_placed attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.region "theta" adapter at 0 bytes 64
    // expected-error @+1 {{'hone.block' op has no 'hone.scratch_bytes'}}
  hone.block @layer(%x: tensor<?x4xf32>) {
    %y = hone.add %x, %x {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 0, last = 1>]} : tensor<?x4xf32>
    %z = hone.add %y, %y {hone.slots = [#hone.slot<offset = 256, bytes = 256, first = 1, last = 1>]} : tensor<?x4xf32>
    hone.return
  }
  hone.entry @loss(%x: tensor<?x4xf32>) {
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 64, bytes = 512, first = 1, last = 1>} : (tensor<?x4xf32>) -> ()
  }
}

// -----

module @regions_overlap attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.region "theta" adapter at 0 bytes 65
  // expected-error @+1 {{'hone.region' op overlaps the region before it}}
  hone.region "gradient" gradient at 64 bytes 65
}

// -----

module @workspace_is_missing attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    // expected-error @+1 {{'hone.lora_parameter_adjoint' op expects 2 slots in 'hone.workspace'}}
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 {hone.slots = [#hone.slot<offset = 0, bytes = 32, first = 2, last = 3>, #hone.slot<offset = 64, bytes = 32, first = 2, last = 4>]} : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
}

// -----

// A linear map reads a whole row for each element that it writes.
module @op_cannot_write_over_its_operand attributes {hone.arena_bytes = 256 : i64, hone.max_rows = 16 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 256 : i64} {
    %w = hone.parameter "w" : tensor<4x4xf32>
    // expected-note @+1 {{the other buffer is of this op}}
    %y = hone.linear %x, %w {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 1, last = 2>]} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    // expected-error @+1 {{'hone.linear' op shares memory with a buffer in use at the same time}}
    %z = hone.linear %y, %w {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 2, last = 2>]} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    hone.return
  }
}

// -----

// A sum may be written over an operand, but not if that is read again.
module @operand_is_read_again attributes {hone.arena_bytes = 512 : i64, hone.max_rows = 16 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    // expected-note @+1 {{the other buffer is of this op}}
    %y = hone.add %x, %x {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 0, last = 2>]} : tensor<?x4xf32>
    // expected-error @+1 {{'hone.add' op shares memory with a buffer in use at the same time}}
    %z = hone.add %y, %y {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 1, last = 2>]} : tensor<?x4xf32>
    %u = hone.add %y, %z {hone.slots = [#hone.slot<offset = 256, bytes = 256, first = 2, last = 2>]} : tensor<?x4xf32>
    hone.return
  }
}

// -----

module @value_is_not_written_over_by_the_result attributes {hone.arena_bytes = 0 : i64, hone.max_rows = 16 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {hone.scratch_bytes = 0 : i64} {
    %w = hone.parameter "w" : tensor<4x4xf32>
    // expected-error @+1 {{'hone.linear' op is not written over by the result #0, whose memory it is in}}
    %y = hone.linear %x, %w {hone.slots = [#hone.result_slot<0>]} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %z = hone.linear %y, %w {hone.slots = [unit]} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    hone.return %z : tensor<?x4xf32>
  }
}

// -----

module @tile_leaves_its_scratch attributes {hone.arena_bytes = 0 : i64, hone.max_rows = 64 : i64} {
  hone.block @mlp(%x: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {hone.scratch_bytes = 1024 : i64} {
    %up = hone.parameter "up" : tensor<8x4xf32>
    %down = hone.parameter "down" : tensor<4x8xf32>
    %y = hone.row_tiles 32 (%x) {hone.scratch = #hone.slot<offset = 0, bytes = 1024, first = 2, last = 2>, hone.slots = [unit]} : (tensor<?x4xf32>) -> tensor<?x4xf32> {
    ^tile(%rows: tensor<?x4xf32>):
      // expected-error @+1 {{'hone.linear' op expects an aligned slot between 0 and 1024 but got #hone.slot<offset = 64, bytes = 1024, first = 0, last = 1>}}
      %0 = hone.linear %rows, %up {hone.slots = [#hone.slot<offset = 64, bytes = 1024, first = 0, last = 1>]} : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
      %1 = hone.linear %0, %down {hone.slots = [unit]} : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
      hone.return %1 : tensor<?x4xf32>
    }
    hone.return %y : tensor<?x4xf32>
  }
}
