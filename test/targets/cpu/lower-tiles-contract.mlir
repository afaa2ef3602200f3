// RUN: hone-opt %s --hone-cpu-lower-tiles="vector-bits=512 vector-registers=32 masked-memory" | FileCheck %s --enable-var-scope --check-prefixes=CHECK,WIDE
// RUN: hone-opt %s --hone-cpu-lower-tiles="vector-bits=256 vector-registers=16" | FileCheck %s --enable-var-scope --check-prefixes=CHECK,NARROW

// A product is a loop over row tiles that calls the kernel and carries its
// result through the epilogue.
// CHECK-LABEL: func @product
// CHECK: %[[SCRATCH:.*]] = memref.alloca() {alignment = 64 : i64}
// WIDE-SAME: memref<6x64xf32>
// CHECK: scf.for
// WIDE: call @tile_contract_f32_6x64(
// NARROW: call @tile_contract_f32_6x16(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[ACC:.*]] = vector.load %[[SCRATCH]]
// CHECK: vector.load %{{.*}} : memref<64xf32>
// CHECK: arith.addf %[[ACC]]
// CHECK: vector.store
func.func @product(%c: memref<32x64xf32>, %a: memref<32x96xf32>,
                   %p: memref<96x64xf32>, %bias: memref<64xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 64 : index
  %k = arith.constant 96 : index
  tile.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %k)
      : memref<32x64xf32>, memref<32x96xf32>, memref<96x64xf32>
      epilogue (%acc, %i, %j) {
    %b = memref.load %bias[%j] : memref<64xf32>
    %r = arith.addf %acc, %b : f32
    tile.yield %r : f32
  }
  return
}

// A product that is known to be narrow pays for one vector of columns only.
// CHECK-LABEL: func @narrow_product
// WIDE: call @tile_contract_f32_8x16(
// NARROW: call @tile_contract_f32_8x8(
// CHECK-NOT: call
// CHECK: return
func.func @narrow_product(%c: memref<32x8xf32>, %a: memref<32x96xf32>,
                          %p: memref<96x64xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 8 : index
  tile.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %m) transpose_a
      : memref<32x8xf32>, memref<32x96xf32>, memref<96x64xf32>
  return
}

// The kernel is shared, kept out of line, and free of anything but loads and
// fused multiply-adds in its loop.
// CHECK: func.func private @tile_contract_f32_6x{{.*}} attributes {passthrough = ["noinline"]}
// WIDE: scf.for {{.*}} -> (vector<16xf32>
// NARROW: scf.for {{.*}} -> (vector<8xf32>
// CHECK-NOT: llvm.store
// CHECK: vector.fma
// CHECK: scf.yield
// CHECK: llvm.store
