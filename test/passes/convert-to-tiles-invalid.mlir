// RUN: hone-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --hone-convert-to-tiles

// An op without a kernel, or without memory, is named where it stands.

module @op_without_kernel attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    // expected-error @+1 {{'other.op' op expects a kernel in passes/kernels but none is known for this op}}
    "other.op"() : () -> ()
    hone.return
  }
}

// -----

module @value_without_slot attributes {hone.max_rows = 16 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    // expected-error @+1 {{'hone.add' op expects a slot for result #0; run hone-place first}}
    %y = hone.add %x, %x : tensor<?x4xf32>
    %z = hone.add %y, %x : tensor<?x4xf32>
    hone.return %z : tensor<?x4xf32>
  }
}

// -----

module @entry_that_computes attributes {hone.max_rows = 16 : i64} {
  hone.entry @loss(%x: tensor<?x4xf32>) {
    // expected-error @+1 {{'hone.add' op expects to stand in a block: an entry calls and computes nothing}}
    %y = hone.add %x, %x : tensor<?x4xf32>
  }
}

// -----

// expected-error @+1 {{expects the attribute 'hone.max_rows'}}
module @rows_are_unknown {
}

// -----

module @result_without_slot attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    hone.return
  }
  hone.region "gradient" gradient at 0 bytes 64
  hone.entry vector @squares() -> tensor<1xf64> {
    // expected-error @+1 {{'hone.gradient_squares' op expects a slot for each result; run hone-place first}}
    %g = hone.gradient_squares : tensor<1xf64>
    hone.return %g : tensor<1xf64>
  }
  hone.entry @loss() {
    hone.call @layer "layers.0." () : () -> ()
  }
}

// -----

module @value_in_no_result attributes {hone.max_rows = 16 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    // expected-error @+1 {{'hone.add' op expects result #0 to be in memory of one of 1 results of its block, but got #hone.result_slot<7>}}
    %y = hone.add %x, %x {hone.slots = [#hone.result_slot<7>]} : tensor<?x4xf32>
    %z = hone.add %y, %x : tensor<?x4xf32>
    hone.return %z : tensor<?x4xf32>
  }
}
