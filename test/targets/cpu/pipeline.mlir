// RUN: hone-opt %s --hone-pipeline-target="target=x86-64-v4" | FileCheck %s --enable-var-scope --check-prefixes=CHECK,V4
// RUN: hone-opt %s --hone-pipeline-target="target=x86-64-v3" | FileCheck %s --enable-var-scope --check-prefixes=CHECK,V3
// RUN: hone-opt %s --hone-pipeline-target="target=aarch64-linux-gnu" | FileCheck %s --enable-var-scope --check-prefixes=CHECK,NEON

// Only the LLVM dialect is left, in vectors of the machine that is asked for.
// CHECK: module attributes {tile.thread_bytes = 24576 : i64}
// CHECK-NOT: {{ (arith|cf|func|math|memref|scf|tile|vector)\.[a-z]}}
// CHECK: llvm.func internal @block.task0
// V4: llvm.call @tile_contract_f32_6x64
// V3: llvm.call @tile_contract_f32_6x16
// NEON: llvm.call @tile_contract_f32_6x16
// CHECK: llvm.func @block(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: !llvm.ptr
// V4: llvm.intr.fmuladd{{.*}} vector<16xf32>
// V3: llvm.intr.fmuladd{{.*}} vector<8xf32>
// NEON: llvm.intr.fmuladd{{.*}} vector<4xf32>
// CHECK-NOT: {{ (arith|cf|func|math|memref|scf|tile|vector)\.[a-z]}}
func.func @block(%frame: !llvm.ptr, %rows: index, %x: memref<256x96xf32>,
                 %w: memref<64x96xf32>, %y: memref<256x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  %k = arith.constant 96 : index
  tile.parallel (%i) in (%c1) private(%p : memref<96x64xf32>) {
    tile.fill %p, %w[%c0, %c0] size(%k, %n) transpose
        : memref<96x64xf32>, memref<64x96xf32>
    tile.contract %y[%c0, %c0], %x[%c0, %c0], %p size(%rows, %n, %k)
        : memref<256x64xf32>, memref<256x96xf32>, memref<96x64xf32>
        epilogue (%acc, %r, %c) {
      %e = math.exp %acc : f32
      tile.yield %e : f32
    }
  }
  return
}
