// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-split-parts="after=1" --hone-separate-parts

// A part cannot know the others' decisions about a run that it gathers from
// them.
module attributes {hone.max_rows = 8 : i64} {
  func.func private @add(%a: f64, %b: f64) -> f64 {
    %0 = arith.addf %a, %b : f64
    return %0 : f64
  }
  func.func private @zero() -> f64 {
    %0 = arith.constant 0.0 : f64
    return %0 : f64
  }
  func.func private @norm(%squares: memref<3xf64>) -> f64 {
    %at = arith.constant 0 : index
    %0 = memref.load %squares[%at] : memref<3xf64>
    return %0 : f64
  }
  hone.block @embed() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" trainable init <zero> : tensor<4x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @layer "layers.1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = hone.call @layer "layers.2." (%2) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %4 = hone.call @head "" (%3) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %4 : tensor<f64>
  }
  hone.entry vector @squares() -> tensor<3xf64> {
    %0 = hone.gradient_squares : tensor<3xf64>
    hone.return %0 : tensor<3xf64>
  }
  hone.entry vector @other() -> tensor<3xf64> {
    %0 = hone.gradient_squares : tensor<3xf64>
    hone.return %0 : tensor<3xf64>
  }
  hone.schedule train {
    %batches = hone.setting "batches" : tensor<i64>
    %zero = hone.scalar @zero() : () -> tensor<f64>
    %sum = hone.repeat %batches carry (%before = %zero) : tensor<f64> {
      %batch = hone.load
      %loss = hone.run @loss() on %batch : () -> tensor<f64>
      %after = hone.scalar @add(%before, %loss) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      hone.yield %after : tensor<f64>
    }
    // expected-error @+1 {{'hone.run' op cannot be given to a part: it is conditional}}
    %squares = hone.run @squares() when %batches else @other : () -> tensor<3xf64>
    %norm = hone.scalar @norm(%squares) : (tensor<3xf64>) -> tensor<f64>
    hone.report %sum as "loss" : tensor<f64>
    hone.report %norm as "gradient_norm" : tensor<f64>
  }
}

// -----

// Squares of one layer twice are of no piece of theta.
module attributes {hone.max_rows = 8 : i64} {
  hone.block @embed() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" trainable init <zero> : tensor<4x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @layer "layers.1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = hone.call @head "" (%2) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %3 : tensor<f64>
  }
  hone.entry vector @squares() -> tensor<2xf64> {
    // expected-error @+1 {{'hone.gradient_squares' op expects layers that lie one after another in theta}}
    %0 = hone.gradient_squares on ["layers.0.", "layers.0."] : tensor<2xf64>
    hone.return %0 : tensor<2xf64>
  }
  hone.schedule train {
    %batch = hone.load
    %loss = hone.run @loss() on %batch : () -> tensor<f64>
    %squares = hone.run @squares() : () -> tensor<2xf64>
    hone.report %loss as "loss" : tensor<f64>
    hone.report %squares as "squares" : tensor<2xf64>
  }
}
