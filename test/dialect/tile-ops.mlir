// RUN: hone-opt %s | hone-opt | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --emit-bytecode | hone-opt | FileCheck %s --enable-var-scope

// CHECK-LABEL: func @view
func.func @view(%frame: !llvm.ptr, %offset: index) -> memref<256x896xf32> {
  // CHECK: tile.view %{{.*}}[%{{.*}}] : !llvm.ptr -> memref<256x896xf32>
  %x = tile.view %frame[%offset] : !llvm.ptr -> memref<256x896xf32>
  return %x : memref<256x896xf32>
}

// CHECK-LABEL: func @parallel
func.func @parallel(%frame: !llvm.ptr, %count: index, %w: memref<128x96xbf16>) {
  %c0 = arith.constant 0 : index
  // CHECK: tile.parallel (%[[I:.*]]) in (%{{.*}}) private(%[[P:.*]] : memref<96x64xf32>) {
  // CHECK-NOT: tile.yield
  tile.parallel (%i) in (%count) private(%p : memref<96x64xf32>) {
    // CHECK: tile.fill %[[P]], %{{.*}}[%[[I]], %{{.*}}] size(%{{.*}}, %{{.*}}) transpose : memref<96x64xf32>, memref<128x96xbf16>
    tile.fill %p, %w[%i, %c0] size(%count, %count) transpose
        : memref<96x64xf32>, memref<128x96xbf16>
  }
  // CHECK: tile.parallel (%{{.*}}) in (%{{.*}}) {
  tile.parallel (%i) in (%count) {
  }
  return
}

// CHECK-LABEL: func @packed
func.func @packed(%p: memref<96x64xf32>, %q: memref<128x48xi8>,
                  %s: memref<128x3xf32>, %n: index) {
  // CHECK: tile.fill %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] size(%{{.*}}, %{{.*}}) transpose scales %[[S:.*]] biases %[[S]] bits 4 : memref<96x64xf32>, memref<128x48xi8>, memref<128x3xf32>, memref<128x3xf32>
  tile.fill %p, %q[%n, %n] size(%n, %n) transpose scales %s biases %s bits 4
      : memref<96x64xf32>, memref<128x48xi8>, memref<128x3xf32>, memref<128x3xf32>
  return
}

// CHECK-LABEL: func @contract
func.func @contract(%c: memref<8x64xf64>, %a: memref<8x32xf64>,
                    %p: memref<32x16xf64>, %c32: memref<8x64xf32>,
                    %a32: memref<8x32xf32>, %p16: memref<32x16xbf16>,
                    %m: index) {
  // CHECK: tile.contract {{.*}} : memref<8x64xf32>, memref<8x32xf32>, memref<32x16xbf16>
  tile.contract %c32[%m, %m], %a32[%m, %m], %p16 size(%m, %m, %m)
      : memref<8x64xf32>, memref<8x32xf32>, memref<32x16xbf16>
  // CHECK: tile.contract {{.*}} ahead %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] : {{.*}}, memref<8x32xf64>
  tile.contract %c[%m, %m], %a[%m, %m], %p size(%m, %m, %m)
      ahead %a[%m, %m, %m, %m]
      : memref<8x64xf64>, memref<8x32xf64>, memref<32x16xf64>, memref<8x32xf64>
  // CHECK: tile.contract %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} size(%{{.*}}, %{{.*}}, %{{.*}}) : memref<8x64xf64>, memref<8x32xf64>, memref<32x16xf64>
  tile.contract %c[%m, %m], %a[%m, %m], %p size(%m, %m, %m)
      : memref<8x64xf64>, memref<8x32xf64>, memref<32x16xf64>
  // CHECK: tile.contract {{.*}}, %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}[%{{.*}}, %{{.*}}] size(
  tile.contract %c[%m, %m], %a[%m, %m], %p[%m, %m] size(%m, %m, %m)
      : memref<8x64xf64>, memref<8x32xf64>, memref<32x16xf64>
  // CHECK: tile.contract {{.*}} from %{{.*}}[%{{.*}}, %{{.*}}] ahead {{.*}} from memref<8x64xf64>, memref<8x32xf64>
  tile.contract %c[%m, %m], %a[%m, %m], %p size(%m, %m, %m) from %c[%m, %m]
      ahead %a[%m, %m, %m, %m]
      : memref<8x64xf64>, memref<8x32xf64>, memref<32x16xf64> from memref<8x64xf64>, memref<8x32xf64>
  // CHECK: accumulate transpose_a : {{.*}} epilogue (%[[ACC:.*]], %{{.*}}, %{{.*}}) {
  // CHECK: tile.yield %[[ACC]] : f64
  tile.contract %c[%m, %m], %a[%m, %m], %p size(%m, %m, %m)
      accumulate transpose_a
      : memref<8x64xf64>, memref<8x32xf64>, memref<32x16xf64>
      epilogue (%acc, %i, %j) {
    tile.yield %acc : f64
  }
  return
}

// CHECK-LABEL: func @loops
func.func @loops(%x: memref<8x64xf32>, %m: index, %n: index) -> (f32, f32) {
  // CHECK: tile.map (%[[I:.*]], %[[J:.*]]) in (%{{.*}}, %{{.*}}) {
  // CHECK-NOT: tile.yield
  tile.map (%i, %j) in (%m, %n) {
    %v = memref.load %x[%i, %j] : memref<8x64xf32>
    memref.store %v, %x[%i, %j] : memref<8x64xf32>
  }
  // CHECK: tile.map (%{{.*}}) in (%{{.*}}) {
  tile.map (%i) in (%m) {
  }
  // CHECK: %{{.*}}:2 = tile.reduce (%[[J:.*]]) in (%{{.*}}) combine [add, max] : f32, f32 {
  // CHECK: tile.yield %{{.*}}, %{{.*}} : f32, f32
  %r:2 = tile.reduce (%j) in (%n) combine [add, max] : f32, f32 {
    %v = memref.load %x[%m, %j] : memref<8x64xf32>
    tile.yield %v, %v : f32, f32
  }
  return %r#0, %r#1 : f32, f32
}

// CHECK-LABEL: func @residency
func.func @residency(%w: memref<32x8xi8>, %row: index, %count: index) {
  // CHECK: tile.prefetch %{{.*}}[%{{.*}}] size %{{.*}} : memref<32x8xi8>
  tile.prefetch %w[%row] size %count : memref<32x8xi8>
  // CHECK: tile.release %{{.*}}[%{{.*}}] size %{{.*}} : memref<32x8xi8>
  tile.release %w[%row] size %count : memref<32x8xi8>
  return
}
