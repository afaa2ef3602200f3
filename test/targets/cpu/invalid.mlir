// RUN: hone-opt %s --split-input-file --verify-diagnostics

func.func @fill_panel_is_float(%p: memref<8x16xi32>, %s: memref<8x16xf32>, %n: index) {
  // expected-error @+1 {{must be a 2-d memref of f32, f64 or bf16 with static shape and identity layout}}
  cpu.fill %p, %s[%n, %n] size(%n, %n) : memref<8x16xi32>, memref<8x16xf32>
  return
}

// -----

func.func @fill_c4(%p: memref<8x16xbf16>, %s: memref<8x16xf32>, %n: index) {
  // expected-error @+1 {{expects a panel of bf16 to have a multiple of 32 rows but got 'memref<8x16xbf16>'}}
  cpu.fill %p, %s[%n, %n] size(%n, %n) : memref<8x16xbf16>, memref<8x16xf32>
  return
}

// -----

func.func @contract_c1(%c: memref<8x16xf32>, %a: memref<8x16xf64>, %p: memref<16x16xf32>, %n: index) {
  // expected-error @+1 {{expects 'a' and 'panel' of the type of sums, or of bf16 beside f32, but got 'f64' and 'f32' with 'f32'}}
  cpu.contract %c[%n, %n], %a[%n, %n], %p size(%n, %n, %n)
      : memref<8x16xf32>, memref<8x16xf64>, memref<16x16xf32>
  return
}

// -----

func.func @contract_c1_into_bf16(%c: memref<8x16xbf16>, %p: memref<16x16xf32>, %n: index) {
  // expected-error @+1 {{expects no 'accumulate' into a matrix of bf16}}
  cpu.contract %c[%n, %n], %c[%n, %n], %p size(%n, %n, %n) accumulate
      : memref<8x16xbf16>, memref<8x16xbf16>, memref<16x16xf32>
  return
}

// -----

func.func @contract_c1_rounded(%c: memref<8x16xf32>, %p: memref<16x16xbf16>, %n: index) {
  // expected-error @+1 {{expects no 'transpose_a' with a panel of bf16}}
  cpu.contract %c[%n, %n], %c[%n, %n], %p size(%n, %n, %n) transpose_a
      : memref<8x16xf32>, memref<8x16xf32>, memref<16x16xbf16>
  return
}

// -----

func.func @contract_c2(%c: memref<8x16xf32>, %p: memref<16x16xf32>, %n: index) {
  // expected-error @+1 {{expects the epilogue to take ('f32', 'index', 'index') but got ('f32')}}
  "cpu.contract"(%c, %n, %n, %c, %n, %n, %p, %n, %n, %n)
      <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0>}> ({
  ^bb0(%acc: f32):
    cpu.yield %acc : f32
  }) : (memref<8x16xf32>, index, index, memref<8x16xf32>, index, index, memref<16x16xf32>, index, index, index) -> ()
  return
}

// -----

func.func @contract_c3(%c: memref<8x16xf32>, %p: memref<16x16xf32>, %n: index) {
  // expected-error @+1 {{expects the epilogue to yield ('f32') but got ('index')}}
  cpu.contract %c[%n, %n], %c[%n, %n], %p size(%n, %n, %n)
      : memref<8x16xf32>, memref<8x16xf32>, memref<16x16xf32>
      epilogue (%acc, %i, %j) {
    cpu.yield %i : index
  }
  return
}

// -----

func.func @contract_c4(%c: memref<8x16xf32>, %p: memref<16x16xf32>, %n: index) {
  // expected-error @+1 {{expects 4 indices of the piece ahead but got 2}}
  cpu.contract %c[%n, %n], %c[%n, %n], %p size(%n, %n, %n) ahead %c[%n, %n]
      : memref<8x16xf32>, memref<8x16xf32>, memref<16x16xf32>, memref<8x16xf32>
  return
}

// -----

func.func @contract_c5(%c: memref<8x16xf32>, %p: memref<16x16xbf16>, %n: index) {
  // expected-error @+1 {{expects a panel of 'bf16' to have no indices of a position but got 2}}
  cpu.contract %c[%n, %n], %c[%n, %n], %p[%n, %n] size(%n, %n, %n)
      : memref<8x16xf32>, memref<8x16xf32>, memref<16x16xbf16>
  return
}

// -----

func.func @contract_c5_one_index(%c: memref<8x16xf32>, %p: memref<16x16xf32>, %n: index) {
  // expected-error @+1 {{expects a panel of 'f32' to have two indices of a position but got 1}}
  cpu.contract %c[%n, %n], %c[%n, %n], %p[%n] size(%n, %n, %n)
      : memref<8x16xf32>, memref<8x16xf32>, memref<16x16xf32>
  return
}

// -----

