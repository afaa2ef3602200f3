// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-place

// Missing conditions of placement.

// expected-error @+1 {{expects the attribute 'hone.max_rows'}}
module @rows_are_unknown {
}

// -----

// Its regions would be there twice.
// expected-error @+1 {{expects no 'hone.arena_bytes': it is placed already}}
module @placed_already attributes {hone.arena_bytes = 64 : i64, hone.max_rows = 16 : i64} {
  hone.region "theta" adapter at 0 bytes 64
}

// -----

module @input_of_two_types attributes {hone.max_rows = 16 : i64} {
  hone.block @first() {
    %x = hone.input "hidden" : tensor<?x4xf32>
    hone.return
  }
  hone.block @second() {
    // expected-error @+1 {{'hone.input' op expects the input to have one type, but it is 'tensor<?x4xf32>' elsewhere}}
    %x = hone.input "hidden" : tensor<?x8xf32>
    hone.return
  }
}

// -----

// Trainable parameters are slices of one vector.
module @trainables_of_two_types attributes {hone.max_rows = 16 : i64} {
  hone.block @first() {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    // expected-error @+1 {{'hone.parameter' op expects trainable parameters to have one element type and storage, since they are one vector, but 'b' is trainable 'tensor<2x4xf64>' and 'a' is trainable 'tensor<2x4xf32>'}}
    %b = hone.parameter "b" trainable init <zero> : tensor<2x4xf64>
    hone.return
  }
  hone.entry @loss() {
    hone.call @first "" () : () -> ()
  }
}
