// RUN: hone-opt %s --split-input-file --hone-place | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --split-input-file --hone-place --hone-verify-placement | FileCheck %s --enable-var-scope

// Sizes are for 16 rows of 4 floats: 256 bytes.

// Regions come first, without overlap and aligned to 64 bytes: theta is all
// trainable parameters of all layers (2 x 25 x 4 bytes) and so is its gradient.
// Working sets of runs lie above them.
// CHECK-LABEL: module @regions_come_first
// CHECK-SAME: hone.arena_bytes = 1344 : i64
// CHECK: hone.region "theta" adapter at 0 bytes 200
// CHECK-NEXT: hone.region "gradient" gradient at 256 bytes 200
// CHECK-NEXT: hone.region "input.hidden" batch at 512 bytes 256
// CHECK-NEXT: hone.region "scalars" batch at 768 bytes 8
// CHECK-NOT: hone.region
// CHECK: hone.run @loss{{.*}}hone.scratch = #hone.slot<offset = 832, bytes = 512,
module @regions_come_first attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    %a = hone.parameter "a" trainable init <zero> : tensor<5x5xf32>
    hone.return
  }
  hone.block @make() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @read(%x: tensor<?x4xf32>) {
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return
  }
  hone.entry @loss() {
    hone.call @layer "layers.0." () : () -> ()
    hone.call @layer "layers.1." () : () -> ()
    %x = hone.call @make "" () : () -> tensor<?x4xf32>
    hone.call @read "" (%x) : (tensor<?x4xf32>) -> ()
  }
  hone.entry update @update(%s: tensor<f64>) {
    hone.sgd %s, %s, %s
  }
  hone.schedule train {
    %rate = hone.setting "learning_rate" : tensor<f64>
    %batch = hone.load
    hone.run @loss() on %batch : () -> ()
    hone.run @update(%rate) : (tensor<f64>) -> ()
  }
}

// -----

// A module that never makes or reads a gradient has no memory for one.
// CHECK-LABEL: module @without_gradient
// CHECK: hone.region "theta" adapter
// CHECK-NOT: hone.region "gradient"
module @without_gradient attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    %a = hone.parameter "a" trainable init <zero> : tensor<5x5xf32>
    hone.return
  }
  hone.entry @loss() {
    hone.call @layer "layers.0." () : () -> ()
  }
}

// -----

// Of a table the gradient is added to the region alone: the block has no memory
// for a second one, of 36 floats here and a vocabulary's in a model.
// CHECK-LABEL: module @gradient_of_a_table
// CHECK: hone.region "gradient" gradient at {{.*}} bytes 144
// CHECK: hone.block @embed() {{.*}}hone.scratch_bytes = 0
module @gradient_of_a_table attributes {hone.max_rows = 16 : i64} {
  hone.block @embed() {
    %dy = hone.input "dy" : tensor<?x4xf32>
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "table" trainable init <pretrained> : tensor<9x4xf32>
    %dt = hone.embedding_parameter_adjoint %dy, %ids : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<9x4xf32>
    hone.gradient %dt of "table" : tensor<9x4xf32>
    hone.return
  }
  hone.entry gradient @gradient() {
    hone.call @embed "" () : () -> ()
  }
}

// -----

// SGD remembers nothing.
// CHECK-LABEL: module @sgd_has_no_state
// CHECK: hone.region "gradient" gradient
// CHECK-NOT: optimizer
module @sgd_has_no_state attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    %a = hone.parameter "a" trainable init <zero> : tensor<5x5xf32>
    hone.return
  }
  hone.entry @loss() {
    hone.call @layer "layers.0." () : () -> ()
    hone.call @layer "layers.1." () : () -> ()
  }
  hone.entry update @update(%g: tensor<f64>) {
    hone.sgd %g, %g, %g
  }
}

// -----

// Momentum is one vector of the length of theta.
// CHECK-LABEL: module @momentum_is_one_state
// CHECK: hone.region "gradient" gradient
// CHECK-NEXT: hone.region "state0" optimizer at 512 bytes 200
// CHECK-NOT: optimizer
module @momentum_is_one_state attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    %a = hone.parameter "a" trainable init <zero> : tensor<5x5xf32>
    hone.return
  }
  hone.entry @loss() {
    hone.call @layer "layers.0." () : () -> ()
    hone.call @layer "layers.1." () : () -> ()
  }
  hone.entry update @update(%g: tensor<f64>) {
    hone.sgd %g, %g, %g momentum %g
  }
}

