// RUN: hone-opt %s --hone-cpu-lower-tiles="vector-bits=512 vector-registers=32 masked-memory bfloat16-dots" | FileCheck %s --enable-var-scope

// The destination of a long product of pairs is prefetched before its last
// terms.
// CHECK-LABEL: func @adds
// CHECK: call @tile_contract_bf16_6x64_from_bf16_accumulate(
// CHECK: func.func private @tile_contract_bf16_6x64_from_bf16_accumulate(
// CHECK: scf.index_switch
// CHECK: scf.if
// CHECK: "llvm.intr.prefetch"({{.*}}rw = 1
// CHECK: dpbf16ps
func.func @adds(%c: memref<32x64xf32>, %a: memref<32x96xbf16>,
                %p: memref<96x64xbf16>, %m: index) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 64 : index
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %m) accumulate
      : memref<32x64xf32>, memref<32x96xbf16>, memref<96x64xbf16>
  return
}
