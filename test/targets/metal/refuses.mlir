// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-metal-write-text
// RUN: not hone-opt %S/Inputs/much-shared.mlir --hone-pipeline-target="target=metal" 2>&1 | FileCheck %s
// CHECK: needs 40960 bytes of shared memory but a workgroup has at most 32768

// An operation without words is named.
gpu.module @device {
  gpu.func @k(%x: memref<64xf32>) kernel attributes {tile.kernel_name = "k: "} {
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0] : memref<64xf32>
    // expected-error @+1 {{'math.tan' op has no words in Metal's language}}
    %t = math.tan %v : f32
    memref.store %t, %x[%c0] : memref<64xf32>
    gpu.return
  }
}

// -----

// A type without a name, too.
gpu.module @device {
  gpu.func @k(%x: memref<64xf32>) kernel attributes {tile.kernel_name = "k: "} {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{has a result of type 'vector<4xf32>', which Metal's language lacks}}
    %v = vector.load %x[%c0] : memref<64xf32>, vector<4xf32>
    gpu.return
  }
}

// -----

gpu.module @device {
  // expected-error @+1 {{has a parameter of type 'memref<64xf16>', which Metal's language lacks}}
  gpu.func @k(%x: memref<64xf16>) kernel attributes {tile.kernel_name = "k: "} {
    gpu.return
  }
}

// -----

// Where its elements are depends on more than their indices.
gpu.module @device {
  // expected-error @+1 {{has a parameter of type 'memref<8x8xf32, strided<[?, 1]>>', which Metal's language lacks}}
  gpu.func @k(%x: memref<8x8xf32, strided<[?, 1]>>) kernel attributes {tile.kernel_name = "k: "} {
    %c1 = arith.constant 1 : index
    %v = memref.load %x[%c1, %c1] : memref<8x8xf32, strided<[?, 1]>>
    gpu.return
  }
}