// -----

// AdamW remembers two moments, each of the length of theta.
// CHECK-LABEL: module @adamw_has_two_states
// CHECK: hone.region "gradient" gradient
// CHECK-NEXT: hone.region "state0" optimizer at 512 bytes 200
// CHECK-NEXT: hone.region "state1" optimizer at 768 bytes 200
// CHECK-NOT: optimizer
module @adamw_has_two_states attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    %a = hone.parameter "a" trainable init <zero> : tensor<5x5xf32>
    hone.return
  }
  hone.entry @loss() {
    hone.call @layer "layers.0." () : () -> ()
    hone.call @layer "layers.1." () : () -> ()
  }
  hone.entry update @update(%g: tensor<f64>) {
    hone.adamw %g, %g, %g, %g, %g, %g, %g, %g
  }
}

// -----

// Bytes are as long as theta; each tensor of 300 elements has two blocks.
// CHECK-LABEL: module @blocks_begin_at_tensors
// CHECK: hone.region "gradient" gradient at 2432 bytes 2400
// CHECK-NEXT: hone.region "state0.codes" optimizer at 4864 bytes 600 of i8
// CHECK-NEXT: hone.region "state1.codes" optimizer at 5504 bytes 600 of i8
// CHECK-NEXT: hone.region "state0.largest" optimizer at 6144 bytes 16 of f32
// CHECK-NEXT: hone.region "state1.largest" optimizer at 6208 bytes 16 of f32
// CHECK-NOT: optimizer
module @blocks_begin_at_tensors attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    %a = hone.parameter "a" trainable init <zero> : tensor<30x10xf32>
    hone.return
  }
  hone.entry @loss() {
    hone.call @layer "layers.0." () : () -> ()
    hone.call @layer "layers.1." () : () -> ()
  }
  hone.entry update @update(%g: tensor<f64>) {
    hone.adamw_coded %g, %g, %g, %g, %g, %g, %g, %g
  }
}

// -----

// Updates of some layers each have a place for the state of any of them.
// CHECK-LABEL: module @slots_of_several_optimizers
// CHECK: hone.region "gradient" gradient
// CHECK-NEXT: hone.region "state0" optimizer at 512 bytes 200 of f32
// CHECK-NEXT: hone.region "state0.bfloat16" optimizer at 768 bytes 100 of bf16
// CHECK-NOT: optimizer
module @slots_of_several_optimizers attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    %a = hone.parameter "a" trainable init <zero> : tensor<5x5xf32>
    hone.return
  }
  hone.entry @loss() {
    hone.call @layer "layers.0." () : () -> ()
    hone.call @layer "layers.1." () : () -> ()
  }
  hone.entry update @update(%g: tensor<f64>, %k: tensor<4xi32>) {
    hone.sgd %g, %g, %g momentum %g on ["layers.0."]
    hone.lion %g, %g, %g, %g, %g in_bfloat16 round %k on ["layers.1."]
  }
}

// -----

// An update's working values have memory, and are no state of a checkpoint,
// which has an element type.
// CHECK-LABEL: module @slots_of_tensors
// CHECK: hone.region "state1.rows" optimizer at {{[0-9]+}} bytes 48 of f32
// CHECK-NEXT: hone.region "state1.columns" optimizer at {{[0-9]+}} bytes 56 of f32
// CHECK-NEXT: hone.region "scales.rows" optimizer at {{[0-9]+}} bytes 96{{$}}
// CHECK-NEXT: hone.region "scales.columns" optimizer at {{[0-9]+}} bytes 112{{$}}
// CHECK-NEXT: hone.region "squares.columns" optimizer at {{[0-9]+}} bytes 112{{$}}
module @slots_of_tensors attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    %a = hone.parameter "a" trainable init <zero> : tensor<5x3xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4xf32>
    hone.return
  }
  hone.entry @loss() {
    hone.call @layer "layers.0." () : () -> ()
    hone.call @layer "layers.1." () : () -> ()
  }
  hone.entry update @update(%g: tensor<f64>) {
    hone.adafactor %g, %g, %g, %g, %g, %g on ["layers.0."]
    hone.sinkgd %g, %g, %g on ["layers.1."]
  }
}

// -----

