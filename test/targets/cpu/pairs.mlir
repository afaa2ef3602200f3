// RUN: hone-opt %s --hone-cpu-lower-tiles="vector-bits=512 vector-registers=32 masked-memory bfloat16-dots" | FileCheck %s --enable-var-scope

// A product of few terms, as an adapter has, runs in a kernel that knows how
// many: no bursts, and no memory to ask for.
// CHECK-LABEL: func @adapter
// CHECK: call @tile_contract_bf16_6x64_of_8(
func.func @adapter(%c: memref<32x64xf32>, %h: memref<32x8xf32>,
                   %p: memref<8x64xbf16>, %m: index) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 64 : index
  %k = arith.constant 8 : index
  cpu.contract %c[%c0, %c0], %h[%c0, %c0], %p size(%m, %n, %k)
      : memref<32x64xf32>, memref<32x8xf32>, memref<8x64xbf16>
  return
}

// More terms, terms that are not known, and memory that is needed next are for
// the kernel of any number.
// CHECK-LABEL: func @other_products
// CHECK: call @tile_contract_bf16_6x64(
// CHECK: call @tile_contract_bf16_6x64(
// CHECK: call @tile_contract_bf16_6x64(
// CHECK-NOT: call
func.func @other_products(%c: memref<32x64xf32>, %a: memref<32x96xf32>,
                          %p: memref<96x64xbf16>, %w: memref<64x8xbf16>,
                          %m: index) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 64 : index
  %few = arith.constant 8 : index
  %more = arith.constant 18 : index
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %more)
      : memref<32x64xf32>, memref<32x96xf32>, memref<96x64xbf16>
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %m)
      : memref<32x64xf32>, memref<32x96xf32>, memref<96x64xbf16>
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %few)
      ahead %w[%c0, %c0, %n, %few]
      : memref<32x64xf32>, memref<32x96xf32>, memref<96x64xbf16>, memref<64x8xbf16>
  return
}

// CHECK-LABEL: func.func private @tile_contract_bf16_6x64_of_8(
// CHECK-NOT: llvm.intr.prefetch
// CHECK: return

// Rows and the next operands are prefetched into the second-level cache: the
// panel runs through the nearest one.
// CHECK-LABEL: func.func private @tile_contract_bf16_6x64(
// CHECK-NOT: hint = 3
// CHECK: "llvm.intr.prefetch"({{.*}}hint = 2
// CHECK-NOT: hint = 3
// CHECK: return
