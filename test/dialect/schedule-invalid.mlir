// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-convert-to-tiles

// Entries and the items of a step: each constraint is violated once, in a case
// of its name. The conversion is there for the one that only it can check.

// expected-error @+1 {{custom op 'hone.entry' expects a phase but got 'reverse'}}
hone.entry reverse @entry_has_a_known_phase() {
  hone.zero_gradient
}

// -----

hone.block @twice(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = hone.add %x, %x : tensor<?x4xf32>
  hone.return %y : tensor<?x4xf32>
}
hone.entry @return_c1(%x: tensor<?x4xf32>) -> tensor<f64> {
  %y = hone.call @twice "" (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // expected-error @+1 {{'hone.return' op expects operands of the types 'tensor<f64>' that entry 'return_c1' declares, but got 'tensor<?x4xf32>'}}
  hone.return %y : tensor<?x4xf32>
}

// -----

// An entry may leave out the return of nothing, and of nothing else.
// expected-error @+1 {{'hone.return' op expects operands of the types 'tensor<f64>' that entry 'return_c1_left_out' declares, but got}}
hone.entry @return_c1_left_out() -> tensor<f64> {
  hone.zero_gradient
}

// -----

hone.entry @return_c2(%x: tensor<f64>) -> tensor<f64> {
  // expected-error @+1 {{'hone.return' op expects each operand to be a value that the body computes and returns once}}
  hone.return %x : tensor<f64>
}

// -----

hone.entry @return_c2_twice() -> (tensor<1xf64>, tensor<1xf64>) {
  %squares = hone.gradient_squares : tensor<1xf64>
  // expected-error @+1 {{'hone.return' op expects each operand to be a value that the body computes and returns once}}
  hone.return %squares, %squares : tensor<1xf64>, tensor<1xf64>
}

// -----

hone.entry @input_c1() {
  // expected-error @+1 {{'hone.input' op expects a block; an entry takes values as arguments}}
  %x = hone.input "loss_scale" : tensor<f64>
}

// -----

hone.block @vectors_are_of_entries() {
  // expected-error @+1 {{'hone.zero_gradient' op expects parent op 'hone.entry'}}
  hone.zero_gradient
  hone.return
}

// -----

hone.entry @items_are_of_schedules() {
  // expected-error @+1 {{'hone.load' op expects parent op to be one of 'hone.schedule, hone.repeat'}}
  %batch = hone.load
}

// -----

module @schedule_c1 {
  // expected-note @+1 {{the other one is here}}
  hone.schedule train {
    %batch = hone.load
  }
  // expected-error @+1 {{'hone.schedule' op expects one schedule for each purpose, but 'train' has two}}
  hone.schedule train {
    %batch = hone.load
  }
}

// -----

hone.block @run_c1() {
  hone.return
}
hone.schedule train {
  // expected-error @+1 {{'hone.run' op expects 'run_c1' to be a 'hone.entry'}}
  hone.run @run_c1() : () -> ()
}

// -----

// expected-note @+1 {{entry declared here}}
hone.entry @run_c1_type() {
  hone.zero_gradient
}
hone.schedule train {
  // expected-error @+1 {{'hone.run' op expects the type '() -> ()' but got '() -> tensor<f64>'}}
  %x = hone.run @run_c1_type() : () -> tensor<f64>
}

// -----

hone.entry @run_c2() {
  hone.zero_gradient
}
hone.schedule train {
  // expected-error @+1 {{'hone.run' op expects 'else' only with 'when'}}
  hone.run @run_c2() else @run_c2 : () -> ()
}

// -----

hone.entry @run_c2_type() {
  hone.zero_gradient
}
// expected-note @+1 {{entry declared here}}
hone.entry @other(%x: tensor<f64>) {
  hone.zero_gradient
}
hone.schedule train {
  %choice = hone.setting "completed" : tensor<i64>
  // expected-error @+1 {{'hone.run' op expects the type '(tensor<f64>) -> ()' but got '() -> ()'}}
  hone.run @run_c2_type() when %choice else @other : () -> ()
}

// -----

hone.entry @run_c3() -> tensor<1xf64> {
  %squares = hone.gradient_squares : tensor<1xf64>
  hone.return %squares : tensor<1xf64>
}
hone.schedule train {
  %choice = hone.setting "completed" : tensor<i64>
  // expected-error @+1 {{'hone.run' op expects no results of a run that may be skipped}}
  %squares = hone.run @run_c3() when %choice : () -> tensor<1xf64>
}

// -----

hone.entry @run_c4(%x: tensor<?x4xf32>) {
  hone.zero_gradient
}
hone.schedule train {
  %x = hone.receive from "lower" channel "hidden" : tensor<?x4xf32>
  // expected-error @+1 {{'hone.run' op expects 'on' a batch, since its values have rows}}
  hone.run @run_c4(%x) : (tensor<?x4xf32>) -> ()
}

// -----

hone.entry @scalar_c1() {
  hone.zero_gradient
}
hone.schedule train {
  // expected-error @+1 {{'hone.scalar' op expects 'scalar_c1' to be a 'func.func'}}
  hone.scalar @scalar_c1() : () -> ()
}

// -----

// expected-note @+1 {{function declared here}}
func.func private @scalar_c1_type(f64) -> f64
hone.schedule train {
  %count = hone.setting "batches" : tensor<i64>
  // expected-error @+1 {{'hone.scalar' op expects a function of the type '(i64) -> f64' but got '(f64) -> f64'}}
  %x = hone.scalar @scalar_c1_type(%count) : (tensor<i64>) -> tensor<f64>
}

// -----

// A vector is memory that the function writes, after its other arguments.
// expected-note @+1 {{function declared here}}
func.func private @scalar_c1_vector(memref<2xf64>, f64)
hone.schedule train {
  %rate = hone.setting "learning_rate" : tensor<f64>
  // expected-error @+1 {{'hone.scalar' op expects a function of the type '(f64, memref<2xf64>) -> ()' but got '(memref<2xf64>, f64) -> ()'}}
  %x = hone.scalar @scalar_c1_vector(%rate) : (tensor<f64>) -> tensor<2xf64>
}

// -----

module @repeat_c1 {
  hone.schedule train {
    %count = hone.setting "batches" : tensor<i64>
    %rate = hone.setting "learning_rate" : tensor<f64>
    // expected-error @+1 {{'hone.repeat' op expects its carried values, its body's arguments, its yielded values and its results to have the same types}}
    %x = hone.repeat %count carry (%before = %rate) : tensor<f64> {
      hone.yield %count : tensor<i64>
    }
  }
}

// -----

module @repeat_c1_rows {
  hone.schedule train {
    %count = hone.setting "batches" : tensor<i64>
    %hidden = hone.receive from "lower" channel "hidden" : tensor<?x4xf32>
    // expected-error @+1 {{'hone.repeat' op expects carried values without rows}}
    %x = hone.repeat %count carry (%before = %hidden) : tensor<?x4xf32> {
      hone.yield %before : tensor<?x4xf32>
    }
  }
}

// -----

module @repeat_c2 {
  func.func private @zero() -> f64
  hone.schedule train {
    %count = hone.setting "batches" : tensor<i64>
    hone.repeat %count {
      // expected-note @+1 {{made here}}
      %late = hone.scalar @zero() stage 1 : () -> tensor<f64>
      // expected-error @+1 {{'hone.check' op reads at stage 0 a value that is made at stage 1}}
      hone.check %late : tensor<f64>
    }
  }
}

// -----

module @repeat_c2_carried {
  func.func private @next(f64) -> f64
  hone.schedule train {
    %count = hone.setting "batches" : tensor<i64>
    %rate = hone.setting "learning_rate" : tensor<f64>
    %x = hone.repeat %count carry (%before = %rate) : tensor<f64> {
      // expected-error @+1 {{'hone.check' op reads a carried value at stage 0, but it is yielded at stage 1}}
      hone.check %before : tensor<f64>
      %after = hone.scalar @next(%before) stage 1 : (tensor<f64>) -> tensor<f64>
      hone.yield %after : tensor<f64>
    }
  }
}

// -----

module @stages_count_from_zero {
  hone.schedule train {
    %count = hone.setting "batches" : tensor<i64>
    hone.repeat %count {
      // expected-error @+1 {{'hone.load' op expects a stage that is not negative but got -1}}
      %batch = hone.load stage -1
    }
  }
}

// -----

module @reports_are_not_repeated {
  hone.schedule train {
    %count = hone.setting "batches" : tensor<i64>
    %rate = hone.setting "learning_rate" : tensor<f64>
    hone.repeat %count {
      // expected-error @+1 {{'hone.report' op expects parent op 'hone.schedule'}}
      hone.report %rate as "learning_rate" : tensor<f64>
    }
  }
}

// -----

module @send_c1 {
  hone.schedule train {
    %rate = hone.setting "learning_rate" : tensor<f64>
    // expected-error @+1 {{'hone.send' op expects a peer and a channel that are not empty}}
    hone.send %rate to "" channel "rate" : tensor<f64>
  }
}

// -----

module @receive_c1 {
  hone.schedule train {
    // expected-error @+1 {{'hone.receive' op expects a peer and a channel that are not empty}}
    %rate = hone.receive from "lower" channel "" : tensor<f64>
  }
}

// -----

module @send_c2 {
  hone.schedule train {
    %rate = hone.setting "learning_rate" : tensor<f64>
    // expected-error @+1 {{'hone.send' op expects inputs of a batch, and of nothing else}}
    hone.send %rate to "upper" channel "rate" inputs {input_ids = 1 : i64} : tensor<f64>
  }
}

// -----

module @receive_c2 {
  hone.schedule train {
    // expected-error @+1 {{'hone.receive' op expects inputs of a batch, and of nothing else}}
    %rate = hone.receive from "lower" channel "rate" inputs {input_ids = 1 : i64} : tensor<f64>
  }
}

// -----

module @send_c3 {
  hone.schedule train {
    %rate = hone.setting "learning_rate" : tensor<f64>
    // expected-error @+1 {{'hone.send' op expects a value of this step or of one before, but 'behind' is -1}}
    hone.send %rate to "upper" channel "rate" behind -1 : tensor<f64>
  }
}

// -----

module @late_c1 {
  hone.schedule train {
    %slopes = hone.setting "coefficients" : tensor<2xf32>
    // expected-error @+1 {{'hone.late' op expects late values of the types of those of this step}}
    %late, %steps = hone.late %slopes : (tensor<2xf32>) -> (tensor<3xf32>, tensor<i64>)
  }
}

// -----

module @receive_c3 {
  hone.schedule train {
    // expected-error @+1 {{'hone.receive' op expects a value of this step or of one before, but 'behind' is -1}}
    %rate = hone.receive from "lower" channel "rate" behind -1 : tensor<f64>
  }
}

// -----

module @wait_c1 {
  hone.schedule train {
    %rate = hone.setting "learning_rate" : tensor<f64>
    // expected-error @+1 {{'hone.wait' op expects a value that is sent or received before it}}
    hone.wait %rate : tensor<f64>
    hone.send %rate to "upper" channel "rate" : tensor<f64>
  }
}

// -----

module @wait_c1_body {
  hone.schedule train {
    %count = hone.setting "batches" : tensor<i64>
    %rate = hone.receive from "lower" channel "rate" : tensor<f64>
    hone.repeat %count {
      // expected-error @+1 {{'hone.wait' op expects a value that is sent or received before it}}
      hone.wait %rate : tensor<f64>
    }
  }
}

// -----

// Only the conversion knows the table of parameters.
module attributes {hone.max_rows = 16 : i64} {
  hone.entry vector @gradient_squares_c1() -> tensor<2xf64> {
    // expected-error @+1 {{'hone.gradient_squares' op expects one sum for each of 0 trainable parameters}}
    %squares = hone.gradient_squares : tensor<2xf64>
    hone.return %squares : tensor<2xf64>
  }
}

// -----

module attributes {hone.max_rows = 16 : i64} {
  hone.entry vector @parameter_squares_c1() -> tensor<2xf64> {
    // expected-error @+1 {{'hone.parameter_squares' op expects one sum for each of 0 trainable parameters}}
    %squares = hone.parameter_squares : tensor<2xf64>
    hone.return %squares : tensor<2xf64>
  }
}

// -----

hone.entry vector @run_c5() {
  hone.zero_gradient
}
hone.schedule train {
  // expected-error @+1 {{'hone.run' op expects a stage and a lane that are not negative}}
  hone.run @run_c5() lane -1 : () -> ()
}

// -----

module @repeat_c3 {
  hone.schedule train {
    %count = hone.setting "batches" : tensor<i64>
    %rate = hone.setting "learning_rate" : tensor<f64>
    %x:2 = hone.repeat %count carry (%a = %rate, %b = %rate) : tensor<f64>, tensor<f64> {
      // expected-error @+1 {{'hone.yield' op expects no carried value in the place of another}}
      hone.yield %b, %a : tensor<f64>, tensor<f64>
    }
  }
}

// -----

// expected-error @+1 {{expects 'hone.fewer_rows' to be numbers that decrease, from below 'hone.max_rows', on a module, but got array<i64: 8, 8>}}
module attributes {hone.max_rows = 16 : i64, hone.fewer_rows = array<i64: 8, 8>} {
}

// -----

// region (C1)
module attributes {hone.max_rows = 16 : i64} {
  // expected-error @+1 {{expects an offset that is a multiple of 64 and a size that is not negative, but got 96 and 64}}
  hone.region "gradient" gradient at 0 bytes 64 {fewer = array<i64: 96>}
}
