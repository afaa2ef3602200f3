// RUN: hone-opt %s --hone-stream-weights | FileCheck %s

// Each layer is read ahead while the one before runs, and released when it has
// run; a weight that the next call reads too stays.

hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %w = hone.parameter "weight" : tensor<4x4xf32>
  %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  hone.return %y : tensor<?x4xf32>
}

hone.block @twice(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = hone.add %x, %x : tensor<?x4xf32>
  hone.return %y : tensor<?x4xf32>
}

hone.block @start() -> tensor<?x4xf32> {
  %x = hone.input "hidden" : tensor<?x4xf32>
  %y = hone.add %x, %x : tensor<?x4xf32>
  hone.return %y : tensor<?x4xf32>
}

// CHECK-LABEL: hone.entry @run
hone.entry @run() -> tensor<?x4xf32> {
  // CHECK-NEXT: hone.prefetch @layer "0."
  // CHECK-NEXT: hone.call @start
  %0 = hone.call @start "" () : () -> tensor<?x4xf32>
  // CHECK-NEXT: hone.prefetch @layer "1."
  // CHECK-NEXT: hone.call @layer "0."
  // CHECK-NEXT: hone.release @layer "0."
  %1 = hone.call @layer "0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK-NEXT: hone.call @layer "1."
  %2 = hone.call @layer "1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // The same weight again: neither released nor read ahead.
  // CHECK-NEXT: hone.call @layer "1."
  // CHECK-NEXT: hone.release @layer "1."
  %3 = hone.call @layer "1." (%2) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // A call without weights has none to release.
  // CHECK-NEXT: hone.call @twice
  // CHECK-NEXT: hone.return
  %4 = hone.call @twice "" (%3) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  hone.return %4 : tensor<?x4xf32>
}

// CHECK-LABEL: hone.block @head
// CHECK: hone.linear_cross_entropy {{.*}} streamed
hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
  %t = hone.input "targets" : tensor<?xi32>
  %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
  %loss = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
  hone.return %loss : tensor<f64>
}

// CHECK-LABEL: hone.block @embed
// CHECK: hone.embedding {{.*}} streamed
hone.block @embed() -> tensor<?x4xf32> {
  %ids = hone.input "input_ids" : tensor<?xi32>
  %table = hone.parameter "embed_tokens.weight" : tensor<9x4xf32>
  %x = hone.embedding %ids, %table : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
  hone.return %x : tensor<?x4xf32>
}

hone.block @scaled(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %w = hone.parameter "scale" : tensor<4xf32>
  %y = hone.rms_norm %x, %w eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  hone.return %y : tensor<?x4xf32>
}

// A conditional call reads the weights of each of its blocks.
// CHECK-LABEL: hone.entry @run_some
hone.entry @run_some(%mask: tensor<2xi32>) -> tensor<?x4xf32> {
  // CHECK-NEXT: hone.prefetch @layer "0."
  // CHECK-NEXT: hone.prefetch @scaled "0."
  // CHECK-NEXT: hone.call @start
  %0 = hone.call @start "" () : () -> tensor<?x4xf32>
  // CHECK-NEXT: hone.prefetch @layer "1."
  // CHECK-NEXT: hone.call @layer "0."
  // CHECK-NEXT: hone.release @layer "0."
  // CHECK-NEXT: hone.release @scaled "0."
  %1 = hone.call @layer "0." (%0) when %mask[0] : tensor<2xi32> else @scaled : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK-NEXT: hone.call @layer "1."
  // CHECK-NEXT: hone.release @layer "1."
  // CHECK-NEXT: hone.return
  %2 = hone.call @layer "1." (%1) when %mask[1] : tensor<2xi32> else @twice : (tensor<?x4xf32>) -> tensor<?x4xf32>
  hone.return %2 : tensor<?x4xf32>
}
