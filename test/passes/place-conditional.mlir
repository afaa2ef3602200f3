// RUN: hone-opt %s --split-input-file --hone-place --hone-verify-placement | FileCheck %s --enable-var-scope

// Calls that are conditional, and pools. Sizes are for 16 rows of 4 floats: 256
// bytes.

// A call has scratch for the block that needs more, whichever runs, and one
// place for its result.
// CHECK-LABEL: module @scratch_is_for_both_blocks
// CHECK: hone.block @small{{.*}}hone.scratch_bytes = 0
// CHECK: hone.block @large{{.*}}hone.scratch_bytes = 512
// CHECK: hone.entry @either{{.*}}hone.scratch_bytes = 768
// CHECK: hone.call @small {{.*}} else @large {hone.scratch = #hone.slot<offset = {{[0-9]+}}, bytes = 512, first = 0, last = 0>, hone.slots = [#hone.slot<offset = {{[0-9]+}}, bytes = 256, first = 0, last = 1>]}
// CHECK: hone.entry @other_way_round{{.*}}hone.scratch_bytes = 768
// CHECK: hone.call @large {{.*}} else @small {hone.scratch = #hone.slot<offset = {{[0-9]+}}, bytes = 512,
module @scratch_is_for_both_blocks attributes {hone.max_rows = 16 : i64} {
  hone.block @small(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @large(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %v = hone.parameter "v" : tensor<8x4xf32>
    %u = hone.parameter "u" : tensor<4x8xf32>
    %0 = hone.linear %x, %v : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %1 = hone.linear %0, %u : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    hone.return %1 : tensor<?x4xf32>
  }
  hone.block @read(%x: tensor<?x4xf32>) {
    hone.return
  }
  hone.entry @either(%x: tensor<?x4xf32>, %mask: tensor<1xi32>) {
    %y = hone.call @small "" (%x) when %mask[0] : tensor<1xi32> else @large : (tensor<?x4xf32>) -> tensor<?x4xf32>
    hone.call @read "" (%y) : (tensor<?x4xf32>) -> ()
  }
  hone.entry @other_way_round(%x: tensor<?x4xf32>, %mask: tensor<1xi32>) {
    %y = hone.call @large "" (%x) when %mask[0] : tensor<1xi32> else @small : (tensor<?x4xf32>) -> tensor<?x4xf32>
    hone.call @read "" (%y) : (tensor<?x4xf32>) -> ()
  }
}

// -----

// A result is written over an operand if both blocks can: here the pass-through
// and a block that adds can, a product cannot.
// CHECK-LABEL: module @written_over_if_both_blocks_can
// CHECK: hone.entry @both_can{{.*}}hone.scratch_bytes = 256
// CHECK: hone.entry @one_can{{.*}}hone.scratch_bytes = 512
// CHECK: hone.entry @the_other_can{{.*}}hone.scratch_bytes = 512
module @written_over_if_both_blocks_can attributes {hone.max_rows = 16 : i64} {
  hone.block @make() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @same(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %y = hone.convert %x : tensor<?x4xf32> to tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @twice(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @product(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @read(%x: tensor<?x4xf32>) {
    hone.return
  }
  hone.entry @both_can(%mask: tensor<1xi32>) {
    %x = hone.call @make "" () : () -> tensor<?x4xf32>
    %y = hone.call @twice "" (%x) when %mask[0] : tensor<1xi32> else @same : (tensor<?x4xf32>) -> tensor<?x4xf32>
    hone.call @read "" (%y) : (tensor<?x4xf32>) -> ()
  }
  hone.entry @one_can(%mask: tensor<1xi32>) {
    %x = hone.call @make "" () : () -> tensor<?x4xf32>
    %y = hone.call @twice "" (%x) when %mask[0] : tensor<1xi32> else @product : (tensor<?x4xf32>) -> tensor<?x4xf32>
    hone.call @read "" (%y) : (tensor<?x4xf32>) -> ()
  }
  hone.entry @the_other_can(%mask: tensor<1xi32>) {
    %x = hone.call @make "" () : () -> tensor<?x4xf32>
    %y = hone.call @product "" (%x) when %mask[0] : tensor<1xi32> else @twice : (tensor<?x4xf32>) -> tensor<?x4xf32>
    hone.call @read "" (%y) : (tensor<?x4xf32>) -> ()
  }
}

// -----

// A pool is one buffer for all of its slots, from where it stands to the last
// read of its contents; that has no memory of its own and is never written
// over. A kept value dies at its last other reader.
// CHECK-LABEL: module @pool_is_one_buffer
// CHECK: hone.entry @three_layers{{.*}}hone.scratch_bytes = 2560
// CHECK: hone.call @make {{.*}}hone.slots = [#hone.slot<offset = [[X:[0-9]+]], bytes = 256, first = 0, last = 3>]
// CHECK: hone.pool {hone.slots = [#hone.slot<offset = {{[0-9]+}}, bytes = 2048, first = 1, last = 7>]}
// CHECK: hone.call @twice "layers.0."{{.*}}hone.slots = [#hone.slot<offset = [[X]],
// CHECK-NOT: hone.kept {{.*}}hone.slots
// CHECK: hone.call @twice "layers.1."
module @pool_is_one_buffer attributes {hone.max_rows = 16 : i64} {
  hone.block @make() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @twice(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @read(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) {
    hone.return
  }
  hone.entry @three_layers(%mask: tensor<2xi32>, %slots: tensor<2xi32>) {
    %x = hone.call @make "" () : () -> tensor<?x4xf32>
    %pool = hone.pool : tensor<2x?x4xf32>
    hone.keep %x in %pool at %slots[0] when %mask[0] : tensor<2x?x4xf32>, tensor<2xi32>, tensor<2xi32>
    %y = hone.call @twice "layers.0." (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %k = hone.kept %pool at %slots[0] : tensor<2x?x4xf32>, tensor<2xi32>
    hone.call @read "" (%y, %y) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
    %z = hone.call @twice "layers.1." (%y) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %v = hone.call @twice "layers.1." (%k) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    hone.call @read "" (%z, %v) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
  }
}

// -----

// A pool may cross from one entry to another, as any value. The region of small
// values has the numbers of the two layers and not it.
// CHECK-LABEL: module @pool_crosses_entries
// CHECK: hone.region "scalars" batch at {{[0-9]+}} bytes 8{{$}}
// CHECK: hone.pool {hone.slots = [unit]}
// CHECK: %{{.*}}:2 = hone.run @forward{{.*}}hone.slots = [{{.*}}, #hone.slot<offset = {{[0-9]+}}, bytes = 2048, first = {{[0-9]+}}, last = {{[0-9]+}}>]
module @pool_crosses_entries attributes {hone.max_rows = 16 : i64} {
  hone.block @make() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @read(%x: tensor<?x4xf32>) {
    hone.return
  }
  func.func private @select(%mask: memref<2xi32>) {
    %0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    memref.store %one, %mask[%0] : memref<2xi32>
    return
  }
  hone.entry @forward(%slots: tensor<2xi32>) -> (tensor<?x4xf32>, tensor<2x?x4xf32>) {
    %x = hone.call @make "" () : () -> tensor<?x4xf32>
    %pool = hone.pool : tensor<2x?x4xf32>
    hone.keep %x in %pool at %slots[0] : tensor<2x?x4xf32>, tensor<2xi32>
    hone.return %x, %pool : tensor<?x4xf32>, tensor<2x?x4xf32>
  }
  hone.entry backward @backward(%pool: tensor<2x?x4xf32>, %slots: tensor<2xi32>) {
    %k = hone.kept %pool at %slots[0] : tensor<2x?x4xf32>, tensor<2xi32>
    hone.call @read "" (%k) when %slots[1] : tensor<2xi32> : (tensor<?x4xf32>) -> ()
  }
  hone.schedule train {
    %slots = hone.scalar @select() : () -> tensor<2xi32>
    %batch = hone.load
    %x, %pool = hone.run @forward(%slots) on %batch : (tensor<2xi32>) -> (tensor<?x4xf32>, tensor<2x?x4xf32>)
    hone.run @backward(%pool, %slots) on %batch : (tensor<2x?x4xf32>, tensor<2xi32>) -> ()
  }
}
