// RUN: hone-opt %s --allow-unregistered-dialect --hone-gpu-merge-loops | FileCheck %s --enable-var-scope

// Both write memory of their own, so one launch has the iterations of both.
// CHECK-LABEL: func.func private @apart
// CHECK-SAME: (%[[M:.*]]: index, %[[N:.*]]: index,
// CHECK: %[[ALL:.*]] = arith.addi %[[M]], %[[N]]
// CHECK: tile.parallel (%[[I:.*]]) in (%[[ALL]])
// CHECK: %[[FIRST:.*]] = arith.cmpi ult, %[[I]], %[[M]]
// CHECK: scf.if %[[FIRST]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[I]]]
// CHECK: else
// CHECK: %[[J:.*]] = arith.subi %[[I]], %[[M]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[J]]]
// CHECK-NOT: tile.parallel
// CHECK: return
func.func private @apart(%m: index, %n: index, %memory: !tile.memory) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %x = tile.view %memory[%c0] : !tile.memory -> memref<64xf32>
  tile.parallel (%i) in (%m) {
    memref.store %zero, %x[%i] : memref<64xf32>
  }
  %y = tile.view %memory[%c256] : !tile.memory -> memref<64xf32>
  tile.parallel (%i) in (%n) {
    memref.store %zero, %y[%i] : memref<64xf32>
  }
  return
}

// The second reads a part of the first one's result.
// CHECK-LABEL: func.func private @overlapping
// CHECK-COUNT-2: tile.parallel
func.func private @overlapping(%m: index, %memory: !tile.memory, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c252 = arith.constant 252 : index
  %x = tile.view %memory[%c0] : !tile.memory -> memref<64xf32>
  %part = tile.view %memory[%c252] : !tile.memory -> memref<64xf32>
  tile.parallel (%i) in (%m) {
    memref.store %zero, %x[%i] : memref<64xf32>
  }
  tile.parallel (%i) in (%m) {
    %v = memref.load %part[%i] : memref<64xf32>
    memref.store %v, %y[%i] : memref<64xf32>
  }
  return
}

// An op without declared effects may access any memory.
// CHECK-LABEL: func.func private @unknown
// CHECK-COUNT-2: tile.parallel
// CHECK: return
func.func private @unknown(%m: index, %memory: !tile.memory) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %x = tile.view %memory[%c0] : !tile.memory -> memref<64xf32>
  tile.parallel (%i) in (%m) {
    memref.store %zero, %x[%i] : memref<64xf32>
  }
  tile.parallel (%i) in (%m) {
    "test.unknown"(%i) : (index) -> ()
  }
  return
}

// At an offset that a number chooses, two views of one view are apart, and one
// of them is where another memory is not.
// CHECK-LABEL: func.func private @chosen
// CHECK: tile.parallel
// CHECK-NOT: tile.parallel
// CHECK: return
func.func private @chosen(%m: index, %memory: !tile.memory, %which: i1) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %c4096 = arith.constant 4096 : index
  %at = arith.select %which, %c1024, %c4096 : index
  %chosen = tile.view %memory[%at] : !tile.memory -> memref<128xf32>
  %x = tile.view %chosen[%c0] : memref<128xf32> -> memref<64xf32>
  %y = tile.view %chosen[%c256] : memref<128xf32> -> memref<64xf32>
  %z = tile.view %memory[%c256] : !tile.memory -> memref<64xf32>
  tile.parallel (%i) in (%m) {
    memref.store %zero, %x[%i] : memref<64xf32>
  }
  tile.parallel (%i) in (%m) {
    memref.store %zero, %y[%i] : memref<64xf32>
  }
  tile.parallel (%i) in (%m) {
    memref.store %zero, %z[%i] : memref<64xf32>
  }
  return
}

// Offsets that depend on the placement: these are apart in both of a program's
// placements, though the code knows the larger sizes of the first alone, ...
// CHECK-LABEL: func.func private @apart_in_each_placement
// CHECK: tile.parallel
// CHECK-NOT: tile.parallel
// CHECK: return
func.func private @apart_in_each_placement(%m: index, %memory: !tile.memory) {
  %zero = arith.constant 0.0 : f32
  %at = tile.offset 1 {tile.placed_offsets = array<i64: 256, 128>} : index
  %c0 = arith.constant 0 : index
  %x = tile.view %memory[%c0] {tile.placed_bytes = array<i64: 256, 128>} : !tile.memory -> memref<64xf32>
  %y = tile.view %memory[%at] {tile.placed_bytes = array<i64: 256, 128>} : !tile.memory -> memref<64xf32>
  tile.parallel (%i) in (%m) {
    memref.store %zero, %x[%i] : memref<64xf32>
  }
  tile.parallel (%i) in (%m) {
    memref.store %zero, %y[%i] : memref<64xf32>
  }
  return
}

