// RUN: hone-opt %s --split-input-file --hone-split-parts="after=1 pipeline-evaluation=true" | FileCheck %s --enable-var-scope

module attributes {hone.max_rows = 8 : i64} {
  func.func private @add(%a: f64, %b: f64) -> f64 {
    %0 = arith.addf %a, %b : f64
    return %0 : f64
  }
  func.func private @zero() -> f64 {
    %0 = arith.constant 0.0 : f64
    return %0 : f64
  }
  hone.block @embed() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }

  // What crosses the cut is the boundary of the two pieces.
  // CHECK: hone.entry of "lower" @lower.loss() -> tensor<?x4xf32> {
  // CHECK-NEXT: %[[E:.*]] = hone.call @embed "model."
  // CHECK-NEXT: %[[H:.*]] = hone.call @layer "layers.0."(%[[E]])
  // CHECK-NEXT: hone.return %[[H]]
  // CHECK: hone.entry of "upper" @upper.loss(%[[X:.*]]: tensor<?x4xf32>) -> tensor<f64> {
  // CHECK-NEXT: %[[Y:.*]] = hone.call @layer "layers.1."(%[[X]])
  // CHECK-NEXT: %[[L:.*]] = hone.call @head ""(%[[Y]])
  // CHECK-NEXT: hone.return %[[L]]
  hone.entry @loss() -> tensor<f64> {
    %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @layer "layers.1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = hone.call @head "" (%2) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %3 : tensor<f64>
  }

  // The pieces are of one stage each, and so is what reads the second.
  // CHECK: hone.schedule evaluate {
  // CHECK: hone.repeat
  // CHECK-NEXT: %[[B:.*]] = hone.load
  // CHECK-NEXT: %[[V:.*]] = hone.run @lower.loss() on %[[B]] :
  // CHECK-NEXT: %[[S:.*]] = hone.run @upper.loss(%[[V]]) on %[[B]] stage 1 :
  // CHECK-NEXT: hone.scalar @add(%{{.*}}, %[[S]]) stage 1 :
  hone.schedule evaluate {
    %batches = hone.setting "batches" : tensor<i64>
    %zero = hone.scalar @zero() : () -> tensor<f64>
    %sum = hone.repeat %batches carry (%before = %zero) : tensor<f64> {
      %batch = hone.load
      %loss = hone.run @loss() on %batch : () -> tensor<f64>
      %after = hone.scalar @add(%before, %loss) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      hone.yield %after : tensor<f64>
    }
    hone.report %sum as "loss" : tensor<f64>
  }
}
