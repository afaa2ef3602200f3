// Products as ptxas compiles them: registers for two workgroups on a
// multiprocessor, and innermost loops that do little but multiply and add.
// REQUIRES: ptxas, nvdisasm
// RUN: rm -rf %t && mkdir %t
// RUN: hone-opt %s --hone-pipeline-target="target=nvptx64-nvidia-cuda:sm_80" | python3 %S/Inputs/inner-loops.py sm_80 %t | FileCheck %s

// At most 128 registers.
// CHECK-DAG: float_0: {{([0-9]{2}|1[01][0-9]|12[0-8])}} registers
// CHECK-DAG: int4_0: {{([0-9]{2}|1[01][0-9]|12[0-8])}} registers
// CHECK-DAG: backward_0: {{([0-9]{2}|1[01][0-9]|12[0-8])}} registers
// CHECK-DAG: gradient_0: {{([0-9]{2}|1[01][0-9]|12[0-8])}} registers
// CHECK-DAG: float_0: 128 of {{[0-9]+}}, {{(8[5-9]|9[0-9])}} %
// CHECK-DAG: backward_0: 128 of {{[0-9]+}}, {{(8[5-9]|9[0-9])}} %
// CHECK-DAG: int4_0: 128 of {{[0-9]+}}, {{(8[0-9]|9[0-9])}} %

func.func private @float(%i: index, %y: memref<256x896xf32>, %x: memref<256x896xf32>, %w: memref<896x896xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 896 : index
  tile.parallel (%p) in (%i) {
    %q = arith.muli %p, %c64 : index
    tile.product %y[%c0, %q], %x[%c0, %c0], %w[%q, %c0] size(%c64, %c64, %k)
        in [896, 64] transpose_w : memref<256x896xf32>, memref<256x896xf32>, memref<896x896xf32>
  }
  return
}

func.func private @int4(%i: index, %y: memref<256x896xf32>, %x: memref<256x896xf32>, %w: memref<896x448xi8>, %s: memref<896x14xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 896 : index
  tile.parallel (%p) in (%i) {
    %q = arith.muli %p, %c64 : index
    tile.product %y[%c0, %q], %x[%c0, %c0], %w[%q, %c0] size(%c64, %c64, %k)
        in [896, 64] transpose_w scales %s biases %s bits 4
        : memref<256x896xf32>, memref<256x896xf32>, memref<896x448xi8>, memref<896x14xf32>, memref<896x14xf32>
  }
  return
}

func.func private @backward(%i: index, %y: memref<256x896xf32>, %x: memref<256x896xf32>, %w: memref<896x896xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %k = arith.constant 896 : index
  tile.parallel (%p) in (%i) {
    %q = arith.muli %p, %c64 : index
    tile.product %y[%c0, %q], %x[%c0, %c0], %w[%c0, %q] size(%c64, %c64, %k)
        in [896, 64] : memref<256x896xf32>, memref<256x896xf32>, memref<896x896xf32>
  }
  return
}

// Blocks of terms over subgroups.
func.func private @gradient(%i: index, %da: memref<8x896xf32>, %u: memref<256x8xf32>, %x: memref<256x896xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  tile.parallel (%p) in (%i) {
    %q = arith.muli %p, %c64 : index
    tile.product %da[%c0, %q], %u[%c0, %c0], %x[%c0, %q] size(%c8, %c64, %i)
        in [32, 64] accumulate transpose_a few_rows
        : memref<8x896xf32>, memref<256x8xf32>, memref<256x896xf32>
  }
  return
}
