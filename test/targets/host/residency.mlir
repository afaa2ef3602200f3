// RUN: hone-opt %s --hone-host-size-scratch --hone-host-outline-parallel --hone-host-convert-to-llvm \
// RUN:   | FileCheck %s --enable-var-scope

// The runtime is told bytes: rows times the bytes of one. No pass drops the
// hints, although nothing reads their results.

// CHECK-LABEL: llvm.func @half
// CHECK-SAME: (%[[FRAME:.*]]: !llvm.ptr, %[[W:.*]]: !llvm.ptr, %[[ROW:.*]]: i64, %[[COUNT:.*]]: i64)
func.func @half(%frame: !llvm.ptr, %w: memref<32x24xbf16>, %row: index, %count: index) {
  // CHECK: %[[ROW_BYTES:.*]] = llvm.mlir.constant(48 : i64)
  // CHECK: %[[OFFSET:.*]] = llvm.mul %[[ROW]], %[[ROW_BYTES]]
  // CHECK: %[[AT:.*]] = llvm.getelementptr %{{.*}}[%[[OFFSET]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  // CHECK: %[[BYTES:.*]] = llvm.mul %[[COUNT]], %{{.*}}
  // CHECK: llvm.call @hone_prefetch(%[[FRAME]], %[[AT]], %[[BYTES]]) : (!llvm.ptr, !llvm.ptr, i64)
  tile.prefetch %w[%row] size %count : memref<32x24xbf16>
  // CHECK: llvm.call @hone_release(%[[FRAME]], %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, i64)
  tile.release %w[%row] size %count : memref<32x24xbf16>
  return
}

// A task has the frame in its closure. Of a row, a part is fetched: 48 bytes are
// one, 2 one number.
// CHECK-LABEL: llvm.func internal @parallel.task0
// CHECK-SAME: (%[[CLOSURE:.*]]: !llvm.ptr, %[[I:.*]]: i64, %{{.*}}: i64)
// CHECK: %[[BYTES:.*]] = llvm.mlir.constant(2 : i64)
// CHECK: %[[COLUMN:.*]] = llvm.mul %{{.*}}, %[[BYTES]]
// CHECK: llvm.getelementptr %{{.*}}[%[[COLUMN]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK: %[[ROW_BYTES:.*]] = llvm.mlir.constant(48 : i64)
// CHECK: %[[ROW:.*]] = llvm.mul %[[I]], %[[ROW_BYTES]]
// CHECK: %[[AT:.*]] = llvm.add %[[ROW]], %[[COLUMN]]
// CHECK: %[[FROM:.*]] = llvm.getelementptr %{{.*}}[%[[AT]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK: %[[FRAME:.*]] = llvm.load %[[CLOSURE]] : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.call @hone_fetch(%[[FRAME]], %{{.*}}, %[[FROM]], %{{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64)
func.func @parallel(%frame: !llvm.ptr, %w: memref<32x24xbf16>, %column: index, %count: index) {
  tile.parallel (%i) in (%count) private(%own : memref<1x24xbf16>) {
    tile.fetch %own, %w[%i, %column] size %column : memref<1x24xbf16>, memref<32x24xbf16>
  }
  return
}

// Of the file of offloaded values it is also told the place.
// CHECK-LABEL: llvm.func @offloaded
// CHECK-SAME: (%[[FRAME:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
func.func @offloaded(%frame: !llvm.ptr, %x: memref<32x24xbf16>, %row: index, %count: index) {
  // CHECK: %[[PLACE:.*]] = llvm.mlir.constant(4096 : i64)
  // CHECK: llvm.call @hone_offload(%[[FRAME]], %{{.*}}, %{{.*}}, %[[PLACE]]) : (!llvm.ptr, !llvm.ptr, i64, i64)
  tile.offload %x[%row] size %count at 4096 : memref<32x24xbf16>
  // CHECK: llvm.call @hone_await(%[[FRAME]], %{{.*}}) : (!llvm.ptr, !llvm.ptr)
  tile.await %x : memref<32x24xbf16>
  // CHECK: llvm.call @hone_reload(%[[FRAME]],
  tile.reload %x[%row] size %count at 4096 : memref<32x24xbf16>
  return
}
