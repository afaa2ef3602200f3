// RUN: hone-opt %s | hone-opt | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --emit-bytecode | hone-opt | FileCheck %s --enable-var-scope

// CHECK-LABEL: func @entry() attributes {tile.entry}
func.func @entry() attributes {tile.entry} {
  %c3 = arith.constant 3 : index
  // CHECK: %[[ARENA:.*]] = tile.base arena : !tile.memory
  %arena = tile.base arena : !tile.memory
  // CHECK: tile.base batch
  %batch = tile.base batch : !tile.memory
  // CHECK: tile.base work
  %work = tile.base work : !tile.memory
  // CHECK: tile.rows : index
  %rows = tile.rows : index
  // CHECK: tile.offset 3 : index
  %offset = tile.offset 3 : index
  // CHECK: tile.weight 3 : memref<4864x896xf32>
  %w = tile.weight 3 : memref<4864x896xf32>
  // CHECK: %[[MASK:.*]] = tile.argument 0 : memref<24xi64>
  %mask = tile.argument 0 : memref<24xi64>
  // CHECK: tile.number %[[MASK]][%{{.*}}] : memref<24xi64>
  %number = tile.number %mask[%c3] : memref<24xi64>
  // CHECK: tile.view %[[ARENA]][%{{.*}}] : !tile.memory -> memref<256x896xf32>
  %x = tile.view %arena[%c3] : !tile.memory -> memref<256x896xf32>
  // CHECK: tile.view %[[ARENA]][%{{.*}}] : !tile.memory -> !tile.memory
  %m = tile.view %arena[%c3] : !tile.memory -> !tile.memory
  return
}

// CHECK-LABEL: func @parallel
func.func @parallel(%count: index, %x: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  // CHECK: tile.parallel (%[[I:.*]]) in (%{{.*}}) private(%[[P:.*]] : memref<64xf32>) {
  // CHECK-NOT: tile.yield
  tile.parallel (%i) in (%count) private(%p : memref<64xf32>) {
    memref.store %zero, %p[%i] : memref<64xf32>
  }
  // CHECK: tile.parallel (%{{.*}}) in (%{{.*}}) {
  tile.parallel (%i) in (%count) {
  }
  return
}

// CHECK-LABEL: func @read_row
func.func @read_row(%to: memref<1x64xf32>, %w: memref<8x64xbf16>,
                    %q: memref<8x32xi8>, %s: memref<8x2xf32>, %n: index) {
  // CHECK: tile.read_row %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] size %{{.*}} release : memref<1x64xf32>, memref<8x64xbf16>
  tile.read_row %to, %w[%n, %n] size %n release
      : memref<1x64xf32>, memref<8x64xbf16>
  // CHECK: tile.read_row {{.*}} scales %[[S:.*]] biases %[[S]] bits 4 : memref<1x64xf32>, memref<8x32xi8>, memref<8x2xf32>, memref<8x2xf32>
  tile.read_row %to, %q[%n, %n] size %n scales %s biases %s bits 4
      : memref<1x64xf32>, memref<8x32xi8>, memref<8x2xf32>, memref<8x2xf32>
  return
}

// CHECK-LABEL: func @product
func.func @product(%c: memref<8x64xf32>, %a: memref<8x32xf32>,
                   %w: memref<64x32xbf16>, %q: memref<64x16xi8>,
                   %s: memref<64x1xf32>, %m: index) {
  // CHECK: tile.product %[[C:.*]][%{{.*}}, %{{.*}}], %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}[%{{.*}}, %{{.*}}] size(%{{.*}}, %{{.*}}, %{{.*}}) in [16, 64] : memref<8x64xf32>, memref<8x32xf32>, memref<64x32xbf16>
  tile.product %c[%m, %m], %a[%m, %m], %w[%m, %m] size(%m, %m, %m) in [16, 64]
      : memref<8x64xf32>, memref<8x32xf32>, memref<64x32xbf16>
  // CHECK: accumulate transpose_w rounded read_ahead padded into %[[C]][%{{.*}}, %{{.*}}] scales {{.*}} bits 4 : {{.*}} into memref<8x64xf32>, memref<64x1xf32>, memref<64x1xf32>
  tile.product %c[%m, %m], %a[%m, %m], %q[%m, %m] size(%m, %m, %m) in [16, 64]
      accumulate transpose_w rounded read_ahead padded into %c[%m, %m]
      scales %s biases %s bits 4
      : memref<8x64xf32>, memref<8x32xf32>, memref<64x16xi8> into memref<8x64xf32>, memref<64x1xf32>, memref<64x1xf32>
  // CHECK: transpose_a few_rows : {{.*}} prologue (%[[E:.*]], %{{.*}}, %{{.*}}) {
  // CHECK: tile.yield %[[E]] : f32
  // CHECK: } epilogue (%[[SUM:.*]], %{{.*}}, %{{.*}}) {
  // CHECK: tile.yield %[[SUM]] : f32
  tile.product %c[%m, %m], %a[%m, %m], %a[%m, %m] size(%m, %m, %m) in [16, 64]
      transpose_a few_rows
      : memref<8x64xf32>, memref<8x32xf32>, memref<8x32xf32>
      prologue (%e, %i, %j) {
    tile.yield %e : f32
  } epilogue (%sum, %i, %j) {
    tile.yield %sum : f32
  }
  return
}

// CHECK-LABEL: func @each
func.func @each(%x: memref<8x64xf32>, %m: index, %n: index) {
  tile.parallel (%p) in (%m) {
    // CHECK: tile.each (%[[I:.*]], %[[J:.*]]) in (%{{.*}}, %{{.*}}) {
    // CHECK-NOT: tile.yield
    tile.each (%i, %j) in (%m, %n) {
      %v = memref.load %x[%i, %j] : memref<8x64xf32>
      memref.store %v, %x[%i, %j] : memref<8x64xf32>
    }
    // CHECK: tile.each (%{{.*}}) in (%{{.*}}) {
    tile.each (%i) in (%m) {
    }
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

// CHECK-LABEL: func @offloading
func.func @offloading(%x: memref<32x8xf32>, %row: index, %count: index) {
  // CHECK: tile.offload %{{.*}}[%{{.*}}] size %{{.*}} at 4096 : memref<32x8xf32>
  tile.offload %x[%row] size %count at 4096 : memref<32x8xf32>
  // CHECK: tile.await %{{.*}} : memref<32x8xf32>
  tile.await %x : memref<32x8xf32>
  // CHECK: tile.reload %{{.*}}[%{{.*}}] size %{{.*}} at 4096 : memref<32x8xf32>
  tile.reload %x[%row] size %count at 4096 : memref<32x8xf32>
  return
}
