// RUN: hone-opt %s --verify-diagnostics --hone-cpu-expand-products

// A panel is memory of a loop's own.
func.func @outside(%y: memref<64x64xf32>, %x: memref<64x96xf32>, %w: memref<96x64xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  // expected-error @+1 {{'tile.product' op expects to stand in a 'tile.parallel', which has memory for its panel}}
  tile.product %y[%c0, %c0], %x[%c0, %c0], %w[%c0, %c0]
      size(%c64, %c64, %c96) in [96, 64]
      : memref<64x64xf32>, memref<64x96xf32>, memref<96x64xf32>
  return
}
