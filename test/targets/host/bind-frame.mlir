// RUN: hone-opt %s --hone-host-bind-frame | FileCheck %s --enable-var-scope

// A function that runs loops takes the frame, and its caller hands it on; a
// function of scalars takes none.
// CHECK-LABEL: func.func private @loops(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: index)
func.func private @loops(%count: index) {
  tile.parallel (%i) in (%count) {
  }
  return
}
// CHECK-LABEL: func.func private @calls(
// CHECK-SAME: %[[FRAME:.*]]: !llvm.ptr, %[[COUNT:.*]]: index)
// CHECK: call @loops(%[[FRAME]], %[[COUNT]])
func.func private @calls(%count: index) {
  call @loops(%count) : (index) -> ()
  return
}
// A function that gives hints about pages takes it, too.
// CHECK-LABEL: func.func private @hints(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: memref<4x4xf32>, %{{.*}}: index)
func.func private @hints(%w: memref<4x4xf32>, %count: index) {
  tile.prefetch %w[%count] size %count : memref<4x4xf32>
  return
}
// And the look-up of an offset: the placement's table counts in 64 bytes.
// CHECK-LABEL: func.func private @looks_up(
// CHECK-SAME: %[[FRAME:.*]]: !llvm.ptr, %[[MEMORY:.*]]: !tile.memory)
// CHECK: llvm.getelementptr %[[FRAME]][9]
// CHECK: %[[OFFSETS:.*]] = llvm.load
// CHECK: llvm.getelementptr %[[OFFSETS]][3] {{.*}}i32
// CHECK: %[[UNITS:.*]] = llvm.load {{.*}} -> i32
// CHECK: %[[INDEX:.*]] = arith.index_castui %[[UNITS]] : i32 to index
// CHECK: %[[BYTES:.*]] = arith.constant 64 : index
// CHECK: %[[OFFSET:.*]] = arith.muli %[[INDEX]], %[[BYTES]]
// CHECK: tile.view %[[MEMORY]][%[[OFFSET]]] : !tile.memory
func.func private @looks_up(%memory: !tile.memory) {
  %offset = tile.offset 3 : index
  %m = tile.view %memory[%offset] {tile.placed_bytes = array<i64: 64, 128>} : !tile.memory -> !tile.memory
  call @uses(%m) : (!tile.memory) -> ()
  return
}
func.func private @uses(!tile.memory)
// CHECK-LABEL: func.func private @scalar(
// CHECK-SAME: %{{.*}}: f64)
func.func private @scalar(%x: f64) attributes {tile.host} {
  return
}

// Names become fields: 8 bytes each, in the order of hone_frame; numbered
// things come from tables of pointers. Values that the entry itself reads are
// in the host's table; an argument that nothing else uses has no other side.
// CHECK-LABEL: func.func @entry(
// CHECK-SAME: %[[FRAME:.*]]: !llvm.ptr, %[[VALUES:.*]]: !llvm.ptr)
// CHECK-NOT: tile.entry
// CHECK-SAME: tile.sides = array<i8: 0, 2, 1>
// CHECK: %[[WEIGHTS:.*]] = llvm.getelementptr %[[FRAME]][5]
// CHECK: %[[TABLE:.*]] = llvm.load %[[WEIGHTS]]
// CHECK: llvm.getelementptr %[[FRAME]][1]
// CHECK: llvm.getelementptr %[[FRAME]][2]
// CHECK: llvm.getelementptr %[[FRAME]][3]
// CHECK: llvm.getelementptr %[[FRAME]][6]
// CHECK: llvm.getelementptr %[[TABLE]][7]
// CHECK: llvm.getelementptr %[[VALUES]][1]
// CHECK: llvm.getelementptr %[[FRAME]][8]
// CHECK: %[[NUMBERS:.*]] = llvm.load
// CHECK: llvm.getelementptr %[[NUMBERS]][2]
// CHECK: %[[NUMBER:.*]] = memref.load
// CHECK: arith.index_cast %[[NUMBER]] : i64 to index
// CHECK: call @calls(%[[FRAME]],
func.func @entry() attributes {tile.entry} {
  %c0 = arith.constant 0 : index
  %arena = tile.base arena : !tile.memory
  %batch = tile.base batch : !tile.memory
  %work = tile.base work : !tile.memory
  %rows = tile.rows : index
  %w = tile.weight 7 : memref<4x4xf32>
  %x = tile.argument 1 : memref<4x4xf32>
  tile.prefetch %x[%c0] size %c0 : memref<4x4xf32>
  %numbers = tile.argument 2 : memref<3xi64>
  %number = tile.number %numbers[%c0] : memref<3xi64>
  %count = arith.index_cast %number : i64 to index
  call @calls(%count) : (index) -> ()
  return
}
