// RUN: hone-opt %s --split-input-file --hone-cpu-expand-products | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --split-input-file --hone-cpu-expand-products=rounding-kernels | FileCheck %s --enable-var-scope --check-prefix=KERNELS

// The blocks of a long sum: the first writes, the others add, and the last, which
// may be short, runs the epilogue.
// CHECK-LABEL: func.func @long_sums
// CHECK: tile.parallel
// CHECK-SAME: private(%[[PANEL:.*]] : memref<848x64xf32>)
// CHECK: cpu.fill %[[PANEL]], {{.*}} transpose
// CHECK: cpu.contract
// CHECK-NOT: {{accumulate|epilogue}}
// CHECK: scf.for
// CHECK: cpu.fill %[[PANEL]], {{.*}} transpose
// CHECK: cpu.contract {{.*}} accumulate
// CHECK-NOT: epilogue
// CHECK: cpu.fill %[[PANEL]], {{.*}} transpose
// CHECK: cpu.contract {{.*}} accumulate{{.*}} epilogue
// CHECK-NOT: cpu.contract
func.func @long_sums(%y: memref<16x128xf32>, %x: memref<16x2500xf32>,
                     %w: memref<128x2500xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 2500 : index
  tile.parallel (%i) in (%c2) {
    %j = arith.muli %i, %c64 : index
    tile.product %y[%c0, %j], %x[%c0, %c0], %w[%j, %c0] size(%m, %c64, %k)
        in [848, 64] transpose_w
        : memref<16x128xf32>, memref<16x2500xf32>, memref<128x2500xf32>
        epilogue (%sum, %r, %c) {
      %0 = arith.negf %sum : f32
      tile.yield %0 : f32
    }
  }
  return
}

// -----

// Complete sums go elsewhere; the sums so far are then an operand of the
// epilogue.
// CHECK-LABEL: func.func @into
// CHECK-SAME: %[[C:[^:]*]]: memref<16x8xf32>, %[[Z:[^:]*]]: memref<16x8xf32>
// CHECK: cpu.contract %[[Z]]
// CHECK-NOT: accumulate
// CHECK-SAME: epilogue (%[[SUM:.*]], %{{.*}}, %{{.*}}) {
// CHECK: %[[PART:.*]] = memref.load %[[C]]
// CHECK: arith.addf %[[PART]], %[[SUM]]
func.func @into(%c: memref<16x8xf32>, %z: memref<16x8xf32>,
                %x: memref<16x4xf32>, %w: memref<8x4xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  tile.parallel (%i) in (%c1) {
    tile.product %c[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0] size(%m, %c8, %c4)
        in [4, 8] accumulate transpose_w into %z[%c0, %c0]
        : memref<16x8xf32>, memref<16x4xf32>, memref<8x4xf32> into memref<16x8xf32>
  }
  return
}

// -----

// A loop after the product rounds, or kernels with rounding do, unless the
// epilogue is long or has more than arithmetic.
// CHECK-LABEL: func.func @into_bf16
// CHECK-SAME: %[[C:[^:]*]]: memref<16x64xf32>, %[[Z:[^:]*]]: memref<16x64xbf16>
// CHECK: cpu.contract %[[C]]
// CHECK: tile.map
// CHECK: cpu.contract %[[C]]
// CHECK: tile.map
// KERNELS-LABEL: func.func @into_bf16
// KERNELS-SAME: %[[C:[^:]*]]: memref<16x64xf32>, %[[Z:[^:]*]]: memref<16x64xbf16>
// KERNELS: cpu.contract %[[Z]]
// KERNELS-SAME: epilogue (%[[SUM:.*]], %{{.*}}, %{{.*}}) {
// KERNELS: %[[PART:.*]] = memref.load %[[C]]
// KERNELS: arith.addf %[[PART]], %[[SUM]]
// KERNELS-NOT: tile.map
// KERNELS: cpu.contract %[[C]]
// KERNELS: tile.map
// KERNELS: math.exp
func.func @into_bf16(%c: memref<16x64xf32>, %z: memref<16x64xbf16>,
                     %x: memref<16x4xf32>, %w: memref<64x4xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  tile.parallel (%i) in (%c1) {
    tile.product %c[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0] size(%m, %c64, %c4)
        in [4, 64] accumulate transpose_w into %z[%c0, %c0]
        : memref<16x64xf32>, memref<16x4xf32>, memref<64x4xf32> into memref<16x64xbf16>
    tile.product %c[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0] size(%m, %c64, %c4)
        in [4, 64] accumulate transpose_w into %z[%c0, %c0]
        : memref<16x64xf32>, memref<16x4xf32>, memref<64x4xf32> into memref<16x64xbf16>
        epilogue (%sum, %r, %j) {
      %e = math.exp %sum : f32
      tile.yield %e : f32
    }
  }
  return
}