// ... these are apart in the first placement, and one memory in the second, ...
// CHECK-LABEL: func.func private @meeting_in_another_placement
// CHECK-COUNT-2: tile.parallel
// CHECK: return
func.func private @meeting_in_another_placement(%m: index, %memory: !tile.memory) {
  %zero = arith.constant 0.0 : f32
  %at = tile.offset 1 {tile.placed_offsets = array<i64: 256, 64>} : index
  %c0 = arith.constant 0 : index
  %x = tile.view %memory[%c0] {tile.placed_bytes = array<i64: 256, 128>} : !tile.memory -> memref<64xf32>
  %y = tile.view %memory[%at] {tile.placed_bytes = array<i64: 256, 128>} : !tile.memory -> memref<64xf32>
  tile.parallel (%i) in (%m) {
    memref.store %zero, %x[%i] : memref<64xf32>
  }
  tile.parallel (%i) in (%m) {
    memref.store %zero, %y[%i] : memref<64xf32>
  }
  return
}

// ... and of an offset that nothing is known of, so is anything.
// CHECK-LABEL: func.func private @at_an_unknown_offset
// CHECK-COUNT-2: tile.parallel
// CHECK: return
func.func private @at_an_unknown_offset(%m: index, %memory: !tile.memory) {
  %zero = arith.constant 0.0 : f32
  %at = tile.offset 1 : index
  %c0 = arith.constant 0 : index
  %x = tile.view %memory[%c0] : !tile.memory -> memref<64xf32>
  %y = tile.view %memory[%at] : !tile.memory -> memref<64xf32>
  tile.parallel (%i) in (%m) {
    memref.store %zero, %x[%i] : memref<64xf32>
  }
  tile.parallel (%i) in (%m) {
    memref.store %zero, %y[%i] : memref<64xf32>
  }
  return
}

// An argument of a function keeps its bytes in each placement: the results of
// its caller end where its scratch begins.
// CHECK-LABEL: func.func private @called_with_scratch
// CHECK: tile.parallel
// CHECK-NOT: tile.parallel
// CHECK: return
func.func private @called_with_scratch(%m: index, %scratch: !tile.memory, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %x = tile.view %scratch[%c0] {tile.placed_bytes = array<i64: 256, 128>} : !tile.memory -> memref<64xf32>
  tile.parallel (%i) in (%m) {
    memref.store %zero, %x[%i] : memref<64xf32>
  }
  tile.parallel (%i) in (%m) {
    memref.store %zero, %y[%i] : memref<64xf32>
  }
  return
}

// The calls decide whether arguments overlap: here they are apart, ...
// CHECK-LABEL: func.func private @called_apart
// CHECK-COUNT-1: tile.parallel
// CHECK-NOT: tile.parallel
// CHECK-LABEL: func.func private @called_with_one
func.func private @called_apart(%m: index, %x: memref<64xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  tile.parallel (%i) in (%m) {
    memref.store %zero, %x[%i] : memref<64xf32>
  }
  tile.parallel (%i) in (%m) {
    memref.store %zero, %y[%i] : memref<64xf32>
  }
  return
}

// ... here one call has the same memory twice.
// CHECK-COUNT-2: tile.parallel
func.func private @called_with_one(%m: index, %x: memref<64xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  tile.parallel (%i) in (%m) {
    memref.store %zero, %x[%i] : memref<64xf32>
  }
  tile.parallel (%i) in (%m) {
    memref.store %zero, %y[%i] : memref<64xf32>
  }
  return
}

func.func @hone_entry_main() attributes {tile.entry} {
  %rows = tile.rows : index
  %work = tile.base work : !tile.memory
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %a = tile.view %work[%c0] : !tile.memory -> memref<64xf32>
  %b = tile.view %work[%c256] : !tile.memory -> memref<64xf32>
  func.call @called_apart(%rows, %a, %b) : (index, memref<64xf32>, memref<64xf32>) -> ()
  func.call @called_with_one(%rows, %a, %b) : (index, memref<64xf32>, memref<64xf32>) -> ()
  func.call @called_with_one(%rows, %a, %a) : (index, memref<64xf32>, memref<64xf32>) -> ()
  %at = tile.offset 2 {tile.placed_offsets = array<i64: 256, 128>} : index
  %y = tile.view %work[%c0] {tile.placed_bytes = array<i64: 256, 128>} : !tile.memory -> memref<64xf32>
  %scratch = tile.view %work[%at] {tile.placed_bytes = array<i64: 256, 128>} : !tile.memory -> !tile.memory
  func.call @called_with_scratch(%rows, %scratch, %y) : (index, !tile.memory, memref<64xf32>) -> ()
  return
}

