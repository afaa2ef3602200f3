// RUN: hone-opt %s --split-input-file --hone-place --hone-verify-placement | FileCheck %s --enable-var-scope

// Memory for values that cross from item to item. Sizes are for 16 rows of 4
// floats: 256 bytes.

// In a tick stage 0 makes the value that stage 1 reads a tick later: two
// iterations hold it at once. A value that is read in its own stage is held by
// one.
// CHECK-LABEL: module @value_crosses_a_stage
// CHECK: hone.repeat
// CHECK: %[[CROSSES:.*]] = hone.run @make({{.*}}hone.slots = [#hone.slot<offset = {{[0-9]+}}, bytes = 256, first = {{[0-9]+}}, last = {{[0-9]+}}, count = 2>]
// CHECK-NEXT: %[[STAYS:.*]] = hone.run @make({{.*}}hone.slots = [#hone.slot<offset = {{[0-9]+}}, bytes = 256, first = {{[0-9]+}}, last = {{[0-9]+}}>]
// CHECK-NEXT: hone.run @read(%[[STAYS]])
// CHECK-NEXT: hone.run @read(%[[CROSSES]]) {{.*}}stage 1
module @value_crosses_a_stage attributes {hone.max_rows = 16 : i64} {
  hone.block @layer.make() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @layer.read(%x: tensor<?x4xf32>) {
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return
  }
  hone.entry @make() -> tensor<?x4xf32> {
    %0 = hone.call @layer.make "" () : () -> tensor<?x4xf32>
    hone.return %0 : tensor<?x4xf32>
  }
  hone.entry @read(%x: tensor<?x4xf32>) {
    hone.call @layer.read "" (%x) : (tensor<?x4xf32>) -> ()
  }
  hone.schedule train {
    %batches = hone.setting "batches" : tensor<i64>
    hone.repeat %batches {
      %batch = hone.load
      %crosses = hone.run @make() on %batch : () -> tensor<?x4xf32>
      %stays = hone.run @make() on %batch : () -> tensor<?x4xf32>
      hone.run @read(%stays) on %batch : (tensor<?x4xf32>) -> ()
      hone.run @read(%crosses) on %batch stage 1 : (tensor<?x4xf32>) -> ()
    }
  }
}

// -----

// A batch that stages 0 to 2 read is held by three iterations; the next memory
// stands after all three.
// CHECK-LABEL: module @batch_is_read_at_three_stages
// CHECK: hone.region "input.hidden" batch at 0 bytes 256
// CHECK-NEXT: hone.region "scalars" batch at 768
// CHECK: hone.load {hone.slots = [#hone.slot<offset = 0, bytes = 256, {{.*}}count = 3>]}
module @batch_is_read_at_three_stages attributes {hone.max_rows = 16 : i64} {
  hone.block @layer.read() {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return
  }
  hone.entry @read() {
    hone.call @layer.read "" () : () -> ()
  }
  hone.schedule train {
    %batches = hone.setting "batches" : tensor<i64>
    hone.repeat %batches {
      %batch = hone.load
      hone.run @read() on %batch : () -> ()
      hone.run @read() on %batch stage 1 : () -> ()
      hone.run @read() on %batch stage 2 : () -> ()
    }
  }
}

// -----

// Lanes run at the same time, so each has a working set of its own, which the
// runs of the lane share.
// CHECK-LABEL: module @lanes_have_working_sets
// CHECK: hone.run @read() {{.*}}hone.scratch = #hone.slot<offset = [[#ZERO:]], bytes = 256,
// CHECK-NEXT: hone.run @read() {{.*}}lane 1 {{.*}}hone.scratch = #hone.slot<offset = [[#ZERO+256]], bytes = 256,
// CHECK-NEXT: hone.run @read() {{.*}}hone.scratch = #hone.slot<offset = [[#ZERO]], bytes = 256,
module @lanes_have_working_sets attributes {hone.max_rows = 16 : i64} {
  hone.block @layer.read() {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return
  }
  hone.entry @read() {
    hone.call @layer.read "" () : () -> ()
  }
  hone.schedule train {
    %batches = hone.setting "batches" : tensor<i64>
    hone.repeat %batches {
      %batch = hone.load
      hone.run @read() on %batch : () -> ()
      hone.run @read() on %batch lane 1 : () -> ()
      hone.run @read() on %batch : () -> ()
    }
  }
}

