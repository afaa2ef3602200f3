// RUN: hone-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hone-gpu-place-shared)))" | FileCheck %s --enable-var-scope

// Each buffer begins at a multiple of 16 bytes, and one that nobody uses nowhere.
// CHECK-LABEL: gpu.func @buffers(%{{.*}}: f32) kernel attributes {tile.shared_bytes = 96 : i64}
// CHECK: %[[ALL:.*]] = gpu.dynamic_shared_memory
// CHECK: %[[FIRST:.*]] = arith.constant 0
// CHECK: memref.view %[[ALL]][%[[FIRST]]][] {{.*}} to memref<17xf32
// CHECK: %[[SECOND:.*]] = arith.constant 80
// CHECK: memref.view %[[ALL]][%[[SECOND]]][] {{.*}} to memref<2xf64
gpu.module @device {
gpu.func @buffers(%v: f32)
    workgroup(%none : memref<64xf32, #gpu.address_space<workgroup>>,
              %a : memref<17xf32, #gpu.address_space<workgroup>>,
              %b : memref<2xf64, #gpu.address_space<workgroup>>) kernel {
  %zero = arith.constant 0 : index
  %x = memref.load %a[%zero] : memref<17xf32, #gpu.address_space<workgroup>>
  %y = memref.load %b[%zero] : memref<2xf64, #gpu.address_space<workgroup>>
  gpu.return
}

// Bytes, which are stages of products, come first.
// CHECK-LABEL: gpu.func @bytes
// CHECK: %[[ALL:.*]] = gpu.dynamic_shared_memory
// CHECK: %[[FIRST:.*]] = arith.constant 0
// CHECK: memref.view %[[ALL]][%[[FIRST]]][] {{.*}} to memref<256xi8
// CHECK: %[[SECOND:.*]] = arith.constant 256
// CHECK: memref.view %[[ALL]][%[[SECOND]]][] {{.*}} to memref<2xf64
gpu.func @bytes()
    workgroup(%a : memref<2xf64, #gpu.address_space<workgroup>>,
              %b : memref<256xi8, #gpu.address_space<workgroup>>) kernel {
  %zero = arith.constant 0 : index
  %x = memref.load %a[%zero] : memref<2xf64, #gpu.address_space<workgroup>>
  %y = memref.load %b[%zero] : memref<256xi8, #gpu.address_space<workgroup>>
  gpu.return
}

// Those of `simt.multiply_group` begin at multiples of 1,024.
// CHECK-LABEL: gpu.func @groups
// CHECK-SAME: tile.shared_bytes = 17536
// CHECK: %[[SECOND:.*]] = arith.constant 9216
// CHECK: memref.view %{{.*}}[%[[SECOND]]][] {{.*}} to memref<8192xi8
// CHECK: %[[LAST:.*]] = arith.constant 17408
// CHECK: memref.view %{{.*}}[%[[LAST]]][] {{.*}} to memref<16xf64
gpu.func @groups(%sum: f32)
    workgroup(%x : memref<16xf64, #gpu.address_space<workgroup>>,
              %a : memref<8320xi8, #gpu.address_space<workgroup>>,
              %b : memref<8192xi8, #gpu.address_space<workgroup>>) kernel {
  %zero = arith.constant 0 : index
  %v = memref.load %x[%zero] : memref<16xf64, #gpu.address_space<workgroup>>
  %left = memref.view %a[%zero][] : memref<8320xi8, #gpu.address_space<workgroup>> to memref<1x64x64xbf16, #gpu.address_space<workgroup>>
  %right = memref.view %b[%zero][] : memref<8192xi8, #gpu.address_space<workgroup>> to memref<1x2x64xbf16, #gpu.address_space<workgroup>>
  %after = simt.multiply_group %left[%zero, %zero], %right[%zero] to %sum
      : memref<1x64x64xbf16, #gpu.address_space<workgroup>>, memref<1x2x64xbf16, #gpu.address_space<workgroup>>, f32
  gpu.return
}
}
