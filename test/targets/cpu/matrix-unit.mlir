// RUN: hone-opt %s --hone-cpu-lower-tiles="vector-bits=512 vector-registers=32 masked-memory bfloat16-dots bfloat16-unit" | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --hone-cpu-lower-tiles="vector-bits=512 vector-registers=32 masked-memory bfloat16-dots" | FileCheck %s --check-prefix=DOTS

// Whole panels go to the result at once.
// CHECK-LABEL: func @whole
// CHECK: call @tile_contract_bf16_32x64_from_bf16(
// CHECK-NOT: tile.map
func.func @whole(%c: memref<64x64xf32>, %a: memref<64x96xbf16>,
                 %p: memref<96x64xbf16>, %m: index, %k: index) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 64 : index
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %k)
      : memref<64x64xf32>, memref<64x96xbf16>, memref<96x64xbf16>
  return
}

// The op after a product runs after it, on as many rows as a kernel has.
// CHECK-LABEL: func @epilogue
// CHECK: scf.for {{.*}} step %c32
// CHECK: call @tile_contract_bf16_32x64(
// CHECK: arith.mulf
func.func @epilogue(%c: memref<64x64xf32>, %a: memref<64x96xf32>,
                    %p: memref<96x64xbf16>, %m: index, %k: index, %s: f32) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 64 : index
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %k)
      : memref<64x64xf32>, memref<64x96xf32>, memref<96x64xbf16>
      epilogue (%sum, %i, %j) {
    %r = arith.mulf %sum, %s : f32
    cpu.yield %r : f32
  }
  return
}

// Four squares of sums stay in registers along the terms; rows of bf16 are read
// where they are.
// CHECK: func.func private @tile_contract_bf16_32x64_from_bf16(
// CHECK: scf.for {{.*}} -> (!llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx)
// CHECK: arith.select {{.*}} : !llvm.ptr
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"
// CHECK: scf.yield
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64.internal"

// DOTS-NOT: amx