// -----

// The working set of a lane is as large as that of its largest run.
// CHECK-LABEL: module @lane_holds_its_largest_run
// CHECK: hone.run @small() {{.*}}hone.scratch = #hone.slot<offset = [[AT:[0-9]+]], bytes = 512,
// CHECK-NEXT: hone.run @large() {{.*}}hone.scratch = #hone.slot<offset = [[AT]], bytes = 512,
// CHECK-NEXT: hone.run @small() {{.*}}lane 1 {{.*}}hone.scratch = #hone.slot<{{.*}} bytes = 256,
module @lane_holds_its_largest_run attributes {hone.max_rows = 16 : i64} {
  hone.block @layer.small() {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return
  }
  hone.block @layer.large() {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    %z = hone.add %x, %x : tensor<?x4xf32>
    %u = hone.add %y, %z : tensor<?x4xf32>
    hone.return
  }
  hone.entry @small() {
    hone.call @layer.small "" () : () -> ()
  }
  hone.entry @large() {
    hone.call @layer.large "" () : () -> ()
  }
  hone.schedule train {
    %batches = hone.setting "batches" : tensor<i64>
    hone.repeat %batches {
      %batch = hone.load
      hone.run @small() on %batch : () -> ()
      hone.run @large() on %batch : () -> ()
      hone.run @small() on %batch lane 1 : () -> ()
    }
  }
}

// -----

// Outside of repeats one run ends before the next begins: their working sets are
// the same memory, and the arena has room for one.
// CHECK-LABEL: module @runs_share_working_sets
// CHECK-SAME: hone.arena_bytes = 512 : i64
// CHECK: hone.run @read() {{.*}}hone.scratch = #hone.slot<offset = [[AT:[0-9]+]], bytes = 256,
// CHECK-NEXT: hone.run @read() {{.*}}hone.scratch = #hone.slot<offset = [[AT]], bytes = 256,
// CHECK-NEXT: hone.run @read() {{.*}}hone.scratch = #hone.slot<offset = [[AT]], bytes = 256,
module @runs_share_working_sets attributes {hone.max_rows = 16 : i64} {
  hone.block @layer.read() {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return
  }
  hone.entry @read() {
    hone.call @layer.read "" () : () -> ()
  }
  hone.schedule train {
    %batch = hone.load
    hone.run @read() on %batch : () -> ()
    hone.run @read() on %batch : () -> ()
    hone.run @read() on %batch : () -> ()
  }
}

// -----

// A value between two runs keeps its memory while others run: working sets lie
// beside it.
// CHECK-LABEL: module @value_outlives_a_run
// CHECK: hone.run @make() {{.*}}hone.slots = [#hone.slot<offset = [[#VALUE:]], bytes = 256, first = 1, last = 3>]
// CHECK-NEXT: hone.run @between() {{.*}}hone.scratch = #hone.slot<offset = [[#VALUE+256]], bytes = 256, first = 2, last = 2>
module @value_outlives_a_run attributes {hone.max_rows = 16 : i64} {
  hone.block @layer.make() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @layer.between() {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return
  }
  hone.block @layer.read(%x: tensor<?x4xf32>) {
    hone.return
  }
  hone.entry @make() -> tensor<?x4xf32> {
    %0 = hone.call @layer.make "" () : () -> tensor<?x4xf32>
    hone.return %0 : tensor<?x4xf32>
  }
  hone.entry @between() {
    hone.call @layer.between "" () : () -> ()
  }
  hone.entry @read(%x: tensor<?x4xf32>) {
    hone.call @layer.read "" (%x) : (tensor<?x4xf32>) -> ()
  }
  hone.schedule train {
    %batch = hone.load
    %x = hone.run @make() on %batch : () -> tensor<?x4xf32>
    hone.run @between() on %batch : () -> ()
    hone.run @read(%x) on %batch : (tensor<?x4xf32>) -> ()
  }
}
