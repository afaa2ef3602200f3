// Where two workgroups with the cotangents of wide keys would spill registers, a
// multiprocessor has one.
// RUN: hone-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hone-gpu-distribute{copies-in-flight matrix-units shared-bytes=166912 spills-wide-keys})))" | FileCheck %s --check-prefixes=CHECK,SPILLS
// RUN: hone-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(hone-gpu-distribute{copies-in-flight matrix-units shared-bytes=166912})))" | FileCheck %s --check-prefixes=CHECK,FITS

gpu.module @device {
// CHECK-LABEL: gpu.func @wide
// SPILLS-SAME: tile.workgroups = 1
// FITS-NOT: tile.workgroups
// CHECK: gpu.return
gpu.func @wide(%x: memref<96x128xbf16>, %n: memref<1x96xf32>, %ends: memref<96xi32>) kernel {
  %zero = arith.constant 0 : index
  %count = arith.constant 32 : index
  simt.attention_key_adjoint %zero part %zero [%zero, %count] %x, %x, %x, %x, %n, %n, %n, %ends to %x, %x {heads = 1, kv_heads = 1, rows = 32, scale = 0.1 : f64} : index, index, index, index, memref<96x128xbf16>, memref<96x128xbf16>, memref<96x128xbf16>, memref<96x128xbf16>, memref<1x96xf32>, memref<1x96xf32>, memref<1x96xf32>, memref<96xi32>, memref<96x128xbf16>, memref<96x128xbf16>
  gpu.return
}

// CHECK-LABEL: gpu.func @narrow
// CHECK-NOT: tile.workgroups
// CHECK: gpu.return
gpu.func @narrow(%x: memref<96x64xbf16>, %n: memref<1x96xf32>, %ends: memref<96xi32>) kernel {
  %zero = arith.constant 0 : index
  %count = arith.constant 32 : index
  simt.attention_key_adjoint %zero part %zero [%zero, %count] %x, %x, %x, %x, %n, %n, %n, %ends to %x, %x {heads = 1, kv_heads = 1, rows = 32, scale = 0.1 : f64} : index, index, index, index, memref<96x64xbf16>, memref<96x64xbf16>, memref<96x64xbf16>, memref<96x64xbf16>, memref<1x96xf32>, memref<1x96xf32>, memref<1x96xf32>, memref<96xi32>, memref<96x64xbf16>, memref<96x64xbf16>
  gpu.return
}

// Groups of 64 wide keys would always spill them.
// CHECK-LABEL: gpu.func @groups
// CHECK-SAME: tile.workgroups = 1
// CHECK: gpu.return
gpu.func @groups(%x: memref<96x128xbf16>, %n: memref<1x96xf32>, %ends: memref<96xi32>) kernel {
  %zero = arith.constant 0 : index
  %count = arith.constant 64 : index
  simt.attention_key_adjoint %zero part %zero [%zero, %count] %x, %x, %x, %x, %n, %n, %n, %ends to %x, %x {by_groups, heads = 1, kv_heads = 1, rows = 64, scale = 0.1 : f64} : index, index, index, index, memref<96x128xbf16>, memref<96x128xbf16>, memref<96x128xbf16>, memref<96x128xbf16>, memref<1x96xf32>, memref<1x96xf32>, memref<1x96xf32>, memref<96xi32>, memref<96x128xbf16>, memref<96x128xbf16>
  gpu.return
}
}
