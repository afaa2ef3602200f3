// RUN: hone-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hone-gpu-place-shared),hone-cuda-convert-to-nvvm))" | FileCheck %s

// Rows that `wgmma` reads begin where 1,024 bytes do, so shared memory does, too.
// CHECK-LABEL: gpu.module @groups
// CHECK: llvm.mlir.global external @{{.*}}() {addr_space = 3 : i32, alignment = 1024 : i64}
// CHECK: wgmma.mma_async
gpu.module @groups {
gpu.func @multiply(%sum: f32, %y: memref<1xf32>)
    workgroup(%a : memref<8192xi8, #gpu.address_space<workgroup>>,
              %b : memref<256xi8, #gpu.address_space<workgroup>>) kernel {
  %zero = arith.constant 0 : index
  %left = memref.view %a[%zero][] : memref<8192xi8, #gpu.address_space<workgroup>> to memref<1x64x64xbf16, #gpu.address_space<workgroup>>
  %right = memref.view %b[%zero][] : memref<256xi8, #gpu.address_space<workgroup>> to memref<1x2x64xbf16, #gpu.address_space<workgroup>>
  %after = simt.multiply_group %left[%zero, %zero], %right[%zero] to %sum
      : memref<1x64x64xbf16, #gpu.address_space<workgroup>>, memref<1x2x64xbf16, #gpu.address_space<workgroup>>, f32
  memref.store %after, %y[%zero] : memref<1xf32>
  gpu.return
}
}

// CHECK-LABEL: gpu.module @others
// CHECK: llvm.mlir.global external @{{.*}}() {addr_space = 3 : i32, alignment = 16 : i64}
gpu.module @others {
gpu.func @load(%y: memref<1xf32>)
    workgroup(%a : memref<16xf32, #gpu.address_space<workgroup>>) kernel {
  %zero = arith.constant 0 : index
  %v = memref.load %a[%zero] : memref<16xf32, #gpu.address_space<workgroup>>
  memref.store %v, %y[%zero] : memref<1xf32>
  gpu.return
}
}