// One product for both that want it, as an adapter's u: the second gets a copy.
// A third has another right side.
// CHECK-LABEL: func.func private @computed_once
// CHECK: tile.parallel
// CHECK: tile.product %[[U:.*]][%[[ROW:.*]], %c0], %{{.*}}, %[[B:.*]][%c0, %c0] size(%[[M:.*]], %c8, %c64)
// CHECK: tile.map (%[[I:.*]], %[[J:.*]]) in (%[[M]], %c8)
// CHECK: %[[AT:.*]] = arith.addi %[[ROW]], %[[I]]
// CHECK: %[[X:.*]] = memref.load %[[U]][%[[AT]], %[[J]]]
// CHECK: memref.store %[[X]], %{{.*}}[%[[AT]], %[[J]]]
// CHECK: else
// CHECK: tile.product
// CHECK-NOT: tile.map
// CHECK-NOT: tile.product
// CHECK: return
func.func private @computed_once(%memory: !tile.memory) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c8192 = arith.constant 8192 : index
  %c16384 = arith.constant 16384 : index
  %c24576 = arith.constant 24576 : index
  %c26624 = arith.constant 26624 : index
  %c28672 = arith.constant 28672 : index
  %b = tile.view %memory[%c24576] : !tile.memory -> memref<64x8xf32>
  %b1 = tile.view %memory[%c26624] : !tile.memory -> memref<64x8xf32>
  %dy = tile.view %memory[%c28672] : !tile.memory -> memref<256x64xf32>
  %u0 = tile.view %memory[%c0] : !tile.memory -> memref<256x8xf32>
  tile.parallel (%i) in (%c4) {
    %row = arith.muli %i, %c64 : index
    tile.product %u0[%row, %c0], %dy[%row, %c0], %b[%c0, %c0]
        size(%c64, %c8, %c64) in [64, 8] few_rows
        : memref<256x8xf32>, memref<256x64xf32>, memref<64x8xf32>
  }
  %u1 = tile.view %memory[%c8192] : !tile.memory -> memref<256x8xf32>
  tile.parallel (%i) in (%c4) {
    %row = arith.muli %i, %c64 : index
    tile.product %u1[%row, %c0], %dy[%row, %c0], %b[%c0, %c0]
        size(%c64, %c8, %c64) in [64, 8] few_rows
        : memref<256x8xf32>, memref<256x64xf32>, memref<64x8xf32>
  }
  %u2 = tile.view %memory[%c16384] : !tile.memory -> memref<256x8xf32>
  tile.parallel (%i) in (%c4) {
    %row = arith.muli %i, %c64 : index
    tile.product %u2[%row, %c0], %dy[%row, %c0], %b1[%c0, %c0]
        size(%c64, %c8, %c64) in [64, 8] few_rows
        : memref<256x8xf32>, memref<256x64xf32>, memref<64x8xf32>
  }
  return
}

// The same product into a result of another type is another one: the type of
// its destination is not checked later.
// CHECK-LABEL: func.func private @computed_into_two_types
// CHECK: tile.product
// CHECK-NOT: tile.map
// CHECK: else
// CHECK: tile.product
// CHECK-NOT: tile.map
// CHECK: return
func.func private @computed_into_two_types(%memory: !tile.memory) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c8192 = arith.constant 8192 : index
  %c24576 = arith.constant 24576 : index
  %c28672 = arith.constant 28672 : index
  %b = tile.view %memory[%c24576] : !tile.memory -> memref<64x8xf32>
  %dy = tile.view %memory[%c28672] : !tile.memory -> memref<256x64xf32>
  %u0 = tile.view %memory[%c0] : !tile.memory -> memref<256x8xf32>
  %u1 = tile.view %memory[%c8192] : !tile.memory -> memref<512x8xf32>
  tile.parallel (%i) in (%c4) {
    %row = arith.muli %i, %c64 : index
    tile.product %u0[%row, %c0], %dy[%row, %c0], %b[%c0, %c0]
        size(%c64, %c8, %c64) in [64, 8] few_rows
        : memref<256x8xf32>, memref<256x64xf32>, memref<64x8xf32>
  }
  tile.parallel (%i) in (%c4) {
    %row = arith.muli %i, %c64 : index
    tile.product %u1[%row, %c0], %dy[%row, %c0], %b[%c0, %c0]
        size(%c64, %c8, %c64) in [64, 8] few_rows
        : memref<512x8xf32>, memref<256x64xf32>, memref<64x8xf32>
  }
  return
}
