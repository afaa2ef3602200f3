// RUN: hone-opt %s --hone-host-convert-to-llvm | FileCheck %s

// The runtime is told bytes: rows times the bytes of one. No pass drops the
// hints, although nothing reads what they give.

// CHECK-LABEL: llvm.func @half
// CHECK-SAME: (%[[W:.*]]: !llvm.ptr, %[[ROW:.*]]: i64, %[[COUNT:.*]]: i64)
func.func @half(%w: memref<32x24xbf16>, %row: index, %count: index) {
  // CHECK: %[[ROW_BYTES:.*]] = llvm.mlir.constant(48 : i64)
  // CHECK: %[[BEHIND:.*]] = llvm.mul %[[ROW]], %[[ROW_BYTES]]
  // CHECK: %[[AT:.*]] = llvm.getelementptr %{{.*}}[%[[BEHIND]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  // CHECK: %[[BYTES:.*]] = llvm.mul %[[COUNT]], %[[ROW_BYTES]]
  // CHECK: llvm.call @hone_prefetch(%[[AT]], %[[BYTES]]) : (!llvm.ptr, i64)
  tile.prefetch %w[%row] size %count : memref<32x24xbf16>
  // CHECK: llvm.call @hone_release
  tile.release %w[%row] size %count : memref<32x24xbf16>
  return
}
