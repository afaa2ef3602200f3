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
  hone.entry @loss(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 0, bytes = 512, first = 0, last = 0>} : (tensor<?x4xf32>) -> ()
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
  hone.entry @loss(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 0, bytes = 512, first = 0, last = 0>} : (tensor<?x4xf32>) -> ()
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
  hone.entry @loss(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 0, bytes = 512, first = 0, last = 0>} : (tensor<?x4xf32>) -> ()
  }
}

// -----

// Its end is no number of 64 bits.
module @slot_ends_beyond_all attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.region "theta" adapter at 0 bytes 64
  hone.block @layer(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    // expected-error @+1 {{'hone.add' op expects an aligned slot between 0 and 512 but got #hone.slot<offset = 9223372036854775744, bytes = 256, first = 0, last = 1>}}
    %y = hone.add %x, %x {hone.slots = [#hone.slot<offset = 9223372036854775744, bytes = 256, first = 0, last = 1>]} : tensor<?x4xf32>
    %z = hone.add %y, %y {hone.slots = [#hone.slot<offset = 256, bytes = 256, first = 1, last = 1>]} : tensor<?x4xf32>
    hone.return
  }
  hone.entry @loss(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 0, bytes = 512, first = 0, last = 0>} : (tensor<?x4xf32>) -> ()
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
  hone.entry @loss(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 0, bytes = 512, first = 0, last = 0>} : (tensor<?x4xf32>) -> ()
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
  hone.entry @loss(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 0, bytes = 512, first = 0, last = 0>} : (tensor<?x4xf32>) -> ()
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
  hone.entry @loss(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 0, bytes = 512, first = 0, last = 0>} : (tensor<?x4xf32>) -> ()
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
  hone.entry @loss(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    // expected-error @+1 {{'hone.call' op expects a '#hone.slot' but got unit}}
    hone.call @layer "" (%x) : (tensor<?x4xf32>) -> ()
  }
}

// -----

// Offsets of an entry count from the beginning of its working set.
module @scratch_leaves_the_working_set attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.region "theta" adapter at 0 bytes 64
  hone.block @layer(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    %y = hone.add %x, %x {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 0, last = 1>]} : tensor<?x4xf32>
    %z = hone.add %y, %y {hone.slots = [#hone.slot<offset = 256, bytes = 256, first = 1, last = 1>]} : tensor<?x4xf32>
    hone.return
  }
  hone.entry @loss(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    // expected-error @+1 {{'hone.call' op expects an aligned slot between 0 and 512 but got #hone.slot<offset = 64, bytes = 512, first = 0, last = 0>}}
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 64, bytes = 512, first = 0, last = 0>} : (tensor<?x4xf32>) -> ()
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
  hone.entry @loss(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64} {
    hone.call @layer "" (%x) {hone.scratch = #hone.slot<offset = 0, bytes = 512, first = 0, last = 0>} : (tensor<?x4xf32>) -> ()
  }
}

// -----

module @entry_is_not_placed attributes {hone.arena_bytes = 0 : i64, hone.max_rows = 16 : i64} {
  // expected-error @+1 {{'hone.entry' op has no 'hone.scratch_bytes'}}
  hone.entry @loss() {
    hone.return
  }
}

// -----

module @regions_overlap attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.region "theta" adapter at 0 bytes 65
  // expected-error @+1 {{'hone.region' op overlaps the region before it}}
  hone.region "gradient" gradient at 64 bytes 65
}

// -----

module @region_is_too_long attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  // expected-error @+1 {{'hone.region' op expects to end below 2^63 but has 9223372036854775807 bytes at 0}}
  hone.region "theta" adapter at 0 bytes 9223372036854775807
}

// -----

module @region_ends_too_late attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  // expected-error @+1 {{'hone.region' op expects to end below 2^63 but has 64 bytes at 9223372036854775744}}
  hone.region "theta" adapter at 9223372036854775744 bytes 64
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

// -----

module @run_has_no_working_set attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.entry @work() attributes {hone.scratch_bytes = 512 : i64} {
    hone.return
  }
  hone.schedule train {
    // expected-error @+1 {{'hone.run' op expects a working set of 512 bytes}}
    hone.run @work() : () -> ()
  }
}

// -----

module @working_set_is_too_small attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.entry @work() attributes {hone.scratch_bytes = 512 : i64} {
    hone.return
  }
  hone.schedule train {
    // expected-error @+1 {{'hone.run' op expects a working set of 512 bytes}}
    hone.run @work() {hone.scratch = #hone.slot<offset = 0, bytes = 256, first = 0, last = 0>} : () -> ()
  }
}

// -----

// The other block may need more.
module @working_set_is_too_small_for_else attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.region "scalars" batch at 0 bytes 8
  hone.entry @work() attributes {hone.scratch_bytes = 256 : i64} {
    hone.return
  }
  hone.entry @more() attributes {hone.scratch_bytes = 512 : i64} {
    hone.return
  }
  hone.schedule train {
    %which = hone.setting "completed" {hone.slots = [#hone.slot<offset = 0, bytes = 8, first = 0, last = 1>]} : tensor<i64>
    // expected-error @+1 {{'hone.run' op expects a working set of 512 bytes}}
    hone.run @work() when %which else @more {hone.scratch = #hone.slot<offset = 64, bytes = 256, first = 1, last = 1>} : () -> ()
  }
}

// -----

module @working_set_overlaps_a_region attributes {hone.arena_bytes = 576 : i64, hone.max_rows = 16 : i64} {
  hone.region "theta" adapter at 0 bytes 64
  hone.entry @work() attributes {hone.scratch_bytes = 512 : i64} {
    hone.return
  }
  hone.schedule train {
    // expected-error @+1 {{'hone.run' op expects a slot between 64 and 576 but got 512 bytes at 0}}
    hone.run @work() {hone.scratch = #hone.slot<offset = 0, bytes = 512, first = 0, last = 0>} : () -> ()
  }
}

// -----

module @value_of_a_schedule_has_no_slot attributes {hone.arena_bytes = 64 : i64, hone.max_rows = 16 : i64} {
  hone.region "scalars" batch at 0 bytes 8
  hone.schedule train {
    // expected-error @+1 {{'hone.setting' op expects one slot for each result in 'hone.slots'}}
    %rate = hone.setting "learning_rate" : tensor<f64>
  }
}

// -----

// Scalars live in their region from the first item to the last.
module @scalars_overlap attributes {hone.arena_bytes = 64 : i64, hone.max_rows = 16 : i64} {
  hone.region "scalars" batch at 0 bytes 16
  hone.schedule train {
    // expected-note @+1 {{the other buffer is of this item}}
    %a = hone.setting "beta1" {hone.slots = [#hone.slot<offset = 0, bytes = 8, first = 0, last = 0>]} : tensor<f64>
    // expected-error @+1 {{'hone.setting' op shares memory with a buffer in use at the same time}}
    %b = hone.setting "beta2" {hone.slots = [#hone.slot<offset = 0, bytes = 8, first = 1, last = 1>]} : tensor<f64>
  }
}

// -----

module @scalar_leaves_its_region attributes {hone.arena_bytes = 64 : i64, hone.max_rows = 16 : i64} {
  hone.region "scalars" batch at 0 bytes 8
  hone.schedule train {
    // expected-error @+1 {{'hone.setting' op expects a slot between 0 and 8 but got 8 bytes at 8}}
    %a = hone.setting "beta1" {hone.slots = [#hone.slot<offset = 8, bytes = 8, first = 0, last = 0>]} : tensor<f64>
  }
}

// -----

// Iteration 1 of @make runs before iteration 0 of @read.
module @iterations_share_a_slot attributes {hone.arena_bytes = 1024 : i64, hone.max_rows = 16 : i64} {
  hone.region "scalars" batch at 0 bytes 8
  hone.block @layer() -> tensor<16x4xf32> attributes {hone.scratch_bytes = 0 : i64} {
    %w = hone.parameter "w" : tensor<16x4xf32>
    %y = hone.add %w, %w {hone.slots = [unit]} : tensor<16x4xf32>
    hone.return %y : tensor<16x4xf32>
  }
  hone.entry @make() -> tensor<16x4xf32> attributes {hone.scratch_bytes = 0 : i64} {
    %0 = hone.call @layer "" () {hone.scratch = #hone.slot<offset = 0, bytes = 0, first = 0, last = 0>, hone.slots = [unit]} : () -> tensor<16x4xf32>
    hone.return %0 : tensor<16x4xf32>
  }
  hone.entry @read(%x: tensor<16x4xf32>) attributes {hone.scratch_bytes = 0 : i64} {
    hone.return
  }
  hone.schedule train {
    %count = hone.setting "batches" {hone.slots = [#hone.slot<offset = 0, bytes = 8, first = 0, last = 4>]} : tensor<i64>
    hone.repeat %count {
      // expected-error @+1 {{'hone.run' op expects 2 slots, one for each iteration that holds it, but got 1}}
      %x = hone.run @make() {hone.scratch = #hone.slot<offset = 64, bytes = 0, first = 2, last = 2>, hone.slots = [#hone.slot<offset = 64, bytes = 256, first = 1, last = 4>]} : () -> tensor<16x4xf32>
      hone.run @read(%x) stage 1 {hone.scratch = #hone.slot<offset = 64, bytes = 0, first = 3, last = 3>} : (tensor<16x4xf32>) -> ()
    }
  }
}

// -----

module @lanes_share_a_working_set attributes {hone.arena_bytes = 1024 : i64, hone.max_rows = 16 : i64} {
  hone.region "scalars" batch at 0 bytes 8
  hone.entry @work() attributes {hone.scratch_bytes = 256 : i64} {
    hone.return
  }
  hone.schedule train {
    %count = hone.setting "batches" {hone.slots = [#hone.slot<offset = 0, bytes = 8, first = 0, last = 4>]} : tensor<i64>
    hone.repeat %count {
      // expected-note @+1 {{the other buffer is of this item}}
      hone.run @work() {hone.scratch = #hone.slot<offset = 64, bytes = 256, first = 1, last = 4>} : () -> ()
      // expected-error @+1 {{'hone.run' op shares memory with a buffer in use at the same time}}
      hone.run @work() lane 1 {hone.scratch = #hone.slot<offset = 64, bytes = 256, first = 1, last = 4>} : () -> ()
    }
  }
}

// -----

// A run writes its result while it uses its working set.
module @result_overlaps_the_working_set attributes {hone.arena_bytes = 512 : i64, hone.max_rows = 16 : i64} {
  hone.entry @make() -> tensor<16x4xf32> attributes {hone.scratch_bytes = 256 : i64} {
    %0 = hone.call @layer "" () {hone.scratch = #hone.slot<offset = 0, bytes = 256, first = 0, last = 0>, hone.slots = [unit]} : () -> tensor<16x4xf32>
    hone.return %0 : tensor<16x4xf32>
  }
  hone.block @layer() -> tensor<16x4xf32> attributes {hone.scratch_bytes = 256 : i64} {
    %w = hone.parameter "w" : tensor<16x4xf32>
    %y = hone.add %w, %w {hone.slots = [unit]} : tensor<16x4xf32>
    hone.return %y : tensor<16x4xf32>
  }
  hone.schedule train {
    // expected-note @+2 {{the other buffer is of this item}}
    // expected-error @+1 {{'hone.run' op shares memory with a buffer in use at the same time}}
    %x = hone.run @make() {hone.scratch = #hone.slot<offset = 64, bytes = 256, first = 0, last = 0>, hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 0, last = 0>]} : () -> tensor<16x4xf32>
  }
}

// -----

// The block that stands in needs more than the other.
module @scratch_is_for_one_block_only attributes {hone.arena_bytes = 640 : i64, hone.max_rows = 16 : i64} {
  hone.block @small() attributes {hone.scratch_bytes = 0 : i64} {
    hone.return
  }
  hone.block @large() attributes {hone.scratch_bytes = 512 : i64} {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 1, last = 1>]} : tensor<?x4xf32>
    hone.return
  }
  hone.entry @either(%mask: tensor<1xi32>) attributes {hone.scratch_bytes = 512 : i64} {
    // expected-error @+1 {{'hone.call' op expects a slot of 512 bytes but got 0}}
    hone.call @small "" () when %mask[0] : tensor<1xi32> else @large {hone.scratch = #hone.slot<offset = 0, bytes = 0, first = 0, last = 0>} : () -> ()
  }
}

// -----

// The kept value is read after %y, which lies in the same place.
module @pool_is_in_use_until_the_last_read attributes {hone.arena_bytes = 2048 : i64, hone.max_rows = 16 : i64} {
  hone.block @make() -> tensor<?x4xf32> attributes {hone.scratch_bytes = 0 : i64} {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x {hone.slots = [unit]} : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @read(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 0 : i64} {
    hone.return
  }
  hone.entry @gradient(%slots: tensor<2xi32>) attributes {hone.scratch_bytes = 2048 : i64} {
    // expected-note @+1 {{the other buffer is of this op}}
    %pool = hone.pool {hone.slots = [#hone.slot<offset = 0, bytes = 2048, first = 0, last = 1>]} : tensor<2x?x4xf32>
    %k = hone.kept %pool at %slots[0] : tensor<2x?x4xf32>, tensor<2xi32>
    // expected-error @+1 {{'hone.call' op shares memory with a buffer in use at the same time}}
    %y = hone.call @make "" () {hone.scratch = #hone.slot<offset = 0, bytes = 0, first = 2, last = 2>, hone.slots = [#hone.slot<offset = 256, bytes = 256, first = 2, last = 4>]} : () -> tensor<?x4xf32>
    hone.call @read "" (%k) {hone.scratch = #hone.slot<offset = 0, bytes = 0, first = 3, last = 3>} : (tensor<?x4xf32>) -> ()
    hone.call @read "" (%y) {hone.scratch = #hone.slot<offset = 0, bytes = 0, first = 4, last = 4>} : (tensor<?x4xf32>) -> ()
  }
}

// -----

// It has room for all of its slots.
module @pool_is_too_small attributes {hone.arena_bytes = 2048 : i64, hone.max_rows = 16 : i64} {
  hone.entry @gradient(%slots: tensor<2xi32>) attributes {hone.scratch_bytes = 2048 : i64} {
    // expected-error @+1 {{'hone.pool' op expects a slot of 2048 bytes but got 256}}
    %pool = hone.pool {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 0, last = 0>]} : tensor<2x?x4xf32>
  }
}

// -----

// A call that may run a product cannot overwrite its operands.
module @written_over_what_one_block_reads attributes {hone.arena_bytes = 512 : i64, hone.max_rows = 16 : i64} {
  hone.block @make() -> tensor<?x4xf32> attributes {hone.scratch_bytes = 0 : i64} {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x {hone.slots = [unit]} : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @twice(%x: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {hone.scratch_bytes = 0 : i64} {
    %y = hone.add %x, %x {hone.slots = [unit]} : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @product(%x: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {hone.scratch_bytes = 0 : i64} {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %y = hone.linear %x, %w {hone.slots = [unit]} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.entry @gradient(%mask: tensor<1xi32>) attributes {hone.scratch_bytes = 256 : i64} {
    // expected-note @+1 {{the other buffer is of this op}}
    %x = hone.call @make "" () {hone.scratch = #hone.slot<offset = 0, bytes = 0, first = 0, last = 0>, hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 0, last = 1>]} : () -> tensor<?x4xf32>
    // expected-error @+1 {{'hone.call' op shares memory with a buffer in use at the same time}}
    %y = hone.call @twice "" (%x) when %mask[0] : tensor<1xi32> else @product {hone.scratch = #hone.slot<offset = 0, bytes = 0, first = 1, last = 1>, hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 1, last = 1>]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  }
}

// -----

// Placements for fewer rows are judged alike: here %z has the memory of %y.
module @fewer_rows_overlap attributes {hone.arena_bytes = 576 : i64, hone.fewer_arena_bytes = array<i64: 320>, hone.max_rows = 16 : i64, hone.fewer_rows = array<i64: 8>} {
  hone.region "theta" adapter at 0 bytes 64
  hone.block @layer(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64, hone.fewer_scratch_bytes = array<i64: 256>} {
    // expected-note @+1 {{the other buffer is of this op}}
    %y = hone.add %x, %x {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 0, last = 1, fewer = [0, 128]>]} : tensor<?x4xf32>
    // expected-error @+1 {{'hone.add' op shares memory with a buffer in use at the same time for 8 rows}}
    %z = hone.add %y, %y {hone.slots = [#hone.slot<offset = 256, bytes = 256, first = 1, last = 1, fewer = [64, 128]>]} : tensor<?x4xf32>
    hone.return
  }
}

// -----

module @fewer_rows_too_small attributes {hone.arena_bytes = 576 : i64, hone.fewer_arena_bytes = array<i64: 320>, hone.max_rows = 16 : i64, hone.fewer_rows = array<i64: 8>} {
  hone.block @layer(%x: tensor<?x4xf32>) attributes {hone.scratch_bytes = 512 : i64, hone.fewer_scratch_bytes = array<i64: 256>} {
    // expected-error @+1 {{'hone.add' op expects a slot of 128 bytes for 8 rows but got 64}}
    %y = hone.add %x, %x {hone.slots = [#hone.slot<offset = 0, bytes = 256, first = 0, last = 1, fewer = [0, 64]>]} : tensor<?x4xf32>
    hone.return
  }
}