// -----

// Few rows take less time than a copy of their other operand: whole panels of x
// are read where they are.
// CHECK-LABEL: func.func @few_rows
// CHECK-SAME: %[[X:[^:]*]]: memref<16x100xf32>
// CHECK: scf.if
// CHECK-NOT: cpu.fill
// CHECK: cpu.contract {{.*}}, %[[X]][%{{.*}}, %{{.*}}] size(%{{.*}}, %c64{{.*}}) {{.*}}transpose_a
// CHECK: } else {
// CHECK: cpu.fill %{{.*}}, %[[X]]
// CHECK: cpu.contract
func.func @few_rows(%x: memref<16x100xf32>, %da: memref<8x100xf32>,
                    %u: memref<16x8xf32>, %n: index, %rows: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  tile.parallel (%i) in (%c1) {
    tile.product %da[%c0, %n], %u[%c0, %c0], %x[%c0, %n] size(%c8, %n, %rows)
        in [16, 64] accumulate transpose_a few_rows
        : memref<8x100xf32>, memref<16x8xf32>, memref<16x100xf32>
  }
  return
}

// -----

// Few rows of a product with weights fill and multiply the panel piece by piece;
// sums wait in the rest of it. More rows take the whole block.
// CHECK-LABEL: func.func @pieces
// CHECK: tile.parallel {{.*}} private(%[[PANEL:.*]] : memref<500x64xf32>)
// CHECK: arith.cmpi ule
// CHECK: scf.if
// CHECK: %[[SUMS:.*]] = tile.view %[[PANEL]][{{.*}} -> memref<32x64xf32>
// CHECK: scf.for
// CHECK: cpu.fill %[[PANEL]]
// CHECK: cpu.contract %[[SUMS]][{{.*}} from %[[SUMS]]
// CHECK: cpu.fill %[[PANEL]]
// CHECK: cpu.contract {{.*}} from %[[SUMS]]
// CHECK: } else {
// CHECK: cpu.fill %[[PANEL]]
// CHECK: cpu.contract
// CHECK-NOT: from
// CHECK: return
func.func @pieces(%dx: memref<64x64xf32>, %dy: memref<64x500xf32>,
                  %w: memref<500x64xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 500 : index
  tile.parallel (%i) in (%c1) {
    tile.product %dx[%c0, %c0], %dy[%c0, %c0], %w[%c0, %c0] size(%m, %c64, %k)
        in [500, 64] read_ahead
        : memref<64x64xf32>, memref<64x500xf32>, memref<500x64xf32>
  }
  return
}

// -----

// So do few rows of a gradient whose other side must be copied.
// CHECK-LABEL: func.func @gradient_pieces
// CHECK: scf.for
// CHECK: cpu.fill %[[PANEL:[^,]*]], %[[X:[^\[]*]][
// CHECK: cpu.contract {{.*}} transpose_a from {{.*}} ahead %[[X]][
func.func @gradient_pieces(%da: memref<8x64xf32>, %u: memref<500x8xf32>,
                           %x: memref<500x64xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 500 : index
  tile.parallel (%i) in (%c1) {
    tile.product %da[%c0, %c0], %u[%c0, %c0], %x[%c0, %c0] size(%c8, %c64, %k)
        in [500, 64] accumulate transpose_a few_rows
        : memref<8x64xf32>, memref<500x8xf32>, memref<500x64xbf16>
  }
  return
}

