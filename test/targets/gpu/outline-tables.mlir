// RUN: hone-opt %s --hone-gpu-outline | FileCheck %s --enable-var-scope

// Tables are a part of the device half. A function that is given other tables by
// other callers becomes one for each of them, and no more.
// CHECK: func.func private @add(
// CHECK: func.func private @add_0(
// CHECK-NOT: func.func private @add_
// CHECK: gpu.module @device
// CHECK: gpu.func @add_0(
// CHECK: memref.get_global @first
// CHECK: gpu.func @add_0_0(
// CHECK: memref.get_global @second
memref.global "private" constant @first : memref<4xf32> = dense<1.0>
memref.global "private" constant @second : memref<4xf32> = dense<2.0>
func.func private @add(%x: memref<4xf32>, %table: memref<4xf32>) {
  %c4 = arith.constant 4 : index
  tile.parallel (%i) in (%c4) {
    %a = memref.load %table[%i] : memref<4xf32>
    memref.store %a, %x[%i] : memref<4xf32>
  }
  return
}
func.func @main(%x: memref<4xf32>) {
  %first = memref.get_global @first : memref<4xf32>
  %second = memref.get_global @second : memref<4xf32>
  func.call @add(%x, %first) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @add(%x, %second) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @add(%x, %first) : (memref<4xf32>, memref<4xf32>) -> ()
  return
}
