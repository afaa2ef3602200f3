// RUN: hone-opt %s --hone-reference-lower-tiles | FileCheck %s --enable-var-scope

// A product is three loops, and a fourth over the blocks of its terms; the
// first block's sum is added to the old contents.
// CHECK-LABEL: func.func @product
// CHECK-SAME: %[[C:[^:]*]]: memref<8x24xf32>, %[[A:[^:]*]]: memref<8x40xf32>, %[[W:[^:]*]]: memref<24x40xbf16>
// CHECK: scf.for %[[I:.*]] =
// CHECK: scf.for %[[J:.*]] =
// CHECK: %[[FIRST:.*]] = scf.for %[[T:.*]] = {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (f32)
// CHECK: %[[LEFT:.*]] = memref.load %[[A]]
// CHECK: %[[STORED:.*]] = memref.load %[[W]]
// CHECK: %[[RIGHT:.*]] = arith.extf %[[STORED]] : bf16 to f32
// CHECK: math.fma %[[LEFT]], %[[RIGHT]], %[[SUM]] : f32
// CHECK: %[[OLD:.*]] = memref.load %[[C]]
// CHECK: %[[START:.*]] = arith.addf %[[OLD]], %[[FIRST]]
// CHECK: %[[ALL:.*]] = scf.for {{.*}} iter_args(%[[BEFORE:.*]] = %[[START]])
// CHECK: %[[BLOCK:.*]] = scf.for
// CHECK: arith.addf %[[BEFORE]], %[[BLOCK]]
// CHECK: %[[RESULT:.*]] = arith.negf %[[ALL]]
// CHECK: memref.store %[[RESULT]], %[[C]]
// CHECK-NOT: tile.product
func.func @product(%c: memref<8x24xf32>, %a: memref<8x40xf32>,
                   %w: memref<24x40xbf16>, %m: index, %k: index) {
  %c0 = arith.constant 0 : index
  tile.product %c[%c0, %c0], %a[%c0, %c0], %w[%c0, %c0] size(%m, %m, %k)
      in [16, 24] accumulate transpose_w read_ahead
      : memref<8x24xf32>, memref<8x40xf32>, memref<24x40xbf16>
      epilogue (%sum, %i, %j) {
    %r = arith.negf %sum : f32
    tile.yield %r : f32
  }
  return
}

// Half a byte, widened, times its group's scale and more.
// CHECK-LABEL: func.func @row
// CHECK: %[[BYTE:.*]] = memref.load %{{.*}} : memref<8x32xi8>
// CHECK: %[[MOVED:.*]] = arith.shrui %[[BYTE]]
// CHECK: %[[NUMBER:.*]] = arith.andi %[[MOVED]]
// CHECK: %[[FLOAT:.*]] = arith.uitofp %[[NUMBER]] : i8 to f32
// CHECK: math.fma %{{.*}}, %[[FLOAT]], %{{.*}} : f32
func.func @row(%to: memref<1x64xf32>, %q: memref<8x32xi8>, %s: memref<8x2xf32>,
               %n: index) {
  tile.read_row %to, %q[%n, %n] size %n release scales %s biases %s bits 4
      : memref<1x64xf32>, memref<8x32xi8>, memref<8x2xf32>, memref<8x2xf32>
  return
}

// Sums run upwards from the identity.
// CHECK-LABEL: func.func @sum
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: scf.for %{{.*}} iter_args(%[[BEFORE:.*]] = %[[ZERO]])
// CHECK: arith.addf %[[BEFORE]], %{{.*}} : f32
func.func @sum(%x: memref<64xf32>, %n: index) -> f32 {
  %r = tile.reduce (%j) in (%n) combine [add] : f32 {
    %v = memref.load %x[%j] : memref<64xf32>
    tile.yield %v : f32
  }
  return %r : f32
}

// Points of a box are turns of two loops.
// CHECK-LABEL: func.func @each
// CHECK: scf.for %[[I:.*]] =
// CHECK: scf.for %[[J:.*]] =
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: memref.store %[[SUM]], %{{.*}}[%[[I]], %[[J]]]
// CHECK-NOT: tile.each
func.func @each(%x: memref<64xf32>, %y: memref<8x4xf32>, %m: index, %n: index) {
  tile.each (%i, %j) in (%m, %n) {
    %r = tile.reduce (%c) in (%n) combine [add] : f32 {
      %v = memref.load %x[%c] : memref<64xf32>
      tile.yield %v : f32
    }
    memref.store %r, %y[%i, %j] : memref<8x4xf32>
  }
  return
}
