// RUN: hone-opt %s --allow-unregistered-dialect --pass-pipeline="builtin.module(gpu.module(gpu.func(hone-gpu-form-chains)))" | FileCheck %s
// RUN: not hone-opt %s --allow-unregistered-dialect --pass-pipeline="builtin.module(gpu.module(gpu.func(hone-gpu-distribute)))" 2>&1 | FileCheck %s --check-prefix=ERROR

gpu.module @device {
// Products in an op of no known dialect are a chain there, but
// nobody knows which threads run it.
// CHECK-LABEL: gpu.func @unknown_around
// CHECK: "test.unknown"() ({
// CHECK-NEXT: simt.chain
// ERROR: 'test.unknown' op has no code for a GPU yet
gpu.func @unknown_around(%y: memref<64x64xf32>, %x: memref<64x96xf32>, %w: memref<64x96xf32>) kernel {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  "test.unknown"() ({
    tile.product %y[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0] size(%c64, %c64, %c96) in [96, 64] transpose_w : memref<64x64xf32>, memref<64x96xf32>, memref<64x96xf32>
    tile.product %y[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0] size(%c64, %c64, %c96) in [96, 64] accumulate transpose_w : memref<64x64xf32>, memref<64x96xf32>, memref<64x96xf32>
    "test.end"() : () -> ()
  }) : () -> ()
  gpu.return
}
}
