// RUN: hone-opt %s --allow-unregistered-dialect --pass-pipeline="builtin.module(gpu.module(gpu.func(hone-gpu-form-chains)))" | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --allow-unregistered-dialect --pass-pipeline="builtin.module(gpu.module(gpu.func(hone-gpu-form-chains,hone-gpu-distribute)))" | FileCheck %s --check-prefix=SPREAD

gpu.module @device {
// An adapter's product and the weight's: sums are stored once.
// CHECK-LABEL: gpu.func @adapter
// CHECK: simt.chain %[[Y:.*]][%{{.*}}, %{{.*}}] size
// CHECK-NEXT: tile.product %[[Y]]
// CHECK-NEXT: tile.product %[[Y]]{{.*}} accumulate
// CHECK-NEXT: } : memref<64x64xf32>
// SPREAD-LABEL: gpu.func @adapter(
// SPREAD-SAME: %[[Y:.[a-z0-9]+]]: memref<64x64xf32>
// SPREAD-NOT: memref.load %[[Y]][
// SPREAD-COUNT-16: memref.store %{{.*}}, %[[Y]][
// SPREAD-NOT: memref.store %{{.*}}, %[[Y]][
gpu.func @adapter(%y: memref<64x64xf32>, %h: memref<64x8xf32>, %b: memref<64x8xf32>, %x: memref<64x96xf32>, %w: memref<64x96xf32>) kernel {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  tile.product %y[%c0, %c0], %h[%c0, %c0], %b[%c0, %c0] size(%c64, %c64, %c8) in [8, 64] transpose_w : memref<64x64xf32>, memref<64x8xf32>, memref<64x8xf32>
  tile.product %y[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0] size(%c64, %c64, %c96) in [96, 64] accumulate transpose_w : memref<64x64xf32>, memref<64x96xf32>, memref<64x96xf32>
  gpu.return
}

// A bias, which is other memory than the sums, is added at the chain's end.
// CHECK-LABEL: gpu.func @adapter_and_bias
// SPREAD-LABEL: gpu.func @adapter_and_bias
// CHECK: simt.chain
// CHECK: tile.product
// CHECK: tile.product
// CHECK: memref.load %{{.*}} : memref<64xf32>
gpu.func @adapter_and_bias(%y: memref<64x64xf32>, %h: memref<64x8xf32>, %b: memref<64x8xf32>, %x: memref<64x96xf32>, %w: memref<64x96xf32>, %bias: memref<64xf32>) kernel {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  tile.product %y[%c0, %c0], %h[%c0, %c0], %b[%c0, %c0] size(%c64, %c64, %c8) in [8, 64] transpose_w : memref<64x64xf32>, memref<64x8xf32>, memref<64x8xf32>
  tile.product %y[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0] size(%c64, %c64, %c96) in [96, 64] accumulate transpose_w : memref<64x64xf32>, memref<64x96xf32>, memref<64x96xf32>
      epilogue (%sum, %i, %j) {
    %v = memref.load %bias[%j] : memref<64xf32>
    %r = arith.addf %sum, %v : f32
    tile.yield %r : f32
  }
  gpu.return
}

// An op that reads the sums themselves would find them as they were before the
// chain.
// CHECK-LABEL: gpu.func @reads_sums
// CHECK-NOT: simt.chain
// CHECK: gpu.return
gpu.func @reads_sums(%y: memref<64x64xf32>, %h: memref<64x8xf32>, %b: memref<64x8xf32>, %x: memref<64x96xf32>, %w: memref<64x96xf32>, %bias: memref<64xf32>) kernel {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  tile.product %y[%c0, %c0], %h[%c0, %c0], %b[%c0, %c0] size(%c64, %c64, %c8) in [8, 64] transpose_w : memref<64x64xf32>, memref<64x8xf32>, memref<64x8xf32>
  tile.product %y[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0] size(%c64, %c64, %c96) in [96, 64] accumulate transpose_w : memref<64x64xf32>, memref<64x96xf32>, memref<64x96xf32>
      epilogue (%sum, %i, %j) {
    %v = memref.load %y[%i, %j] : memref<64x64xf32>
    %r = arith.addf %sum, %v : f32
    tile.yield %r : f32
  }
  gpu.return
}

// A loop that adds products carries the sums; the copy into its operand, which
// is another shared buffer, stays in it.
// CHECK-LABEL: gpu.func @loop
// CHECK: simt.chain
// CHECK-NEXT: scf.for
// CHECK: tile.map
// CHECK: tile.product
// SPREAD-LABEL: gpu.func @loop
// SPREAD: scf.for {{.*}} iter_args(
gpu.func @loop(%x: memref<64x96xf32>, %w: memref<96x64xf32>) workgroup(%c: memref<64x64xf32, #gpu.address_space<workgroup>>, %part: memref<64x32xf32, #gpu.address_space<workgroup>>) kernel {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  scf.for %t = %c0 to %c96 step %c32 {
    tile.map (%i, %j) in (%c64, %c32) {
      %at = arith.addi %t, %j : index
      %v = memref.load %x[%i, %at] : memref<64x96xf32>
      memref.store %v, %part[%i, %j] : memref<64x32xf32, #gpu.address_space<workgroup>>
    }
    tile.product %c[%c0, %c0], %part[%c0, %c0], %w[%t, %c0] size(%c64, %c64, %c32) in [32, 64] accumulate : memref<64x64xf32, #gpu.address_space<workgroup>>, memref<64x32xf32, #gpu.address_space<workgroup>>, memref<96x64xf32>
  }
  gpu.return
}

