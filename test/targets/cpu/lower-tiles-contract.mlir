// RUN: hone-opt %s --hone-cpu-lower-tiles="vector-bits=512 vector-registers=32 masked-memory" | FileCheck %s --enable-var-scope --check-prefixes=CHECK,WIDE
// RUN: hone-opt %s --hone-cpu-lower-tiles="vector-bits=256 vector-registers=16" | FileCheck %s --enable-var-scope --check-prefixes=CHECK,NARROW

// Whole strips of columns go from the registers to the result, with a bias.
// CHECK-LABEL: func @product
// CHECK-NOT: memref.alloca
// CHECK-NOT: scf.for
// WIDE-COUNT-1: call @tile_contract_f32_6x64_addf_j(
// NARROW-COUNT-4: call @tile_contract_f32_6x16_addf_j(
// CHECK-NOT: call
// CHECK: return
func.func @product(%c: memref<32x64xf32>, %a: memref<32x96xf32>,
                   %p: memref<96x64xf32>, %bias: memref<64xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 64 : index
  %k = arith.constant 96 : index
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %k)
      : memref<32x64xf32>, memref<32x96xf32>, memref<96x64xf32>
      epilogue (%acc, %i, %j) {
    %b = memref.load %bias[%j] : memref<64xf32>
    %r = arith.addf %acc, %b : f32
    cpu.yield %r : f32
  }
  return
}

// A kernel rounds its stores to a matrix of bf16, which it prefetches before it
// multiplies.
// CHECK-LABEL: func @into_bf16
// CHECK-NOT: scf.for
// WIDE: call @tile_contract_f32_6x64_rounded_addf_ij(
// NARROW: call @tile_contract_f32_6x16_rounded_addf_ij(
// CHECK: return
func.func @into_bf16(%z: memref<32x64xbf16>, %c: memref<32x64xf32>,
                     %a: memref<32x96xf32>, %p: memref<96x64xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 64 : index
  %k = arith.constant 96 : index
  cpu.contract %z[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %k)
      : memref<32x64xbf16>, memref<32x96xf32>, memref<96x64xf32>
      epilogue (%acc, %i, %j) {
    %before = memref.load %c[%i, %j] : memref<32x64xf32>
    %r = arith.addf %before, %acc : f32
    cpu.yield %r : f32
  }
  return
}

// An epilogue that kernels cannot run, here one that computes with the column's
// number: row tiles pass through scratch.
// CHECK-LABEL: func @other_epilogue
// CHECK: %[[SCRATCH:.*]] = memref.alloca() {alignment = 64 : i64}
// WIDE-SAME: memref<6x64xf32>
// CHECK: scf.for
// WIDE: call @tile_contract_f32_6x64(
// NARROW: call @tile_contract_f32_6x16(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[ACC:.*]] = vector.load %[[SCRATCH]]
// CHECK: arith.mulf %[[ACC]]
// CHECK: vector.store
func.func @other_epilogue(%c: memref<32x64xf32>, %a: memref<32x96xf32>,
                          %p: memref<96x64xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 64 : index
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %n)
      : memref<32x64xf32>, memref<32x96xf32>, memref<96x64xf32>
      epilogue (%acc, %i, %j) {
    %word = arith.index_cast %j : index to i32
    %number = arith.sitofp %word : i32 to f32
    %r = arith.mulf %acc, %number : f32
    cpu.yield %r : f32
  }
  return
}

// Operands of an epilogue are arguments of the kernel: where the first element
// reads each, 1 + i rows down, and how far the rows of this one are apart.
// CHECK-LABEL: func @operands
// CHECK-SAME: %[[X:[^:]*]]: memref<33x80xf32>, %[[S:[^:]*]]: f32
// CHECK: %[[DOWN:.*]] = arith.addi %{{.*}}, %c1
// CHECK: memref.extract_aligned_pointer_as_index %[[X]]
// CHECK: %[[AT:.*]] = llvm.getelementptr
// CHECK: %[[STRIDE:.*]] = arith.constant 80 : index
// CHECK: %[[ROW:.*]] = arith.index_cast %[[STRIDE]]
// WIDE: call @tile_contract_f32_6x64_mulf_s_addf_ij({{.*}}, %[[S]], %[[AT]], %[[ROW]], %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) :
func.func @operands(%c: memref<32x64xf32>, %a: memref<32x96xf32>,
                    %p: memref<96x64xf32>, %x: memref<33x80xf32>, %s: f32,
                    %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %n)
      : memref<32x64xf32>, memref<32x96xf32>, memref<96x64xf32>
      epilogue (%acc, %i, %j) {
    %below = arith.addi %i, %c1 : index
    %y = memref.load %x[%below, %j] : memref<33x80xf32>
    %scaled = arith.mulf %acc, %s : f32
    %r = arith.addf %scaled, %y : f32
    cpu.yield %r : f32
  }
  return
}