// -----

// Few rows, whose sums may have any order, are multiplied with rows of w where
// these are, one by one; a panel's memory has their sums, which then go through
// the epilogue, and scratch. More rows fill it.
// CHECK-LABEL: func.func @dots
// CHECK-SAME: %[[Y:[^:]*]]: memref<16x128xf32>, %[[X:[^:]*]]: memref<16x896xf32>, %[[W:[^:]*]]: memref<128x896xbf16>
// CHECK: arith.cmpi ule
// CHECK: scf.if
// CHECK: %[[SUMS:.*]] = tile.view %[[PANEL:.*]][%{{.*}}] : {{.*}} -> memref<4x64xf32>
// CHECK: %[[SCRATCH:.*]] = tile.view %[[PANEL]][%c1024{{.*}}] : {{.*}} -> memref<1x896xf32>
// CHECK: scf.for %[[I:.*]] =
// CHECK: cpu.dots %[[SUMS]][%[[I]]], %[[X]][%[[I]], %{{.*}}], %[[W]][%{{.*}}], %[[SCRATCH]] :
// CHECK: tile.map
// CHECK: memref.load %[[SUMS]]
// CHECK: arith.negf
// CHECK: memref.store %{{.*}}, %[[Y]]
// CHECK: } else {
// CHECK: cpu.fill
// CHECK-NOT: cpu.dots
// CHECK: return
func.func @dots(%y: memref<16x128xf32>, %x: memref<16x896xf32>,
                %w: memref<128x896xbf16>, %m: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 896 : index
  tile.parallel (%i) in (%c2) {
    %j = arith.muli %i, %c64 : index
    tile.product %y[%c0, %j], %x[%c0, %c0], %w[%j, %c0] size(%m, %c64, %k)
        in [896, 64] transpose_w any_order read_ahead
        : memref<16x128xf32>, memref<16x896xf32>, memref<128x896xbf16>
        epilogue (%sum, %r, %c) {
      %0 = arith.negf %sum : f32
      tile.yield %0 : f32
    }
  }
  return
}

// -----

// Sums in order, rows of a part of w, of a rounded one, or that fill no words, need
// panels.
// CHECK-LABEL: func.func @no_dots
// CHECK-NOT: cpu.dots
// CHECK: return
func.func @no_dots(%y: memref<16x64xf32>, %x: memref<16x896xf32>,
                   %w: memref<64x896xbf16>, %v: memref<64x100xbf16>,
                   %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c100 = arith.constant 100 : index
  %k = arith.constant 896 : index
  tile.parallel (%i) in (%c1) {
    tile.product %y[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0] size(%m, %c64, %k)
        in [896, 64] transpose_w
        : memref<16x64xf32>, memref<16x896xf32>, memref<64x896xbf16>
    tile.product %y[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0] size(%m, %c64, %c100)
        in [896, 64] transpose_w any_order
        : memref<16x64xf32>, memref<16x896xf32>, memref<64x896xbf16>
    tile.product %y[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0] size(%m, %c64, %k)
        in [896, 64] transpose_w rounded any_order
        : memref<16x64xf32>, memref<16x896xf32>, memref<64x896xbf16>
    tile.product %y[%c0, %c0], %x[%c0, %c0], %v[%c0, %c0] size(%m, %c64, %c100)
        in [100, 64] transpose_w any_order
        : memref<16x64xf32>, memref<16x896xf32>, memref<64x100xbf16>
  }
  return
}

// -----

