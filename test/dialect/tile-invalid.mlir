// RUN: hone-opt %s --split-input-file --verify-diagnostics

func.func @view_needs_identity_layout(%p: !tile.memory, %o: index) {
  // expected-error @+1 {{static shape and identity layout}}
  %x = tile.view %p[%o] : !tile.memory -> memref<4x4xf32, strided<[8, 1]>>
  return
}

// -----

// base (C1)
func.func @base_outside_of_an_entry() {
  // expected-error @+1 {{expects the enclosing function to have the attribute 'tile.entry'}}
  %m = tile.base arena : !tile.memory
  return
}

// -----

// rows (C1)
func.func @rows_outside_of_an_entry() {
  // expected-error @+1 {{expects the enclosing function to have the attribute 'tile.entry'}}
  %m = tile.rows : index
  return
}

// -----

// offset (C1)
func.func @offset_in_a_loop(%n: index) {
  tile.parallel (%i) in (%n) {
    // expected-error @+1 {{expects to stand outside of 'tile.parallel'}}
    %o = tile.offset 1 : index
  }
  return
}

// -----

// offset (C2)
func.func @offset_below_zero() {
  // expected-error @+1 {{expects a number from 0 on but got -1}}
  %o = tile.offset -1 : index
  return
}

// -----

// weight (C1)
func.func @weight_outside_of_an_entry() {
  // expected-error @+1 {{expects the enclosing function to have the attribute 'tile.entry'}}
  %m = tile.weight 0 : memref<4xf32>
  return
}

// -----

// weight (C2)
func.func @weight_below_zero() attributes {tile.entry} {
  // expected-error @+1 {{expects a number from 0 on but got -1}}
  %m = tile.weight -1 : memref<4xf32>
  return
}

// -----

// argument (C1)
func.func @argument_outside_of_an_entry() {
  // expected-error @+1 {{expects the enclosing function to have the attribute 'tile.entry'}}
  %m = tile.argument 0 : memref<4xf32>
  return
}

// -----

// argument (C2)
func.func @argument_below_zero() attributes {tile.entry} {
  // expected-error @+1 {{expects a number from 0 on but got -3}}
  %m = tile.argument -3 : memref<4xf32>
  return
}

// -----

// number (C1)
func.func @number_of_the_arena() attributes {tile.entry} {
  %c0 = arith.constant 0 : index
  %arena = tile.base arena : !tile.memory
  %x = tile.view %arena[%c0] : !tile.memory -> memref<4xi64>
  // expected-error @+1 {{expects the result of 'tile.argument'}}
  %n = tile.number %x[%c0] : memref<4xi64>
  return
}

// -----

// number (C2)
func.func @number_without_a_place() attributes {tile.entry} {
  %x = tile.argument 0 : memref<4xi64>
  // expected-error @+1 {{expects 1 indices but got 0}}
  %n = tile.number %x[] : memref<4xi64>
  return
}

// -----

// read_row (C1)
func.func @row_without_scales(%to: memref<1x64xf32>, %q: memref<8x32xi8>, %n: index) {
  // expected-error @+1 {{expects scales, biases and bits exactly for a matrix of i8}}
  tile.read_row %to, %q[%n, %n] size %n : memref<1x64xf32>, memref<8x32xi8>
  return
}

// -----

// read_row (C2)
func.func @row_bits(%to: memref<1x64xf32>, %q: memref<8x32xi8>, %s: memref<8x2xf32>, %n: index) {
  // expected-error @+1 {{expects 4 or 8 bits but got 3}}
  tile.read_row %to, %q[%n, %n] size %n scales %s biases %s bits 3
      : memref<1x64xf32>, memref<8x32xi8>, memref<8x2xf32>, memref<8x2xf32>
  return
}

// -----

// read_row (C3)
func.func @row_group(%to: memref<1x64xf32>, %q: memref<8x32xi8>, %s: memref<8x4xf32>, %n: index) {
  // expected-error @+1 {{expects groups of a multiple of 32 numbers but got 'memref<8x32xi8>' with scales 'memref<8x4xf32>'}}
  tile.read_row %to, %q[%n, %n] size %n scales %s biases %s bits 4
      : memref<1x64xf32>, memref<8x32xi8>, memref<8x4xf32>, memref<8x4xf32>
  return
}

// -----

// read_row (C4)
func.func @row_into_two(%to: memref<2x64xf32>, %w: memref<8x64xf32>, %n: index) {
  // expected-error @+1 {{expects a buffer of one row but got 'memref<2x64xf32>'}}
  tile.read_row %to, %w[%n, %n] size %n : memref<2x64xf32>, memref<8x64xf32>
  return
}

