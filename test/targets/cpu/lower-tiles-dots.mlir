// RUN: hone-opt %s --hone-cpu-lower-tiles="vector-bits=512 vector-registers=32 masked-memory" | FileCheck %s --enable-var-scope

// Equal shapes share a function; sizes are part of it, so one pointer reaches all
// rows.
// CHECK-LABEL: func @dots
// CHECK-COUNT-2: call @tile_dots_bf16_896_64({{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
// CHECK: call @tile_dots_int4_g64_4864_by_992_64_accumulate({{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
func.func @dots(%s: memref<4x64xf32>, %x: memref<4x896xf32>,
                %w: memref<128x896xbf16>, %a: memref<4x4864xf32>,
                %q: memref<128x2432xi8>, %g: memref<128x76xf32>, %i: index) {
  cpu.dots %s[%i], %x[%i, %i], %w[%i] in 896
      : memref<4x64xf32>, memref<4x896xf32>, memref<128x896xbf16>
  cpu.dots %s[%i], %a[%i, %i], %w[%i] in 896
      : memref<4x64xf32>, memref<4x4864xf32>, memref<128x896xbf16>
  cpu.dots %s[%i], %a[%i, %i], %q[%i] in 992 accumulate scales %g biases %g bits 4
      : memref<4x64xf32>, memref<4x4864xf32>, memref<128x2432xi8>, memref<128x76xf32>, memref<128x76xf32>
  return
}

// 128 bits of 32 rows become four vectors of words for each half of them: 12
// shuffles join rows and 8 transpose. Eight lines behind them are asked for.
// CHECK-LABEL: func.func private @tile_dots_bf16_896_64
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-8: llvm.intr.prefetch
// CHECK-COUNT-16: llvm.load {{.*}} -> vector<4xi32>
// CHECK-COUNT-20: vector.shuffle
// CHECK-COUNT-16: llvm.load {{.*}} -> vector<4xi32>
// CHECK-COUNT-20: vector.shuffle
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-16: vector.fma
// CHECK-NOT: vector.fma
// CHECK: return

// Integers become floats in a fraction: the last of eight is not shifted by 28.
// CHECK-LABEL: func.func private @tile_dots_int4_g64_4864_by_992_64_accumulate
// CHECK: vector.shuffle
// CHECK: arith.andi {{.*}} : vector<16xi32>
// CHECK: arith.ori {{.*}} : vector<16xi32>
// CHECK: arith.subf {{.*}} : vector<16xf32>
// CHECK-NOT: arith.sitofp
