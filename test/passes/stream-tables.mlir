// RUN: hone-opt %s --hone-stream-weights=tables=true --split-input-file | FileCheck %s

// Where a row's work is large, a large table is let go row by row, and nothing
// else is: no layer, no table that a head reads too, no small table.

// CHECK-LABEL: hone.block @embed
// CHECK: %[[TABLE:.*]] = hone.parameter "table"
// CHECK: %[[TIED:.*]] = hone.parameter "tied"
// CHECK: %[[SMALL:.*]] = hone.parameter "small"
// CHECK: hone.embedding %{{.*}}, %[[TABLE]] streamed :
// CHECK: hone.embedding %{{.*}}, %[[TIED]] :
// CHECK: hone.embedding %{{.*}}, %[[SMALL]] :
// CHECK-NOT: hone.release
// CHECK-NOT: hone.prefetch
hone.block @embed() -> tensor<?x4096xf32> {
  %ids = hone.input "input_ids" : tensor<?xi32>
  %table = hone.parameter "table" : tensor<8192x4096xf32>
  %tied = hone.parameter "tied" : tensor<8192x4096xf32>
  %small = hone.parameter "small" : tensor<9x4096xf32>
  %x = hone.embedding %ids, %table : (tensor<?xi32>, tensor<8192x4096xf32>) -> tensor<?x4096xf32>
  %y = hone.embedding %ids, %tied : (tensor<?xi32>, tensor<8192x4096xf32>) -> tensor<?x4096xf32>
  %z = hone.embedding %ids, %small : (tensor<?xi32>, tensor<9x4096xf32>) -> tensor<?x4096xf32>
  %xy = hone.add %x, %y : tensor<?x4096xf32>
  %xyz = hone.add %xy, %z : tensor<?x4096xf32>
  hone.return %xyz : tensor<?x4096xf32>
}

hone.block @head(%x: tensor<?x4096xf32>) -> tensor<f64> {
  %t = hone.input "targets" : tensor<?xi32>
  %w = hone.parameter "tied" : tensor<8192x4096xf32>
  %loss = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4096xf32>, tensor<8192x4096xf32>, tensor<?xi32>) -> tensor<f64>
  hone.return %loss : tensor<f64>
}

hone.entry @run() -> tensor<f64> {
  %0 = hone.call @embed "" () : () -> tensor<?x4096xf32>
  %1 = hone.call @head "" (%0) : (tensor<?x4096xf32>) -> tensor<f64>
  hone.return %1 : tensor<f64>
}

// -----

// A row of a small model is computed in the time that reading it again takes.

// CHECK-LABEL: hone.block @alone
// CHECK: hone.embedding %{{.*}}, %{{[0-9]*}} :
hone.block @alone() -> tensor<?x4096xf32> {
  %ids = hone.input "input_ids" : tensor<?xi32>
  %table = hone.parameter "table" : tensor<8192x4096xf32>
  %x = hone.embedding %ids, %table : (tensor<?xi32>, tensor<8192x4096xf32>) -> tensor<?x4096xf32>
  hone.return %x : tensor<?x4096xf32>
}

hone.entry @run() -> tensor<?x4096xf32> {
  %0 = hone.call @alone "" () : () -> tensor<?x4096xf32>
  hone.return %0 : tensor<?x4096xf32>
}
