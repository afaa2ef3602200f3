// RUN: hone-opt %s --hone-metal-write-text | tr '\\' '\n' | FileCheck %s

// Values that a loop exchanges are given as if at once.
// CHECK-LABEL: swap(
// CHECK: float [[A:v[0-9]+]] = [[X:v[0-9]+]];
// CHECK: float [[B:v[0-9]+]] = [[Y:v[0-9]+]];
// CHECK: const float before_[[A]] = [[A]];
// CHECK: [[A]] = [[B]];
// CHECK: [[B]] = before_[[A]];
gpu.module @device {
  gpu.func @swap(%out: memref<2xf32>, %n: index) kernel attributes {tile.kernel_name = "swap: "} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = memref.load %out[%c0] : memref<2xf32>
    %y = memref.load %out[%c1] : memref<2xf32>
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (f32, f32) {
      scf.yield %b, %a : f32, f32
    }
    memref.store %r#0, %out[%c0] : memref<2xf32>
    memref.store %r#1, %out[%c1] : memref<2xf32>
    gpu.return
  }

  // The least index has no literal: C++ negates 9223372036854775808, which is no long.
  // CHECK-LABEL: least(
  // CHECK: == (-9223372036854775807l - 1)
  // CHECK: == (-9223372036854775807l);
  gpu.func @least(%out: memref<2xi1>, %n: index) kernel attributes {tile.kernel_name = "least: "} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %least = arith.constant -9223372036854775808 : index
    %next = arith.constant -9223372036854775807 : index
    %is_least = arith.cmpi eq, %n, %least : index
    memref.store %is_least, %out[%c0] : memref<2xi1>
    %is_next = arith.cmpi eq, %n, %next : index
    memref.store %is_next, %out[%c1] : memref<2xi1>
    gpu.return
  }
}