// Scratch of layers that run one after the other is the same memory: the arena
// does not grow with depth.
// CHECK-LABEL: module @layers_share_scratch
// CHECK: hone.block @layer(
// CHECK-SAME: hone.scratch_bytes = 256 : i64
// CHECK: hone.call @layer "layers.0."{{.*}}hone.scratch = #hone.slot<offset = [[AT:[0-9]+]], bytes = 256, first = 0, last = 0>
// CHECK: hone.call @layer "layers.1."{{.*}}hone.scratch = #hone.slot<offset = [[AT]], bytes = 256, first = 1, last = 1>
// CHECK: hone.call @layer "layers.2."{{.*}}hone.scratch = #hone.slot<offset = [[AT]], bytes = 256, first = 2, last = 2>
module @layers_share_scratch attributes {hone.max_rows = 16 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) {
    %y = hone.add %x, %x : tensor<?x4xf32>
    %z = hone.add %y, %y : tensor<?x4xf32>
    %u = hone.add %z, %z : tensor<?x4xf32>
    hone.return
  }
  hone.entry @loss(%x: tensor<?x4xf32>) {
    hone.call @layer "layers.0." (%x) : (tensor<?x4xf32>) -> ()
    hone.call @layer "layers.1." (%x) : (tensor<?x4xf32>) -> ()
    hone.call @layer "layers.2." (%x) : (tensor<?x4xf32>) -> ()
  }
}

// -----

// Within a block a buffer is reused as soon as nothing reads it, and never
// while it is read: %y and %z are in use together, %u takes the place of %y.
// CHECK-LABEL: module @dead_buffer_is_reused
// CHECK: hone.linear {{.*}}#hone.slot<offset = [[Y:[0-9]+]], bytes = 256, first = 1, last = 2>
// CHECK: hone.linear {{.*}}#hone.slot<offset = [[Z:[0-9]+]], bytes = 256, first = 2, last = 3>
// CHECK: hone.linear {{.*}}#hone.slot<offset = [[Y]], bytes = 256, first = 3, last = 3>
module @dead_buffer_is_reused attributes {hone.max_rows = 16 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %z = hone.linear %y, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %u = hone.linear %z, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    hone.return
  }
}

// -----

// An op that reads an element before it writes it takes the memory of an
// operand that dies there. %y is read by both sums, so %z may not take it.
// CHECK-LABEL: module @dying_operand_is_written_over
// CHECK: hone.scratch_bytes = 512 : i64
// CHECK: hone.linear {{.*}}#hone.slot<offset = [[Y:[0-9]+]], bytes = 256, first = 1, last = 3>
// CHECK: hone.add {{.*}}#hone.slot<offset = [[Z:[0-9]+]], bytes = 256, first = 2, last = 3>
// CHECK: hone.add {{.*}}#hone.slot<offset = [[Z]], bytes = 256, first = 3, last = 3>
module @dying_operand_is_written_over attributes {hone.max_rows = 16 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %z = hone.add %x, %y : tensor<?x4xf32>
    %u = hone.add %z, %y : tensor<?x4xf32>
    hone.return
  }
}

// -----

// Each result takes another operand.
// CHECK-LABEL: module @two_results_over_two_operands
// CHECK: hone.linear {{.*}}hone.slots = [#hone.slot<offset = [[G:[0-9]+]],
// CHECK: hone.linear {{.*}}hone.slots = [#hone.slot<offset = [[U:[0-9]+]],
// CHECK: hone.gated_activation_adjoint {{.*}}hone.slots = [#hone.slot<offset = [[G]], {{.*}} #hone.slot<offset = [[U]],
module @two_results_over_two_operands attributes {hone.max_rows = 16 : i64} {
  hone.block @layer(%d: tensor<?x4xf32>) {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %g = hone.linear %d, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %u = hone.linear %g, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %dg, %du = hone.gated_activation_adjoint silu %d, %g, %u : tensor<?x4xf32>
    hone.return
  }
}

// -----

// A value that a returned one overwrites is in the caller's memory too.
// CHECK-LABEL: module @memory_of_the_caller_is_used_early
// CHECK: hone.scratch_bytes = 0 : i64
// CHECK: hone.linear {{.*}}hone.slots = [#hone.result_slot<0>]
// CHECK: hone.rms_norm {{.*}}hone.slots = [unit]
module @memory_of_the_caller_is_used_early attributes {hone.max_rows = 16 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %n = hone.parameter "norm.weight" : tensor<4xf32>
    %w = hone.parameter "w" : tensor<4x4xf32>
    %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %z = hone.rms_norm %y, %n eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    hone.return %z : tensor<?x4xf32>
  }
}

