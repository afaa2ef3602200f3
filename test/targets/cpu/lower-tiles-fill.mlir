// RUN: hone-opt %s --hone-cpu-lower-tiles="vector-bits=512 vector-registers=32 masked-memory" | FileCheck %s --enable-var-scope

// Fills of one shape share one function, with any strides.
// CHECK-LABEL: func @fills
// CHECK: call @tile_fill_transposed_f32_f32_64
// CHECK: call @tile_fill_transposed_f32_f32_64
// CHECK: call @tile_fill_bf16_f32_64
func.func @fills(%p: memref<96x64xf32>, %x: memref<64x96xf32>,
                 %y: memref<80x200xf32>, %z: memref<96x64xbf16>, %n: index) {
  cpu.fill %p, %x[%n, %n] size(%n, %n) transpose : memref<96x64xf32>, memref<64x96xf32>
  cpu.fill %p, %y[%n, %n] size(%n, %n) transpose : memref<96x64xf32>, memref<80x200xf32>
  cpu.fill %p, %z[%n, %n] size(%n, %n) : memref<96x64xf32>, memref<96x64xbf16>
  return
}

// Packed sources keep their addresses apart: a column may start inside a byte's
// group, so it is passed on and only rows are added to the pointers.
// CHECK-LABEL: func @packed
// CHECK: call @tile_fill_transposed_int4_g32_f32_64({{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr, i64, i64) -> ()
// CHECK: call @tile_fill_int8_g32_f32_64
func.func @packed(%p: memref<96x64xf32>, %q: memref<128x48xi8>,
                  %qs: memref<128x3xf32>, %w: memref<128x96xi8>, %n: index) {
  cpu.fill %p, %q[%n, %n] size(%n, %n) transpose scales %qs biases %qs bits 4
      : memref<96x64xf32>, memref<128x48xi8>, memref<128x3xf32>, memref<128x3xf32>
  cpu.fill %p, %w[%n, %n] size(%n, %n) scales %qs biases %qs bits 8
      : memref<96x64xf32>, memref<128x96xi8>, memref<128x3xf32>, memref<128x3xf32>
  return
}

// A square of 16 x 16 takes 16 loads, 64 shuffles and 16 stores.
// CHECK-LABEL: func.func private @tile_fill_transposed_f32_f32_64
// CHECK-COUNT-16: llvm.load {{.*}} -> vector<16xf32>
// CHECK-COUNT-64: vector.shuffle
// CHECK-NOT: vector.shuffle

// CHECK-LABEL: func.func private @tile_fill_bf16_f32_64
// CHECK: arith.extf {{.*}} : vector<64xbf16> to vector<64xf32>

// Eight bytes make sixteen numbers: halves, interleaved, one multiply-add.
// CHECK-LABEL: func.func private @tile_fill_transposed_int4_g32_f32_64
// CHECK: llvm.load {{.*}} -> vector<8xi8>
// CHECK: arith.andi {{.*}} : vector<8xi8>
// CHECK: arith.shrui {{.*}} : vector<8xi8>
// CHECK: vector.shuffle {{.*}} : vector<8xi8>, vector<8xi8>
// CHECK: arith.sitofp {{.*}} : vector<16xi32> to vector<16xf32>
// CHECK: vector.fma {{.*}} : vector<16xf32>

// CHECK-LABEL: func.func private @tile_fill_int8_g32_f32_64
// CHECK: llvm.load {{.*}} -> vector<16xi8>
// CHECK: vector.fma {{.*}} : vector<16xf32>
