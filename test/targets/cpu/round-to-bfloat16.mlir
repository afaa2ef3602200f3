// RUN: hone-opt %s --hone-cpu-round-to-bfloat16 | FileCheck %s --enable-var-scope

// Scalars and short vectors are rounded by the instruction for 16 numbers.
// CHECK-LABEL: func @rounds
// CHECK-SAME: (%[[V:.*]]: vector<16xf32>, %[[SHORT:.*]]: vector<8xf32>, %[[S:.*]]: f32,
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%[[V]])
// CHECK: %[[FILLED:.*]] = vector.shuffle %[[SHORT]], %[[SHORT]] [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]
// CHECK: %[[ROUNDED:.*]] = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%[[FILLED]])
// CHECK: vector.shuffle %[[ROUNDED]], %[[ROUNDED]] [0, 1, 2, 3, 4, 5, 6, 7]
// CHECK: %[[SAME:.*]] = vector.broadcast %[[S]] : f32 to vector<16xf32>
// CHECK: %[[ALL:.*]] = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%[[SAME]])
// CHECK: vector.extract %[[ALL]][0]
// CHECK: arith.truncf {{.*}} : f64 to f32
// CHECK-NOT: arith.truncf
func.func @rounds(%v: vector<16xf32>, %short: vector<8xf32>, %s: f32, %d: f64)
    -> (vector<16xbf16>, vector<8xbf16>, bf16, f32) {
  %0 = arith.truncf %v : vector<16xf32> to vector<16xbf16>
  %1 = arith.truncf %short : vector<8xf32> to vector<8xbf16>
  %2 = arith.truncf %s : f32 to bf16
  %3 = arith.truncf %d : f64 to f32
  return %0, %1, %2, %3 : vector<16xbf16>, vector<8xbf16>, bf16, f32
}
