// RUN: hone-opt %s --hone-cpu-lower-tiles="vector-bits=512 vector-registers=32 masked-memory" | FileCheck %s --enable-var-scope

// Fills of one shape share one function, whatever their strides.
// CHECK-LABEL: func @fills
// CHECK: call @tile_fill_transposed_f32_f32_64
// CHECK: call @tile_fill_transposed_f32_f32_64
// CHECK: call @tile_fill_bf16_f32_64
func.func @fills(%p: memref<96x64xf32>, %x: memref<64x96xf32>,
                 %y: memref<80x200xf32>, %z: memref<96x64xbf16>, %n: index) {
  tile.fill %p, %x[%n, %n] size(%n, %n) transpose : memref<96x64xf32>, memref<64x96xf32>
  tile.fill %p, %y[%n, %n] size(%n, %n) transpose : memref<96x64xf32>, memref<80x200xf32>
  tile.fill %p, %z[%n, %n] size(%n, %n) : memref<96x64xf32>, memref<96x64xbf16>
  return
}

// A square of 16 x 16 takes 16 loads, 64 shuffles and 16 stores.
// CHECK-LABEL: func.func private @tile_fill_transposed_f32_f32_64
// CHECK-COUNT-16: llvm.load {{.*}} -> vector<16xf32>
// CHECK-COUNT-64: vector.shuffle
// CHECK-NOT: vector.shuffle

// CHECK-LABEL: func.func private @tile_fill_bf16_f32_64
// CHECK: arith.extf {{.*}} : vector<64xbf16> to vector<64xf32>