// -----

// A call may write a result over an operand if its block reads the operand no
// more when it begins to write the result. @late does; @early writes before it
// reads, so its result needs memory of its own.
// CHECK-LABEL: module @call_writes_over_an_operand
// CHECK: hone.call @start {{.*}}hone.slots = [#hone.slot<offset = [[X:[0-9]+]],
// CHECK: hone.call @late {{.*}}hone.slots = [#hone.slot<offset = [[X]],
// CHECK: hone.call @early {{.*}}hone.slots = [#hone.slot<offset = [[Z:[0-9]+]],
// CHECK: hone.call @late {{.*}}hone.slots = [#hone.slot<offset = [[Z]],
module @call_writes_over_an_operand attributes {hone.max_rows = 16 : i64} {
  hone.block @start() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @late(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %z = hone.add %x, %y : tensor<?x4xf32>
    hone.return %z : tensor<?x4xf32>
  }
  hone.block @early(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.entry @loss() {
    %0 = hone.call @start "" () : () -> tensor<?x4xf32>
    %1 = hone.call @late "" (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @early "" (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = hone.call @late "" (%2) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  }
}

// -----

// The body of row tiles is placed for the rows of one tile: 32 x 8 floats in
// 1024 bytes of scratch, which lie beside the values in use outside.
// CHECK-LABEL: module @tiles_are_placed_for_their_rows
// CHECK: hone.scratch_bytes = 1024 : i64
// CHECK: hone.row_tiles 32{{.*}}hone.scratch = #hone.slot<offset = 0, bytes = 1024, first = 2, last = 2>, hone.slots = [unit]
// CHECK: hone.linear {{.*}}hone.slots = [#hone.slot<offset = 0, bytes = 1024, first = 0, last = 1>]
// CHECK: hone.linear {{.*}}hone.slots = [unit]
module @tiles_are_placed_for_their_rows attributes {hone.max_rows = 256 : i64} {
  hone.block @mlp(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %up = hone.parameter "up" : tensor<8x4xf32>
    %down = hone.parameter "down" : tensor<4x8xf32>
    %y = hone.row_tiles 32 (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
    ^tile(%rows: tensor<?x4xf32>):
      %0 = hone.linear %rows, %up : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
      %1 = hone.linear %0, %down : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
      hone.return %1 : tensor<?x4xf32>
    }
    hone.return %y : tensor<?x4xf32>
  }
}

// -----

// A block's results are in its caller's memory: the block has no slot for them.
// CHECK-LABEL: module @result_is_memory_of_the_caller
// CHECK: hone.block @layer({{.*}}hone.scratch_bytes = 0 : i64
// CHECK-NEXT: hone.add {{.*}}hone.slots = [unit]
// CHECK: hone.call @layer {{.*}}hone.slots = [#hone.slot<offset = {{[0-9]+}}, bytes = 256,
module @result_is_memory_of_the_caller attributes {hone.max_rows = 16 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.entry @loss(%x: tensor<?x4xf32>) {
    %y = hone.call @layer "" (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  }
}

// -----

// A workspace lives while its op runs and has a slot for each of its buffers.
// CHECK-LABEL: module @workspace_has_slots
// CHECK: hone.lora_parameter_adjoint {{.*}}hone.workspace = [#hone.slot<offset = [[U:[0-9]+]], bytes = 128, first = 2, last = 2>, #hone.slot<offset = {{[0-9]+}}, bytes = 128, first = 2, last = 2>]
module @workspace_has_slots attributes {hone.max_rows = 16 : i64} {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
}

// -----

// An entry's results are in the memory of the schedule that runs it, and so are
// the values that they overwrite.
// CHECK-LABEL: module @result_is_memory_of_the_schedule
// CHECK: hone.entry @loss(){{.*}}hone.scratch_bytes = 0 : i64
// CHECK: hone.call @start {{.*}}hone.slots = [#hone.result_slot<0>]
// CHECK: hone.call @late {{.*}}hone.slots = [unit]
// CHECK: hone.run @loss{{.*}}hone.slots = [#hone.slot<offset = {{[0-9]+}}, bytes = 256,
module @result_is_memory_of_the_schedule attributes {hone.max_rows = 16 : i64} {
  hone.block @start() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @late(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %z = hone.add %x, %x : tensor<?x4xf32>
    hone.return %z : tensor<?x4xf32>
  }
  hone.entry @loss() -> tensor<?x4xf32> {
    %0 = hone.call @start "" () : () -> tensor<?x4xf32>
    %1 = hone.call @late "" (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    hone.return %1 : tensor<?x4xf32>
  }
  hone.schedule train {
    %batch = hone.load
    %0 = hone.run @loss() on %batch : () -> tensor<?x4xf32>
  }
}

// -----

// Without a schedule each entry runs for itself: the arena holds the largest
// working set, and not their sum.
// CHECK-LABEL: module @entries_share_memory
// CHECK-SAME: hone.arena_bytes = 768 : i64
// CHECK: hone.region "input.hidden" batch at 0 bytes 256
// CHECK: hone.entry @first(){{.*}}hone.scratch_bytes = 256 : i64
// CHECK: hone.call @layer {{.*}}hone.scratch = #hone.slot<offset = 0, bytes = 256,
// CHECK: hone.entry @second(){{.*}}hone.scratch_bytes = 512 : i64
// CHECK: hone.call @layers {{.*}}hone.scratch = #hone.slot<offset = 0, bytes = 512,
module @entries_share_memory attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return
  }
  hone.block @layers() {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    %z = hone.add %x, %x : tensor<?x4xf32>
    %u = hone.add %y, %z : tensor<?x4xf32>
    hone.return
  }
  hone.entry @first() {
    hone.call @layer "" () : () -> ()
  }
  hone.entry @second() {
    hone.call @layers "" () : () -> ()
  }
}

// -----

// Two schedules never run at the same time, so their runs begin at the same
// offset.
// CHECK-LABEL: module @schedules_share_memory
// CHECK: hone.schedule train
// CHECK: hone.run {{.*}}hone.scratch = #hone.slot<offset = [[AT:[0-9]+]], bytes = 256,
// CHECK: hone.schedule evaluate
// CHECK: hone.run {{.*}}hone.scratch = #hone.slot<offset = [[AT]], bytes = 256,
module @schedules_share_memory attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return
  }
  hone.entry @loss() {
    hone.call @layer "" () : () -> ()
  }
  hone.schedule train {
    %batch = hone.load
    hone.run @loss() on %batch : () -> ()
  }
  hone.schedule evaluate {
    %batch = hone.load
    hone.run @loss() on %batch : () -> ()
  }
}

// -----

// A layer's gradients have memory from before its sinks until its update, which
// layers share; all gradients stand after the arena.
// CHECK-LABEL: module @layers_share_gradients
// CHECK-SAME: hone.arena_bytes = 384 : i64
// CHECK: hone.region "theta" adapter at 0 bytes 200
// CHECK-NEXT: hone.region "gradient" gradient at 384 bytes 200
// CHECK-LABEL: hone.entry gradient @step
// CHECK: hone.layer_gradient "layers.0." {hone.slots = [#hone.slot<offset = [[AT:[0-9]+]], bytes = 100, first = 0, last = 2>]}
// CHECK: hone.layer_gradient "layers.1." {hone.slots = [#hone.slot<offset = [[AT]], bytes = 100, first = 3, last = 5>]}
module @layers_share_gradients attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    %a = hone.parameter "a" trainable init <zero> : tensor<5x5xf32>
    hone.return
  }
  hone.entry gradient @step(%s: tensor<f64>) {
    %0 = hone.layer_gradient "layers.0." : tensor<25xf32>
    hone.call @layer "layers.0." () : () -> ()
    hone.sgd %s, %s, %s from %0 : tensor<25xf32>
    %1 = hone.layer_gradient "layers.1." : tensor<25xf32>
    hone.call @layer "layers.1." () : () -> ()
    hone.sgd %s, %s, %s from %1 : tensor<25xf32>
  }
}