// Products whose epilogues differ in operands only share a kernel; those that
// compute something else of the same name do not.
// CHECK-LABEL: func @shared
// WIDE: call @tile_contract_f32_6x64_subf_ij(
// WIDE: call @tile_contract_f32_6x64_subf_ij(
// WIDE: call @tile_contract_f32_6x64_subf_ij_2(
func.func @shared(%c: memref<32x64xf32>, %a: memref<32x96xf32>,
                  %p: memref<96x64xf32>, %x: memref<32x64xf32>,
                  %y: memref<48x128xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 64 : index
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %n)
      : memref<32x64xf32>, memref<32x96xf32>, memref<96x64xf32>
      epilogue (%acc, %i, %j) {
    %z = memref.load %x[%i, %j] : memref<32x64xf32>
    %r = arith.subf %acc, %z : f32
    cpu.yield %r : f32
  }
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %n)
      : memref<32x64xf32>, memref<32x96xf32>, memref<96x64xf32>
      epilogue (%acc, %i, %j) {
    %z = memref.load %y[%i, %j] : memref<48x128xf32>
    %r = arith.subf %acc, %z : f32
    cpu.yield %r : f32
  }
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %n)
      : memref<32x64xf32>, memref<32x96xf32>, memref<96x64xf32>
      epilogue (%acc, %i, %j) {
    %z = memref.load %x[%i, %j] : memref<32x64xf32>
    %r = arith.subf %z, %acc : f32
    cpu.yield %r : f32
  }
  return
}

// The number of columns decides at run time.
// CHECK-LABEL: func @unknown_columns
// CHECK: scf.if
// WIDE: call @tile_contract_f32_6x64_accumulate_mulf_s(
// CHECK: } else {
// CHECK: scf.for
// WIDE: call @tile_contract_f32_6x64(
func.func @unknown_columns(%c: memref<32x64xf32>, %a: memref<32x96xf32>,
                           %p: memref<96x64xf32>, %m: index, %n: index,
                           %scale: f32) {
  %c0 = arith.constant 0 : index
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %m) accumulate
      : memref<32x64xf32>, memref<32x96xf32>, memref<96x64xf32>
      epilogue (%acc, %i, %j) {
    %r = arith.mulf %acc, %scale : f32
    cpu.yield %r : f32
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
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %m) transpose_a
      : memref<32x8xf32>, memref<32x96xf32>, memref<96x64xf32>
  return
}

// A matrix in place of a panel: its own rows, from the position on.
// CHECK-LABEL: func @in_place
// CHECK-SAME: %[[MATRIX:[^:]*]]: memref<96x896xf32>, %[[M:[^:]*]]: index)
// CHECK: %[[START:.*]] = memref.extract_aligned_pointer_as_index %[[MATRIX]]
// CHECK: %[[WORD:.*]] = arith.index_cast %[[START]]
// CHECK: %[[BASE:.*]] = llvm.inttoptr %[[WORD]]
// CHECK: %[[PANEL:.*]] = llvm.getelementptr %[[BASE]]
// CHECK: %[[LD:.*]] = arith.index_cast %c896
// CHECK: call @tile_contract_{{[^(]*}}(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[PANEL]], %[[LD]],
func.func @in_place(%c: memref<32x64xf32>, %a: memref<32x96xf32>,
                    %x: memref<96x896xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 64 : index
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %x[%m, %n] size(%m, %n, %m)
      : memref<32x64xf32>, memref<32x96xf32>, memref<96x896xf32>
  return
}

