// RUN: hone-opt %s --canonicalize --hone-cpu-lower-tiles | FileCheck %s

// The runtime is told bytes: rows times the bytes of one. No pass drops the
// hints, although nothing reads what they give.

// CHECK-LABEL: func.func @half
func.func @half(%w: memref<32x24xbf16>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  // CHECK: llvm.inttoptr
  // CHECK: %[[BYTES:.*]] = arith.muli %c16, %c48
  // CHECK: %[[WORD:.*]] = arith.index_cast %[[BYTES]] : index to i64
  // CHECK: call @hone_prefetch(%{{.*}}, %[[WORD]]) : (!llvm.ptr, i64)
  tile.prefetch %w[%c16] size %c16 : memref<32x24xbf16>
  // CHECK: call @hone_release
  tile.release %w[%c0] size %c16 : memref<32x24xbf16>
  return
}
