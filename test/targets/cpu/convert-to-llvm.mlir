// RUN: hone-opt %s --hone-cpu-convert-to-llvm | FileCheck %s --enable-var-scope

// Memrefs are bare pointers, and a view is one address computation.
// CHECK-LABEL: llvm.func @view
// CHECK-SAME: (%[[FRAME:.*]]: !llvm.ptr, %[[X:.*]]: !llvm.ptr, %[[AT:.*]]: i64)
// CHECK: llvm.getelementptr %[[FRAME]][%[[AT]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK-NOT: unrealized_conversion_cast
func.func @view(%frame: !llvm.ptr, %x: memref<8xf32>, %at: index) {
  %y = tile.view %frame[%at] : !llvm.ptr -> memref<8xf32>
  %v = memref.load %x[%at] : memref<8xf32>
  memref.store %v, %y[%at] : memref<8xf32>
  return
}
