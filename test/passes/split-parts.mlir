// RUN: hone-opt %s --split-input-file --hone-split-parts="after=1 in-flight=2" | FileCheck %s --enable-var-scope

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

  // The values that cross the cut are the boundary of the two pieces.
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

  // The pieces are of one stage each, and so are the readers of the second.
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

// -----

// Conditions are of the layers: each part reads the mask that the whole reads.
// A pool is of the part whose layers read it, and crosses from its forward to its
// backward.
// CHECK-LABEL: module @conditions_and_pools
module @conditions_and_pools attributes {hone.max_rows = 8 : i64} {
  func.func private @select(%mask: memref<2xi32>) {
    return
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
  hone.block @backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %dx = hone.add %x, %dy : tensor<?x4xf32>
    hone.return %dx : tensor<?x4xf32>
  }
  hone.block @pass_through(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %dx = hone.convert %dy : tensor<?x4xf32> to tensor<?x4xf32>
    hone.return %dx : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> (tensor<f64>, tensor<?x4xf32>) {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "head.weight" : tensor<9x4xf32>
    %l, %dx = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> (tensor<f64>, tensor<?x4xf32>)
    hone.return %l, %dx : tensor<f64>, tensor<?x4xf32>
  }
  hone.block @loss(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @of_all() -> tensor<f64> {
    %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @layer "layers.1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = hone.call @loss "" (%2) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %3 : tensor<f64>
  }
  // CHECK: hone.entry of "lower" @lower.forward(%[[S:[^:]*]]: tensor<2xi32>, %[[M:[^:]*]]: tensor<2xi32>) -> (tensor<?x4xf32>, tensor<1x?x4xf32>) {
  // CHECK: %[[P:.*]] = hone.pool
  // CHECK-NEXT: hone.keep %{{.*}} in %[[P]] at %[[S]][0] when %[[M]][0]
  // CHECK: hone.return %{{.*}}, %[[P]]
  // CHECK: hone.entry gradient of "upper" @upper.gradient(%[[X:[^:]*]]: tensor<?x4xf32>, %[[S1:[^:]*]]: tensor<2xi32>, %[[M1:[^:]*]]: tensor<2xi32>)
  // CHECK: %[[P1:.*]] = hone.pool
  // CHECK-NEXT: hone.keep %[[X]] in %[[P1]] at %[[S1]][1] when %[[M1]][1]
  // CHECK: hone.call @backward "layers.1."({{.*}}) when %[[M1]][1] : tensor<2xi32> else @pass_through
  // CHECK: hone.entry backward of "lower" @lower.backward(%[[P2:[^:]*]]: tensor<1x?x4xf32>, %[[S2:[^:]*]]: tensor<2xi32>, %{{[^:]*}}: tensor<?x4xf32>, %[[M2:[^:]*]]: tensor<2xi32>)
  // CHECK: hone.kept %[[P2]] at %[[S2]][0]
  // CHECK: hone.call @backward "layers.0."({{.*}}) when %[[M2]][0]
  hone.entry gradient @gradient(%mask: tensor<2xi32>, %slots: tensor<2xi32>) -> tensor<f64> {
    %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
    %pool0 = hone.pool : tensor<1x?x4xf32>
    %pool1 = hone.pool : tensor<1x?x4xf32>
    hone.keep %0 in %pool0 at %slots[0] when %mask[0] : tensor<1x?x4xf32>, tensor<2xi32>, tensor<2xi32>
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    hone.keep %1 in %pool1 at %slots[1] when %mask[1] : tensor<1x?x4xf32>, tensor<2xi32>, tensor<2xi32>
    %2 = hone.call @layer "layers.1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3, %d2 = hone.call @head "" (%2) : (tensor<?x4xf32>) -> (tensor<f64>, tensor<?x4xf32>)
    %k1 = hone.kept %pool1 at %slots[1] : tensor<1x?x4xf32>, tensor<2xi32>
    %d1 = hone.call @backward "layers.1." (%k1, %d2) when %mask[1] : tensor<2xi32> else @pass_through : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %k0 = hone.kept %pool0 at %slots[0] : tensor<1x?x4xf32>, tensor<2xi32>
    %d0 = hone.call @backward "layers.0." (%k0, %d1) when %mask[0] : tensor<2xi32> else @pass_through : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    hone.return %3 : tensor<f64>
  }
  // CHECK: hone.schedule train
  // CHECK: %[[MASK:.*]] = hone.scalar @select
  // CHECK: %[[F:.*]]:2 = hone.run @lower.forward(%[[MASK]], %[[MASK]])
  // CHECK: %[[U:.*]]:2 = hone.run @upper.gradient(%[[F]]#0, %[[MASK]], %[[MASK]])
  // CHECK: hone.run @lower.backward(%[[F]]#1, %[[MASK]], %[[U]]#1, %[[MASK]])
  hone.schedule train {
    %mask = hone.scalar @select() : () -> tensor<2xi32>
    %batch = hone.load
    %loss = hone.run @gradient(%mask, %mask) on %batch : (tensor<2xi32>, tensor<2xi32>) -> tensor<f64>
    hone.report %loss as "loss" : tensor<f64>
  }
}