// -----

// For parameters stored as bfloat16 theta has half the bytes of the gradient
// and the state (25 elements).
// CHECK-LABEL: module @stored_theta_is_small
// CHECK: hone.region "theta" adapter at 0 bytes 50
// CHECK-NEXT: hone.region "gradient" gradient at 64 bytes 100
// CHECK-NEXT: hone.region "state0" optimizer at 192 bytes 100
module @stored_theta_is_small attributes {hone.max_rows = 16 : i64} {
  hone.block @layer() {
    %a = hone.parameter "a" trainable init <zero> stored <bfloat16> : tensor<5x5xf32>
    hone.return
  }
  hone.entry @loss() {
    hone.call @layer "layers.0." () : () -> ()
  }
  hone.entry update @update(%s: tensor<f64>, %k: tensor<4xi32>) {
    hone.sgd %s, %s, %s momentum %s round %k
  }
}

// -----

// The A of row lengths is read where it is, unless each reading would unpack it
// or make its random numbers again.
// CHECK-LABEL: module @lengths_read_a_in_place
// CHECK: hone.row_lengths {{[^{]*}} {hone.slots = [{{[^]]*}}]} :
// CHECK: hone.row_lengths {{.*}} hone.workspace = [#hone.slot<offset = {{[0-9]+}}, bytes = 256, {{.*}}>]
module @lengths_read_a_in_place attributes {hone.max_rows = 16 : i64} {
  hone.block @make(%x: tensor<?x32xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" : tensor<4x32xf32>
    %a = hone.parameter "a" trainable init <kaiming_uniform> stored <bfloat16> : tensor<2x32xf32>
    %b = hone.parameter "b" trainable init <zero> stored <bfloat16> : tensor<4x2xf32>
    %m = hone.parameter "m" trainable init <row_lengths> stored <bfloat16> : tensor<4xf32>
    %n = hone.row_lengths %w, %a, %b scale 2.0 : (tensor<4x32xf32>, tensor<2x32xf32>, tensor<4x2xf32>) -> tensor<4xf32>
    %packed = hone.parameter "packed" stored <int4, group = 32> : tensor<2x32xf32>
    %n2 = hone.row_lengths %w, %packed, %b scale 2.0 : (tensor<4x32xf32>, tensor<2x32xf32>, tensor<4x2xf32>) -> tensor<4xf32>
    %y = hone.linear %x, %w : (tensor<?x32xf32>, tensor<4x32xf32>) -> tensor<?x4xf32>
    %y1 = hone.rescale %y, %m, %n : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %y2 = hone.rescale %y1, %m, %n2 : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    hone.return %y2 : tensor<?x4xf32>
  }
  hone.entry @loss() {
    %x = hone.call @given "" () : () -> tensor<?x32xf32>
    %y = hone.call @make "" (%x) : (tensor<?x32xf32>) -> tensor<?x4xf32>
  }
  hone.block @given() -> tensor<?x32xf32> {
    %x = hone.input "hidden" : tensor<?x32xf32>
    %y = hone.add %x, %x : tensor<?x32xf32>
    hone.return %y : tensor<?x32xf32>
  }
  hone.schedule train {
    %batch = hone.load
    hone.run @loss() on %batch : () -> ()
  }
}