// A loop that scales them on the way does not.
// CHECK-LABEL: gpu.func @scaled
// CHECK-NOT: simt.chain
gpu.func @scaled(%x: memref<64x96xf32>, %w: memref<96x64xf32>) workgroup(%c: memref<64x64xf32, #gpu.address_space<workgroup>>) kernel {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  scf.for %t = %c0 to %c96 step %c32 {
    tile.map (%i, %j) in (%c64, %c64) {
      %v = memref.load %c[%i, %j] : memref<64x64xf32, #gpu.address_space<workgroup>>
      %s = arith.addf %v, %v : f32
      memref.store %s, %c[%i, %j] : memref<64x64xf32, #gpu.address_space<workgroup>>
    }
    tile.product %c[%c0, %c0], %x[%c0, %t], %w[%t, %c0] size(%c64, %c64, %c32) in [32, 64] accumulate : memref<64x64xf32, #gpu.address_space<workgroup>>, memref<64x96xf32>, memref<96x64xf32>
  }
  gpu.return
}

// Another piece, and sums that were rounded on their way out, begin anew.
// CHECK-LABEL: gpu.func @other_piece
// CHECK-NOT: simt.chain
gpu.func @other_piece(%y: memref<64x64xf32>, %x: memref<64x96xf32>, %w: memref<64x96xf32>) kernel {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c96 = arith.constant 96 : index
  tile.product %y[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0] size(%c32, %c32, %c96) in [96, 64] transpose_w : memref<64x64xf32>, memref<64x96xf32>, memref<64x96xf32>
  tile.product %y[%c0, %c32], %x[%c0, %c0], %w[%c0, %c0] size(%c32, %c32, %c96) in [96, 64] accumulate transpose_w : memref<64x64xf32>, memref<64x96xf32>, memref<64x96xf32>
  gpu.return
}

// An op without declared effects may read the sums, ...
// CHECK-LABEL: gpu.func @unknown_between
// CHECK-NOT: simt.chain
gpu.func @unknown_between(%y: memref<64x64xf32>, %x: memref<64x96xf32>, %w: memref<64x96xf32>) kernel {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  tile.product %y[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0] size(%c64, %c64, %c96) in [96, 64] transpose_w : memref<64x64xf32>, memref<64x96xf32>, memref<64x96xf32>
  "test.unknown"() : () -> ()
  tile.product %y[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0] size(%c64, %c64, %c96) in [96, 64] accumulate transpose_w : memref<64x64xf32>, memref<64x96xf32>, memref<64x96xf32>
  gpu.return
}

// ... in a branch of a loop, too.
// CHECK-LABEL: gpu.func @unknown_in_loop
// CHECK-NOT: simt.chain
gpu.func @unknown_in_loop(%x: memref<64x96xf32>, %w: memref<96x64xf32>, %is: i1) workgroup(%c: memref<64x64xf32, #gpu.address_space<workgroup>>) kernel {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  scf.for %t = %c0 to %c96 step %c32 {
    scf.if %is {
      "test.unknown"() : () -> ()
    }
    tile.product %c[%c0, %c0], %x[%c0, %t], %w[%t, %c0] size(%c64, %c64, %c32) in [32, 64] accumulate : memref<64x64xf32, #gpu.address_space<workgroup>>, memref<64x96xf32>, memref<96x64xf32>
  }
  gpu.return
}
}