// -----

// product (C1)
func.func @product(%c: memref<8x64xf32>, %n: index) {
  // expected-error @+1 {{expects scales, biases and bits exactly for a matrix of i8}}
  tile.product %c[%n, %n], %c[%n, %n], %c[%n, %n] size(%n, %n, %n) in [16, 64] scales %c biases %c bits 4
      : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>
  return
}

// -----

// product (C2)
func.func @product(%c: memref<8x64xf32>, %q: memref<64x32xi8>, %s: memref<64x1xf32>, %n: index) {
  // expected-error @+1 {{expects 4 or 8 bits but got 5}}
  tile.product %c[%n, %n], %c[%n, %n], %q[%n, %n] size(%n, %n, %n) in [16, 64] scales %s biases %s bits 5
      : memref<8x64xf32>, memref<8x64xf32>, memref<64x32xi8>, memref<64x1xf32>, memref<64x1xf32>
  return
}

// -----

// product (C3)
func.func @product(%c: memref<8x64xf32>, %q: memref<64x32xi8>, %s: memref<8x1xf32>, %n: index) {
  // expected-error @+1 {{expects scales and biases of one type with the rows of the matrix but got}}
  tile.product %c[%n, %n], %c[%n, %n], %q[%n, %n] size(%n, %n, %n) in [16, 64] scales %s biases %s bits 4
      : memref<8x64xf32>, memref<8x64xf32>, memref<64x32xi8>, memref<8x1xf32>, memref<8x1xf32>
  return
}

// -----

// product (C4)
func.func @product(%c: memref<8x64xf32>, %a: memref<8x64xf64>, %n: index) {
  // expected-error @+1 {{expects 'a' to have the element type of 'c', or bf16 beside f32, but got 'f64' and 'f32'}}
  tile.product %c[%n, %n], %a[%n, %n], %c[%n, %n] size(%n, %n, %n) in [16, 64]
      : memref<8x64xf32>, memref<8x64xf64>, memref<8x64xf32>
  return
}

// -----

// product (C4)
func.func @product(%c: memref<8x64xf32>, %a: memref<8x64xf64>, %n: index) {
  // expected-error @+1 {{expects 'into' to have the element type of 'c', or bf16 beside f32, but got 'f64' and 'f32'}}
  tile.product %c[%n, %n], %c[%n, %n], %c[%n, %n] size(%n, %n, %n) in [16, 64] into %a[%n, %n]
      : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32> into memref<8x64xf64>
  return
}

// -----

// product (C4): bf16 adds up in f32.
func.func @product(%c: memref<8x64xf64>, %a: memref<8x64xbf16>, %n: index) {
  // expected-error @+1 {{expects 'a' to have the element type of 'c', or bf16 beside f32, but got 'bf16' and 'f64'}}
  tile.product %c[%n, %n], %a[%n, %n], %c[%n, %n] size(%n, %n, %n) in [16, 64]
      : memref<8x64xf64>, memref<8x64xbf16>, memref<8x64xf64>
  return
}

// -----

// product (C4)
func.func @product(%c: memref<8x64xf32>, %n: index) {
  // expected-error @+1 {{expects two indices with 'into' and none without but got 1}}
  tile.product %c[%n, %n], %c[%n, %n], %c[%n, %n] size(%n, %n, %n) in [16, 64] into %c[%n]
      : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32> into memref<8x64xf32>
  return
}

// -----

// product (C5)
func.func @product(%c: memref<8x64xf32>, %n: index) {
  // expected-error @+1 {{expects 'rounded' with f32 alone and without 'transpose_a'}}
  tile.product %c[%n, %n], %c[%n, %n], %c[%n, %n] size(%n, %n, %n) in [16, 64] transpose_a rounded
      : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>
  return
}

// -----

// product (C6)
func.func @product(%c: memref<8x64xf32>, %n: index) {
  // expected-error @+1 {{expects blocks of at least 1 by 1 but got 0 by 64}}
  tile.product %c[%n, %n], %c[%n, %n], %c[%n, %n] size(%n, %n, %n) in [0, 64]
      : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>
  return
}

// -----

// product (C7)
func.func @product(%c: memref<8x64xf32>, %n: index) {
  // expected-error @+1 {{expects the prologue to yield ('f32') but got ('index')}}
  tile.product %c[%n, %n], %c[%n, %n], %c[%n, %n] size(%n, %n, %n) in [16, 64]
      : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>
      prologue (%e, %i, %j) {
    tile.yield %i : index
  }
  return
}