// Columns that are half a vector of the machine's.
// CHECK-LABEL: func @narrow_in_place
// CHECK: call @tile_contract_f32_8x8(
// CHECK-NOT: call
// CHECK: return
func.func @narrow_in_place(%c: memref<32x8xf32>, %a: memref<32x96xf32>,
                           %b: memref<96x8xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 8 : index
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %b[%c0, %c0] size(%m, %n, %m)
      : memref<32x8xf32>, memref<32x96xf32>, memref<96x8xf32>
  return
}

// Sums that start from a matrix: its address and stride; the others from null.
// CHECK-LABEL: func @from_sums
// CHECK-SAME: %[[SUMS:[^:]*]]: memref<32x64xf32>, %[[M:[^:]*]]: index)
// CHECK: %[[START:.*]] = memref.extract_aligned_pointer_as_index %[[SUMS]]
// CHECK: %[[WORD:.*]] = arith.index_cast %[[START]]
// CHECK: %[[BASE:.*]] = llvm.inttoptr %[[WORD]]
// CHECK: %[[FROM:.*]] = llvm.getelementptr %[[BASE]]
// CHECK: %[[STRIDE:.*]] = arith.index_cast %c64
// CHECK: call @tile_contract_{{[^(]*}}({{.*}}, %[[FROM]], %[[STRIDE]],
// CHECK: %[[NULL:.*]] = llvm.mlir.zero
// CHECK: call @tile_contract_{{[^(]*}}({{.*}}, %[[NULL]],
func.func @from_sums(%c: memref<32x64xf32>, %a: memref<32x96xf32>,
                     %p: memref<96x16xf32>, %s: memref<32x64xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 8 : index
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p[%c0, %c0] size(%m, %n, %m) from %s[%c0, %c0]
      : memref<32x64xf32>, memref<32x96xf32>, memref<96x16xf32> from memref<32x64xf32>
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p[%c0, %c0] size(%m, %n, %m)
      : memref<32x64xf32>, memref<32x96xf32>, memref<96x16xf32>
  return
}

// The prefetched memory: the address, bytes of a row, lines of a row, all
// lines.
// CHECK-LABEL: func @ahead
// CHECK: %[[AT:.*]] = llvm.getelementptr %{{.*}} : (!llvm.ptr, i64) -> !llvm.ptr, bf16
// CHECK: call @tile_contract_{{.*}}, %[[AT]], %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) :
func.func @ahead(%c: memref<32x64xf32>, %a: memref<32x96xf32>,
                 %p: memref<96x64xf32>, %w: memref<64x96xbf16>, %m: index) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 64 : index
  cpu.contract %c[%c0, %c0], %a[%c0, %c0], %p size(%m, %n, %n)
      ahead %w[%c0, %m, %n, %m]
      : memref<32x64xf32>, memref<32x96xf32>, memref<96x64xf32>, memref<64x96xbf16>
  return
}

// The kernel is shared, kept out of line, and free of anything but loads and
// fused multiply-adds in its inner loop. Only its last prefetches are of the
// next operands.
// CHECK: func.func private @tile_contract_f32_6x{{.*}} attributes {passthrough = ["noinline"]}
// CHECK: %[[ASKING:.*]] = arith.constant 682 : i64
// CHECK: arith.minsi %{{.*}}, %[[ASKING]] : i64
// CHECK: scf.index_switch
// CHECK: scf.for
// CHECK: llvm.intr.prefetch
// WIDE: scf.for {{.*}} -> (vector<16xf32>
// NARROW: scf.for {{.*}} -> (vector<8xf32>
// CHECK-NOT: llvm.store
// CHECK: vector.fma
// CHECK: scf.yield
// CHECK: llvm.store

// CHECK: func.func private @tile_contract_f32_{{.*}}_rounded_addf_ij(
// CHECK: "llvm.intr.prefetch"({{.*}}rw = 1
// CHECK: scf.index_switch
// WIDE: arith.truncf {{.*}} : vector<16xf32> to vector<16xbf16>
// NARROW: arith.truncf {{.*}} : vector<8xf32> to vector<8xbf16>