// -----

// Statistics of rows of two features have the type of the rows, which are read
// again after they have been written: they take no memory from them.
// CHECK-LABEL: module @statistics_are_written_over_nothing
// CHECK: hone.call @start {{.*}} hone.slots = [#hone.slot<
// CHECK: hone.call @norm {{.*}} hone.slots = [unit, #hone.result_slot<1>]
module @statistics_are_written_over_nothing attributes {hone.max_rows = 16 : i64} {
  hone.block @start() -> tensor<?x2xf32> {
    %x = hone.input "hidden" : tensor<?x2xf32>
    %y = hone.add %x, %x : tensor<?x2xf32>
    hone.return %y : tensor<?x2xf32>
  }
  // The first result could take the memory of %z, so it leaves %x alone.
  hone.block @norm(%x: tensor<?x2xf32>, %z: tensor<?x2xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
    %w = hone.parameter "norm.weight" : tensor<2xf32>
    %b = hone.parameter "norm.bias" : tensor<2xf32>
    %y, %s = hone.layer_norm %x, %w, %b eps 1.0e-5 : (tensor<?x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>)
    hone.return %y, %s : tensor<?x2xf32>, tensor<?x2xf32>
  }
  hone.block @twice(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {
    %y = hone.add %x, %x : tensor<?x2xf32>
    hone.return %y : tensor<?x2xf32>
  }
  hone.entry @run(%z: tensor<?x2xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
    %x = hone.call @start "" () : () -> tensor<?x2xf32>
    %y, %s = hone.call @norm "layers.0." (%x, %z) : (tensor<?x2xf32>, tensor<?x2xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>)
    %t = hone.call @twice "" (%s) : (tensor<?x2xf32>) -> tensor<?x2xf32>
    hone.return %y, %t : tensor<?x2xf32>, tensor<?x2xf32>
  }
}
