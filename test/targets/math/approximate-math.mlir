// RUN: hone-opt %s --hone-approximate-math | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --hone-approximate-math=scales-vectors=true | FileCheck %s --enable-var-scope --check-prefix=SCALES

// Scalars and vectors are approximated alike.
// CHECK-LABEL: func @f32
// CHECK-NOT: math.exp
// CHECK-NOT: math.log
// CHECK: math.fma {{.*}} : f32
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK: return
// With the instruction vectors need no exponent's bits.
// SCALES-LABEL: func @f32
// SCALES: arith.shli {{.*}} : i32
// SCALES-NOT: arith.shli {{.*}} : vector
// SCALES: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
func.func @f32(%x: f32, %v: vector<16xf32>) -> (f32, vector<16xf32>) {
  %a = math.exp %x : f32
  %b = math.exp %v : vector<16xf32>
  %c = math.log %b : vector<16xf32>
  return %a, %c : f32, vector<16xf32>
}

// CHECK-LABEL: func @f64_is_left_to_libm
// CHECK: math.exp {{.*}} : vector<8xf64>
func.func @f64_is_left_to_libm(%v: vector<8xf64>) -> vector<8xf64> {
  %a = math.exp %v : vector<8xf64>
  return %a : vector<8xf64>
}
