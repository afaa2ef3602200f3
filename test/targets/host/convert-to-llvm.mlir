// RUN: hone-opt %s --hone-host-convert-to-llvm | FileCheck %s --enable-var-scope

// Memrefs and memory are bare pointers, and a view is one address computation.
// CHECK-LABEL: llvm.func @view
// CHECK-SAME: (%[[MEMORY:.*]]: !llvm.ptr, %[[X:.*]]: !llvm.ptr, %[[AT:.*]]: i64)
// CHECK: %[[PART:.*]] = llvm.getelementptr %[[MEMORY]][%[[AT]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK-NEXT: llvm.getelementptr %[[PART]][%[[AT]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK-NOT: unrealized_conversion_cast
func.func @view(%memory: !tile.memory, %x: memref<8xf32>, %at: index) {
  %part = tile.view %memory[%at] : !tile.memory -> !tile.memory
  %y = tile.view %part[%at] : !tile.memory -> memref<8xf32>
  %v = memref.load %x[%at] : memref<8xf32>
  memref.store %v, %y[%at] : memref<8xf32>
  return
}
