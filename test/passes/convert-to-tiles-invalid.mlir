// RUN: hone-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect --hone-convert-to-tiles

// What has no kernel, or no memory, is named where it stands.

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

module @read_gradient_c1 attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    hone.return
  }
  hone.entry vector @read() -> tensor<9xf32> {
    // expected-error @+1 {{'hone.read_gradient' op expects a value of 8 'f32', as many as are trained}}
    %g = hone.read_gradient : tensor<9xf32>
    hone.return %g : tensor<9xf32>
  }
  hone.entry @loss() {
    hone.call @layer "layers.0." () : () -> ()
  }
}

// -----

module @add_gradient_c1 attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    hone.return
  }
  hone.entry vector @add(%g: tensor<9xf32>) {
    // expected-error @+1 {{'hone.add_gradient' op expects a value of 8 'f32', as many as are trained}}
    hone.add_gradient %g : tensor<9xf32>
  }
  hone.entry @loss() {
    hone.call @layer "layers.0." () : () -> ()
  }
}

// -----

module @result_without_slot attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    hone.return
  }
  hone.region "gradient" gradient at 0 bytes 64
  hone.entry vector @read() -> tensor<8xf32> {
    // expected-error @+1 {{'hone.read_gradient' op expects a slot for each result; run hone-place first}}
    %g = hone.read_gradient : tensor<8xf32>
    hone.return %g : tensor<8xf32>
  }
  hone.entry @loss() {
    hone.call @layer "layers.0." () : () -> ()
  }
}
