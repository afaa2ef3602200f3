// RUN: hone-opt %s --split-input-file --allow-unregistered-dialect --hone-verify-tiles="float64=false own=simt" --verify-diagnostics

// Host code is no kernel; it may read numbers that decide.
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

// The starts of a batch's sequences decide the launches.
func.func private @load_of_a_start(%starts: memref<4xi32>, %i: index) {
  %v = memref.load %starts[%i] {read_at_launch} : memref<4xi32>
  return
}

// -----

func.func private @load(%x: memref<4xf32>, %i: index) {
  // expected-error @+1 {{'memref.load' op expects to stand in 'tile.parallel': an entry's calls must not depend on memory}}
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
  // expected-error @+1 {{'llvm.load' op expects to be of a dialect that every target knows, or of 'simt' inside of 'tile.parallel'}}
  %v = llvm.load %p : !llvm.ptr -> f32
  return
}

// -----

// A target's own ops compute inside of loops,
func.func private @own(%x: memref<8x64xbf16>, %n: index) {
  tile.parallel (%i) in (%n) {
    %a:4 = simt.load_words %x[%i, %i] : memref<8x64xbf16>
  }
  // expected-error @+1 {{'simt.load_words' op expects to be of a dialect that every target knows, or of 'simt' inside of 'tile.parallel'}}
  %b:4 = simt.load_words %x[%n, %n] : memref<8x64xbf16>
  return
}

// -----

// and another target has not got it.
func.func private @of_another_target(%panel: memref<4x64xf32>, %w: memref<8x4xf32>, %n: index) {
  tile.parallel (%i) in (%n) {
    // expected-error @+1 {{'cpu.fill' op expects to be of a dialect that every target knows, or of 'simt'}}
    cpu.fill %panel, %w[%i, %i] size(%n, %n) transpose
        : memref<4x64xf32>, memref<8x4xf32>
  }
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

// -----

// Lanes of another group could not run it.
func.func private @each_alone(%n: index) {
  // expected-error @+1 {{'tile.each' op expects to stand in 'tile.parallel'}}
  tile.each (%i) in (%n) {
  }
  return
}

// -----

// Values that a loop in it makes of its variable vary; so do those that are
// read there.
func.func private @each_writes_its_own(%x: memref<4x4xf32>, %at: memref<4xindex>, %n: index) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tile.parallel (%p) in (%n) {
    tile.each (%i, %j) in (%n, %n) {
      memref.store %zero, %x[%p, %j] : memref<4x4xf32>
      %place = memref.load %at[%i] : memref<4xindex>
      memref.store %zero, %x[%place, %c1] : memref<4x4xf32>
      scf.for %k = %i to %n step %c1 {
        memref.store %zero, %x[%p, %k] : memref<4x4xf32>
      }
    }
  }
  return
}

// -----

// All iterations would write one element.
func.func private @each_writes_alike(%x: memref<4x4xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  tile.parallel (%p) in (%n) {
    // expected-note @+1 {{it is here}}
    tile.each (%i) in (%n) {
      %at = arith.addi %p, %n : index
      // expected-error @+1 {{'memref.store' op expects a place that depends on the variables of the 'tile.each' around it: its iterations run together}}
      memref.store %zero, %x[%p, %at] : memref<4x4xf32>
    }
  }
  return
}

// -----

// So they would share the buffer that they read their rows to.
func.func private @each_reads_alike(%w: memref<8x4xf32>, %n: index) {
  tile.parallel (%p) in (%n) private(%to : memref<1x4xf32>) {
    // expected-note @+1 {{it is here}}
    tile.each (%i) in (%n) {
      // expected-error @+1 {{'tile.read_row' op expects a place that depends on the variables of the 'tile.each' around it}}
      tile.read_row %to, %w[%i, %n] size %n : memref<1x4xf32>, memref<8x4xf32>
    }
  }
  return
}

// -----

// The variable of another loop does not tell iterations apart.
func.func private @each_maps_alike(%x: memref<4x4xf32>, %y: memref<4xf32>, %n: index) {
  tile.parallel (%p) in (%n) {
    // expected-note @+1 {{it is here}}
    tile.each (%i) in (%n) {
      tile.map (%j) in (%n) {
        %v = memref.load %x[%i, %j] : memref<4x4xf32>
        // expected-error @+1 {{'memref.store' op expects a place that depends on the variables of the 'tile.each' around it}}
        memref.store %v, %y[%j] : memref<4xf32>
      }
    }
  }
  return
}

// -----

func.func private @of_no_dialect() {
  // expected-error @+1 {{'other.op' op expects to be of a dialect that every target knows, or of 'simt' inside of 'tile.parallel'}}
  "other.op"() : () -> ()
  return
}
