// RUN: hone-opt %s --split-input-file --hone-verify-tiles="float64=false" --verify-diagnostics

// What runs on the host is no kernel; numbers that decide may be read.
func.func @hone_scalar_f() attributes {tile.entry, tile.host} {
  %x = tile.argument 0 : memref<f64>
  %v = memref.load %x[] : memref<f64>
  memref.store %v, %x[] : memref<f64>
  return
}

func.func @entry() attributes {tile.entry} {
  %c0 = arith.constant 0 : index
  %mask = tile.argument 0 : memref<2xi64>
  %number = tile.number %mask[%c0] : memref<2xi64>
  %w = tile.weight 0 : memref<8x4xf32>
  tile.prefetch %w[%c0] size %c0 : memref<8x4xf32>
  return
}

// -----

func.func private @load(%x: memref<4xf32>, %i: index) {
  // expected-error @+1 {{'memref.load' op expects to stand in 'tile.parallel': what an entry runs must not depend on memory}}
  %v = memref.load %x[%i] : memref<4xf32>
  return
}

// -----

func.func private @store_in_a_loop(%x: memref<4xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  tile.map (%i) in (%n) {
    // expected-error @+1 {{'memref.store' op expects to stand in 'tile.parallel'}}
    memref.store %zero, %x[%i] : memref<4xf32>
  }
  return
}

// -----

func.func private @product(%x: memref<4x4xf32>, %n: index) {
  // expected-error @+1 {{'tile.product' op expects to stand in 'tile.parallel'}}
  tile.product %x[%n, %n], %x[%n, %n], %x[%n, %n] size(%n, %n, %n) in [4, 4]
      : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  return
}

// -----

func.func private @release(%x: memref<4x4xf32>, %n: index) {
  tile.parallel (%i) in (%n) {
    // expected-error @+1 {{'tile.release' op expects to stand outside of 'tile.parallel'}}
    tile.release %x[%i] size %n : memref<4x4xf32>
  }
  return
}

// -----

func.func private @pointer(%p: !llvm.ptr) {
  // expected-error @+1 {{'llvm.load' op expects to be of a dialect that every target knows}}
  %v = llvm.load %p : !llvm.ptr -> f32
  return
}

// -----

func.func private @vector(%x: f32) {
  // expected-error @+1 {{expects results that every target knows but got 'vector<4xf32>'}}
  %v = arith.constant dense<0.0> : vector<4xf32>
  return
}

// -----

func.func private @double(%x: memref<4xf64>, %n: index) {
  tile.parallel (%i) in (%n) {
    // expected-error @+1 {{'memref.load' op needs f64, which the target does not have}}
    %v = memref.load %x[%i] : memref<4xf64>
  }
  return
}
