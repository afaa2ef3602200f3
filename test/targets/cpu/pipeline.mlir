// RUN: hone-opt %s --hone-pipeline-target="target=x86-64-v4" | FileCheck %s --enable-var-scope --check-prefixes=CHECK,V4
// RUN: hone-opt %s --hone-pipeline-target="target=x86-64-v3" | FileCheck %s --enable-var-scope --check-prefixes=CHECK,V3
// RUN: hone-opt %s --hone-pipeline-target="target=aarch64-linux-gnu" | FileCheck %s --enable-var-scope --check-prefixes=CHECK,NEON

// Only the LLVM dialect is left, in vectors of the machine that is asked for.
// CHECK: module attributes {{.*}}tile.thread_bytes = 24576 : i64
// CHECK-NOT: {{ (arith|cf|cpu|func|math|memref|scf|tile|vector)\.[a-z]}}
// CHECK: llvm.func internal @block.task0
// V4: llvm.call @tile_contract_f32_6x64
// V3: llvm.call @tile_contract_f32_6x16
// NEON: llvm.call @tile_contract_f32_6x16
// CHECK: llvm.func @block(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: !llvm.ptr
// V4: llvm.intr.fmuladd{{.*}} vector<16xf32>
// V3: llvm.intr.fmuladd{{.*}} vector<8xf32>
// NEON: llvm.intr.fmuladd{{.*}} vector<4xf32>
// CHECK-NOT: {{ (arith|cf|cpu|func|math|memref|scf|tile|vector)\.[a-z]}}
func.func @block(%rows: index, %x: memref<256x96xf32>,
                 %w: memref<64x96xf32>, %y: memref<256x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  %k = arith.constant 96 : index
  tile.parallel (%i) in (%c1) {
    tile.product %y[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0]
        size(%rows, %n, %k) in [96, 64] transpose_w
        : memref<256x64xf32>, memref<256x96xf32>, memref<64x96xf32>
        epilogue (%acc, %r, %c) {
      %e = math.exp %acc : f32
      tile.yield %e : f32
    }
  }
  return
}
