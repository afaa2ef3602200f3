// RUN: hone-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hone-gpu-distribute{copies-in-flight matrix-units})))" | FileCheck %s --enable-var-scope

gpu.module @device {
// Of four stages one is multiplied, and three are on their way.
// CHECK-LABEL: gpu.func @stages
// CHECK: %[[A:.*]] = memref.view %{{.*}} to memref<4x8x36xf32, {{.*}}>
// CHECK: %[[WAY:.*]] = arith.constant 48 : index
// CHECK: scf.for
// CHECK: nvvm.cp.async.wait.group 2
// CHECK-NEXT: gpu.barrier
// CHECK: simt.copy %{{.*}} to %[[A]][
// CHECK: simt.copy
// CHECK: nvvm.cp.async.commit.group
// CHECK: arith.cmpi uge, %{{.*}}, %[[WAY]]
// CHECK: math.fma
gpu.func @stages(%c: memref<16x16xf32>, %a: memref<16x128xf32>, %w: memref<16x128xf32>) kernel {
  %zero = arith.constant 0 : index
  %m = arith.constant 16 : index
  %k = arith.constant 128 : index
  tile.product %c[%zero, %zero], %a[%zero, %zero], %w[%zero, %zero]
      size(%m, %m, %k) in [128, 16] transpose_w
      : memref<16x16xf32>, memref<16x128xf32>, memref<16x128xf32>
  gpu.return
}

// Rows of 97 numbers do not begin at multiples of 16 bytes.
// CHECK-LABEL: gpu.func @odd_rows
// CHECK-NOT: simt.copy
// CHECK: gpu.return
gpu.func @odd_rows(%c: memref<16x16xf32>, %a: memref<16x97xf32>, %w: memref<16x97xf32>) kernel {
  %zero = arith.constant 0 : index
  %m = arith.constant 16 : index
  %k = arith.constant 97 : index
  tile.product %c[%zero, %zero], %a[%zero, %zero], %w[%zero, %zero]
      size(%m, %m, %k) in [97, 16] transpose_w
      : memref<16x16xf32>, memref<16x97xf32>, memref<16x97xf32>
  gpu.return
}

// Rounded products are a matrix unit's, with weights on either side; a product of
// other numbers on the same sums has them where the unit has. Rows are lines of 128
// bytes, or half of them, with permuted chunks.
// CHECK-LABEL: gpu.func @rounded
// CHECK: math.fma
// CHECK: arith.xori
// CHECK: simt.load_matrices %{{.*}}] : memref<1x32x32xbf16
// CHECK: simt.load_matrices %{{.*}} transpose : memref<1x32x64xbf16
// CHECK: nvvm.mma.sync
// The loop over three stages stays one, or addresses of all of them spill.
// CHECK: scf.yield
// CHECK-NEXT: } {loop_annotation
// CHECK: gpu.return
gpu.func @rounded(%c: memref<32x64xf32>, %h: memref<32x8xf32>, %b: memref<64x8xf32>, %a: memref<32x96xbf16>, %w: memref<96x64xbf16>) kernel {
  %zero = arith.constant 0 : index
  %m = arith.constant 32 : index
  %n = arith.constant 64 : index
  %r = arith.constant 8 : index
  %k = arith.constant 96 : index
  simt.chain %c[%zero, %zero] size(%m, %n) {
    tile.product %c[%zero, %zero], %h[%zero, %zero], %b[%zero, %zero]
        size(%m, %n, %r) in [8, 64] transpose_w
        : memref<32x64xf32>, memref<32x8xf32>, memref<64x8xf32>
    tile.product %c[%zero, %zero], %a[%zero, %zero], %w[%zero, %zero]
        size(%m, %n, %k) in [96, 64] accumulate rounded
        : memref<32x64xf32>, memref<32x96xbf16>, memref<96x64xbf16>
  } : memref<32x64xf32>
  gpu.return
}

// Two stages of a weight are enough for copies in flight; whole tiles have a loop
// whose copies ask for nothing.
// CHECK-LABEL: gpu.func @two_lines
// CHECK: memref.view %{{.*}} to memref<2x128x64xbf16
// CHECK: memref.view %{{.*}} to memref<2x128x64xbf16
// CHECK: scf.for
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: nvvm.mma.sync
// CHECK: } else {
// CHECK: scf.for
// CHECK: nvvm.mma.sync
// CHECK: gpu.return
gpu.func @two_lines(%c: memref<128x128xf32>, %a: memref<128x128xbf16>, %w: memref<128x128xbf16>) kernel {
  %zero = arith.constant 0 : index
  %m = arith.constant 128 : index
  tile.product %c[%zero, %zero], %a[%zero, %zero], %w[%zero, %zero]
      size(%m, %m, %m) in [128, 128] transpose_w rounded read_ahead
      : memref<128x128xf32>, memref<128x128xbf16>, memref<128x128xbf16>
  gpu.return
}
}
