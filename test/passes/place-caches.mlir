// Caches are regions, one for each layer and name; blocks get them by name.
// RUN: hone-opt %s --hone-place --hone-verify-placement | FileCheck %s
// RUN: hone-opt %s --hone-place --hone-convert-to-tiles | FileCheck %s --check-prefix=TILES
// RUN: hone-opt %s --hone-place | sed 's/bytes 1024/bytes 64/' | not hone-opt --hone-verify-placement 2>&1 | FileCheck %s --check-prefix=SMALL

// CHECK: hone.region "cache.0.values" cache at [[V:[0-9]+]] bytes 1024
// CHECK-NEXT: hone.region "cache.0.keys" cache at {{.*}} bytes 1024
// CHECK-NEXT: hone.region "cache.1.values" cache at {{.*}} bytes 1024
// CHECK-NEXT: hone.region "cache.1.keys" cache
// SMALL: expects 1024 bytes but got 64

// TILES: func.func private @layer(%{{.*}}, %{{.*}}: memref<32x8xf32>, %{{.*}}: memref<32x8xf32>,
module attributes {hone.max_rows = 4 : i64} {
  hone.block @layer() -> tensor<?x8xf32> {
    %values = hone.cache "values" : tensor<32x8xf32>
    %keys = hone.cache "keys" : tensor<32x8xf32>
    %x = hone.input "x" : tensor<?x8xf32>
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %y = hone.cached_attention %x, %x, %x, %s, %keys, %values heads 2 kv_heads 2 scale 0.5 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xi32>, tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<?x8xf32>
    hone.return %y : tensor<?x8xf32>
  }
  hone.entry @run() {
    %0 = hone.call @layer "0." () : () -> tensor<?x8xf32>
    %1 = hone.call @layer "1." () : () -> tensor<?x8xf32>
    %2 = hone.call @layer "0." () : () -> tensor<?x8xf32>
  }
}
