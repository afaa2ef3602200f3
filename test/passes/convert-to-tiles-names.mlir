// RUN: hone-opt %s --hone-place --hone-convert-to-tiles --mlir-print-debuginfo | FileCheck %s

// The loop of a product is named after all that it does.
// CHECK: func.func private @mlp(
// CHECK: loc("linear+swiglu"(
module @names attributes {hone.max_rows = 16 : i64} {
  hone.block @mlp(%x: tensor<?x4xf32>, %up: tensor<?x8xf32>) {
    %w = hone.parameter "weight" : tensor<8x4xf32>
    %gate = hone.linear %x, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %y = hone.swiglu %gate, %up : tensor<?x8xf32>
    hone.return
  }
}