// -----

// product (C7)
func.func @product(%c: memref<8x64xf32>, %n: index) {
  // expected-error @+1 {{expects the epilogue to yield ('f32') but got ('index')}}
  tile.product %c[%n, %n], %c[%n, %n], %c[%n, %n] size(%n, %n, %n) in [16, 64]
      : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>
      epilogue (%e, %i, %j) {
    tile.yield %i : index
  }
  return
}

// -----

func.func @parallel_c1(%count: index) {
  tile.parallel (%i) in (%count) {
    // expected-error @+1 {{expects not to be nested in another 'tile.parallel'}}
    tile.parallel (%j) in (%count) {
    }
  }
  return
}

// -----

func.func @parallel_c2(%count: index) {
  // expected-error @+1 {{expects private buffers to be memrefs but got 'f32'}}
  tile.parallel (%i) in (%count) private(%p : f32) {
  }
  return
}

// -----

func.func @parallel_c3(%count: index) {
  // expected-error @+1 {{expects private buffers to have static shape and identity layout but got 'memref<?xf32>'}}
  tile.parallel (%i) in (%count) private(%p : memref<?xf32>) {
  }
  return
}

// -----

func.func @parallel_c4(%count: index) {
  // expected-error @+1 {{expects the body to yield () but got ('index')}}
  tile.parallel (%i) in (%count) {
    tile.yield %i : index
  }
  return
}

// -----

func.func @each_c1(%n: index) {
  // expected-error @+1 {{expects one or two bounds but got 3}}
  tile.each (%i, %j, %k) in (%n, %n, %n) {
  }
  return
}

// -----

func.func @each_c2(%n: index) {
  // expected-note @+1 {{it stands in this op}}
  tile.map (%i) in (%n) {
    // expected-error @+1 {{expects not to stand in 'tile.map'}}
    tile.each (%j) in (%n) {
    }
  }
  return
}

// -----

// each (C2)
func.func @each_in_each(%n: index) {
  // expected-note @+1 {{it stands in this op}}
  tile.each (%i) in (%n) {
    // expected-error @+1 {{expects not to stand in 'tile.each'}}
    tile.each (%j) in (%n) {
    }
  }
  return
}

// -----

func.func @each_c3(%c: memref<8x64xf32>, %n: index) {
  // expected-error @+1 {{expects no 'tile.product' in its body}}
  tile.each (%i) in (%n) {
    // expected-note @+1 {{it is here}}
    tile.product %c[%i, %n], %c[%i, %n], %c[%n, %n] size(%n, %n, %n) in [16, 64]
        : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>
  }
  return
}

// -----

func.func @each_c4(%n: index) {
  // expected-error @+1 {{expects the body to yield () but got ('index')}}
  tile.each (%i) in (%n) {
    tile.yield %i : index
  }
  return
}

// -----

func.func @map_c1(%n: index) {
  // expected-error @+1 {{expects one or two bounds but got 3}}
  tile.map (%i, %j, %k) in (%n, %n, %n) {
  }
  return
}

// -----

func.func @map_c2(%n: index) {
  // expected-error @+1 {{expects the body to yield () but got ('index')}}
  tile.map (%i) in (%n) {
    tile.yield %i : index
  }
  return
}

// -----

func.func @reduce_c1(%n: index, %x: f32) {
  // expected-error @+1 {{expects one combination for each result but got 2 for 1}}
  %r = tile.reduce (%j) in (%n) combine [add, max] : f32 {
    tile.yield %x : f32
  }
  return
}

// -----

func.func @reduce_c2(%n: index, %x: f32) {
  // expected-error @+1 {{expects the body to take ('index') but got ()}}
  %r = "tile.reduce"(%n) <{combine = [0 : i32]}> ({
    "tile.yield"(%x) : (f32) -> ()
  }) : (index) -> f32
  return
}

// -----

func.func @reduce_c3(%n: index, %x: f64) {
  // expected-error @+1 {{expects the body to yield ('f32') but got ('f64')}}
  %r = tile.reduce (%j) in (%n) combine [add] : f32 {
    tile.yield %x : f64
  }
  return
}

// -----

func.func @reduce_c4(%n: index) {
  // expected-error @+1 {{expects results to be f32 or f64 but got 'index'}}
  %r = tile.reduce (%j) in (%n) combine [add] : index {
    tile.yield %j : index
  }
  return
}
