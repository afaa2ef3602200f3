// RUN: hone-opt %s --hone-cpu-lower-tiles="vector-bits=512 vector-registers=32 masked-memory" | FileCheck %s --enable-var-scope

// Equal shapes share a function; sizes are part of it.
// CHECK-LABEL: func @dots
// CHECK-COUNT-2: call @tile_dots_bf16_f32_896_64({{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
// CHECK: call @tile_dots_int4_g64_f32_4928_64_accumulate({{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
func.func @dots(%s: memref<4x64xf32>, %x: memref<4x896xf32>,
                %w: memref<128x896xbf16>, %a: memref<4x4928xf32>,
                %q: memref<128x2464xi8>, %g: memref<128x77xf32>,
                %z: memref<1x8192xf32>, %i: index) {
  cpu.dots %s[%i], %x[%i, %i], %w[%i], %z
      : memref<4x64xf32>, memref<4x896xf32>, memref<128x896xbf16>, memref<1x8192xf32>
  cpu.dots %s[%i], %a[%i, %i], %w[%i], %z
      : memref<4x64xf32>, memref<4x4928xf32>, memref<128x896xbf16>, memref<1x8192xf32>
  cpu.dots %s[%i], %a[%i, %i], %q[%i], %z accumulate scales %g biases %g bits 4
      : memref<4x64xf32>, memref<4x4928xf32>, memref<128x2464xi8>, memref<1x8192xf32>, memref<128x77xf32>, memref<128x77xf32>
  return
}

// The row is dealt out, lanes to places in words; then four rows of the matrix share
// its loads, and four lines of the rows after them are asked for.
// CHECK-LABEL: func.func private @tile_dots_bf16_f32_896_64
// CHECK: scf.for
// CHECK-COUNT-2: vector.shuffle {{.*}} : vector<16xf32>, vector<16xf32>
// CHECK-COUNT-2: llvm.store
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-4: llvm.intr.prefetch
// CHECK-NOT: llvm.intr.prefetch
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<16xi32>
// CHECK-COUNT-8: vector.fma
// CHECK-NOT: vector.fma
// CHECK: return

// A vector has two groups; half a vector at the end is filled up with zeros. Of
// eight numbers in a word the first is not added to anything, and a scale and a
// bias are multiplied once.
// CHECK-LABEL: func.func private @tile_dots_int4_g64_f32_4928_64_accumulate
// CHECK: scf.for
// CHECK-COUNT-24: vector.shuffle
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-4: arith.mulf
// CHECK-COUNT-28: vector.fma
// CHECK: vector.shuffle {{.*}} [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1] : vector<2xf32>
// CHECK-COUNT-8: vector.fma
// CHECK-NOT: vector.fma
// CHECK: llvm.load {{.*}} -> vector<8xi32>
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8, 8, 8, 8] : vector<8xi32>