func.func @contract_c6(%c: memref<8x16xf32>, %s: memref<8x16xf64>, %n: index) {
  // expected-error @+1 {{expects sums of 'f32' at two indices but got 'f64' at 2}}
  cpu.contract %c[%n, %n], %c[%n, %n], %c size(%n, %n, %n) from %s[%n, %n]
      : memref<8x16xf32>, memref<8x16xf32>, memref<8x16xf32> from memref<8x16xf64>
  return
}

// -----

// fill (C1)
func.func @fill_without_scales(%p: memref<96x64xf32>, %q: memref<128x48xi8>, %n: index) {
  // expected-error @+1 {{'cpu.fill' op expects scales, biases and bits exactly for a matrix of i8}}
  cpu.fill %p, %q[%n, %n] size(%n, %n) : memref<96x64xf32>, memref<128x48xi8>
  return
}

// -----

// fill (C1)
func.func @fill_scaled_floats(%p: memref<96x64xf32>, %s: memref<96x64xf32>, %n: index) {
  // expected-error @+1 {{'cpu.fill' op expects scales, biases and bits exactly for a matrix of i8}}
  cpu.fill %p, %s[%n, %n] size(%n, %n) scales %s biases %s bits 8
      : memref<96x64xf32>, memref<96x64xf32>, memref<96x64xf32>, memref<96x64xf32>
  return
}

// -----

// fill (C2)
func.func @fill_bits(%p: memref<96x64xf32>, %q: memref<128x48xi8>, %s: memref<128x1xf32>, %n: index) {
  // expected-error @+1 {{'cpu.fill' op expects 4 or 8 bits but got 2}}
  cpu.fill %p, %q[%n, %n] size(%n, %n) scales %s biases %s bits 2
      : memref<96x64xf32>, memref<128x48xi8>, memref<128x1xf32>, memref<128x1xf32>
  return
}

// -----

// fill (C3)
func.func @fill_rows(%p: memref<96x64xf32>, %q: memref<128x48xi8>, %s: memref<64x3xf32>, %n: index) {
  // expected-error @+1 {{'cpu.fill' op expects scales and biases of one type with the rows of the matrix but got 'memref<64x3xf32>' and 'memref<64x3xf32>'}}
  cpu.fill %p, %q[%n, %n] size(%n, %n) scales %s biases %s bits 4
      : memref<96x64xf32>, memref<128x48xi8>, memref<64x3xf32>, memref<64x3xf32>
  return
}

// -----

// fill (C3)
func.func @fill_group(%p: memref<96x64xf32>, %q: memref<128x48xi8>, %s: memref<128x6xf32>, %n: index) {
  // expected-error @+1 {{'cpu.fill' op expects groups of a multiple of 32 numbers but got 'memref<128x48xi8>' with scales 'memref<128x6xf32>'}}
  cpu.fill %p, %q[%n, %n] size(%n, %n) scales %s biases %s bits 4
      : memref<96x64xf32>, memref<128x48xi8>, memref<128x6xf32>, memref<128x6xf32>
  return
}

// -----

func.func @dots_c4(%s: memref<4x64xf64>, %a: memref<8x128xf32>, %w: memref<192x128xf32>, %z: memref<1x128xf32>, %i: index) {
  // expected-error @+1 {{expects f32 and a matrix of no more bits, but got 'memref<4x64xf64>', 'memref<8x128xf32>', 'memref<192x128xf32>' and 'memref<1x128xf32>'}}
  cpu.dots %s[%i], %a[%i, %i], %w[%i], %z : memref<4x64xf64>, memref<8x128xf32>, memref<192x128xf32>, memref<1x128xf32>
  return
}

// -----

func.func @dots_c5(%s: memref<4x64xf32>, %a: memref<8x128xf32>, %w: memref<192x100xbf16>, %z: memref<1x128xf32>, %i: index) {
  // expected-error @+1 {{expects rows of whole units of 16 bytes but got 'memref<192x100xbf16>'}}
  cpu.dots %s[%i], %a[%i, %i], %w[%i], %z : memref<4x64xf32>, memref<8x128xf32>, memref<192x100xbf16>, memref<1x128xf32>
  return
}

// -----

func.func @dots_c6(%s: memref<4x64xf32>, %a: memref<8x128xf32>, %q: memref<192x64xi8>, %g: memref<192x2xf32>, %z: memref<1x143xf32>, %i: index) {
  // expected-error @+1 {{expects scratch of 144 numbers but got 'memref<1x143xf32>'}}
  cpu.dots %s[%i], %a[%i, %i], %q[%i], %z scales %g biases %g bits 4
      : memref<4x64xf32>, memref<8x128xf32>, memref<192x64xi8>, memref<1x143xf32>, memref<192x2xf32>, memref<192x2xf32>
  return
}
