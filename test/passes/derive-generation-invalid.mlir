// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-derive-generation="rows=2 positions=8"
// RUN: not hone-opt %s --hone-derive-generation="rows=9 positions=8" 2>&1 | FileCheck %s
// CHECK: expects rows to be at least 1 and positions at least as many, but got 9 and 8

// An op that mixes rows and does not say how it goes on.
module attributes {hone.max_rows = 4 : i64} {
  hone.block @b() -> tensor<f64> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    // expected-error @below {{has no rule for rows that continue a sequence (RowWise, PositionWise or ContinuationOpInterface)}}
    %y = hone.dot %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %y = hone.call @b "" () : () -> tensor<f64>
    hone.return %y : tensor<f64>
  }
}

// -----

// A value made of a loss cannot be made of logits.
module attributes {hone.max_rows = 4 : i64} {
  hone.block @b() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "head.weight" : tensor<9x4xf32>
    // expected-note @below {{it is made here}}
    %loss = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    // expected-error @below {{reads a value that is not there when a sequence is continued}}
    %y = hone.scale %x, %loss : (tensor<?x4xf32>, tensor<f64>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "head.weight" : tensor<9x4xf32>
    %loss = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %loss : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %x = hone.call @b "" () : () -> tensor<?x4xf32>
    %y = hone.call @head "" (%x) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
}
