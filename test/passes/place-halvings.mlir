// RUN: hone-opt %s --hone-place=halvings=3 --hone-verify-placement | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --hone-place=halvings=3 --hone-convert-to-tiles | FileCheck %s --enable-var-scope --check-prefix=TILES

// Everything is placed again for fewer rows: values with rows take less, and
// the regions of the arena stay where they are. Of 16 rows of 4 floats, 256
// bytes.
// CHECK-LABEL: module @fewer_rows
// CHECK-SAME: hone.arena_bytes = 1344 : i64
// CHECK-SAME: hone.fewer_arena_bytes = array<i64: 1088, 960, 960>
// CHECK-SAME: hone.fewer_rows = array<i64: 8, 4, 2>
// CHECK: hone.region "theta" adapter at 0 bytes 200{{$}}
// CHECK: hone.region "input.hidden" batch at 512 bytes 256{{$}}
// CHECK: hone.block @read
// CHECK-SAME: hone.fewer_scratch_bytes = array<i64: 128, 64, 64>
// CHECK-SAME: hone.scratch_bytes = 256
// CHECK: hone.call @make
// CHECK-SAME: #hone.slot<offset = 0, bytes = 256, first = 2, last = 3, fewer = [0, 128, 0, 64, 64, 32]>
// CHECK: hone.run @loss{{.*}}hone.scratch = #hone.slot<offset = 832, bytes = 512, {{.*}}fewer = [832, 256, 832, 128, 832, 128]>
module @fewer_rows attributes {hone.max_rows = 16 : i64} {
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

// An offset that all placements have is a constant, and others are looked up,
// once for each combination. Passes read the offsets that the runtime will
// find, and how much of a buffer is used.
// TILES-LABEL: func.func @hone_entry_loss
// TILES: %[[WORK:.*]] = tile.base work
// TILES: %[[X:.*]] = tile.offset 1 {tile.placed_offsets = array<i64: 0, 0, 0, 64>} : index
// TILES: tile.view %[[WORK]][%[[X]]] {tile.placed_bytes = array<i64: 256, 128, 64, 32>} : !tile.memory -> memref<16x4xf32>
// TILES: %[[SCRATCH:.*]] = tile.offset 2 {tile.placed_offsets = array<i64: 256, 128, 64, 0>} : index
// TILES: tile.view %[[WORK]][%[[SCRATCH]]] {tile.placed_bytes = array<i64: 256, 128, 64, 64>} : !tile.memory -> !tile.memory
// TILES-NOT: tile.offset 3
// TILES: return