// The conversion of w's elements is done to the panel, at their places in w.
// CHECK-LABEL: func.func @prologue
// CHECK: cpu.fill %[[PANEL:[^,]*]], {{.*}} transpose
// CHECK: tile.map (%[[T:.*]], %[[J:.*]]) in
// CHECK: %[[STORED:.*]] = memref.load %[[PANEL]][%[[T]], %[[J]]]
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %[[J]]
// CHECK: memref.load %{{.*}}[%[[ROW]]] : memref<64xf32>
// CHECK: memref.store %{{.*}}, %[[PANEL]][%[[T]], %[[J]]]
// CHECK: cpu.contract
func.func @prologue(%y: memref<16x64xf32>, %x: memref<16x40xf32>,
                    %w: memref<64x40xf32>, %scales: memref<64xf32>, %j: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.parallel (%i) in (%c1) {
    tile.product %y[%c0, %j], %x[%c0, %c0], %w[%j, %c0] size(%j, %j, %j)
        in [40, 64] transpose_w
        : memref<16x64xf32>, memref<16x40xf32>, memref<64x40xf32>
        prologue (%e, %r, %c) {
      %s = memref.load %scales[%r] : memref<64xf32>
      %m = arith.mulf %e, %s : f32
      tile.yield %m : f32
    }
  }
  return
}

// -----

// Rounded operands lie in pairs, with room to whole blocks of a matrix unit; a result with room for it is written in whole
// panels; equal panels of a loop are one.
// CHECK-LABEL: func.func @rounded
// CHECK: private(%[[PAIRS:.*]] : memref<64x64xbf16>) {
// CHECK: cpu.fill %[[PAIRS]], {{.*}} size(%{{.*}}, %[[N:.*]]) : memref<64x64xbf16>
// CHECK: cpu.contract {{.*}}, %[[PAIRS]] size(%{{.*}}, %c64
// CHECK: cpu.contract {{.*}}, %[[PAIRS]] size(
func.func @rounded(%y: memref<16x128xf32>, %x: memref<16x41xf32>,
                   %w: memref<41x128xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.parallel (%i) in (%c1) {
    tile.product %y[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0] size(%n, %n, %n)
        in [41, 64] rounded padded
        : memref<16x128xf32>, memref<16x41xf32>, memref<41x128xf32>
    tile.product %y[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0] size(%n, %n, %n)
        in [41, 64] rounded
        : memref<16x128xf32>, memref<16x41xf32>, memref<41x128xf32>
  }
  return
}

// -----

// Pairs of few columns have a narrow panel, unless they are for a matrix unit.
// CHECK-LABEL: func.func @rounded_thin
// CHECK: private(%{{.*}} : memref<64x16xbf16>) {
// KERNELS-LABEL: func.func @rounded_thin
// KERNELS: private(%{{.*}} : memref<64x8xbf16>) {
func.func @rounded_thin(%h: memref<16x8xf32>, %x: memref<16x41xbf16>,
                        %a: memref<8x41xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  tile.parallel (%i) in (%c1) {
    tile.product %h[%c0, %c0], %x[%c0, %c0], %a[%c0, %c0] size(%n, %c8, %n)
        in [41, 8] transpose_w rounded few_rows
        : memref<16x8xf32>, memref<16x41xbf16>, memref<8x41xbf16>
  }
  return
}

// -----

// A row is a panel of one.
// CHECK-LABEL: func.func @row
// CHECK: cpu.fill %{{.*}}, %{{.*}}[{{.*}}] size(%c1, %{{.*}}) scales %{{.*}} biases %{{.*}} bits 4
func.func @row(%to: memref<1x64xf32>, %q: memref<8x32xi8>, %s: memref<8x2xf32>,
               %b: memref<8x2xf32>, %n: index) {
  tile.read_row %to, %q[%n, %n] size %n scales %s biases %b bits 4
      : memref<1x64xf32>, memref<8x32xi8>, memref<8x2xf32>, memref<8x2xf32>
  return
}
