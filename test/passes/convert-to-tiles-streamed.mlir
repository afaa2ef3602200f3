// RUN: hone-opt %s --split-input-file --hone-place --hone-convert-to-tiles | FileCheck %s

// The weights of a released layer are released as they are stored: numbers,
// scales and biases, all rows of each. Trainable parameters are not in the
// weights file.

module attributes {hone.max_rows = 8 : i64} {
  hone.block @layer(%x: tensor<?x64xf32>) -> tensor<?x32xf32> {
    %w = hone.parameter "w" stored <int4, group = 64> : tensor<32x64xf32>
    %a = hone.parameter "a" trainable init <zero> : tensor<2x64xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<32x2xf32>
    %y = hone.lora_linear %x, %w, %a, %b scale 1.0 : (tensor<?x64xf32>, tensor<32x64xf32>, tensor<2x64xf32>, tensor<32x2xf32>) -> tensor<?x32xf32>
    hone.return %y : tensor<?x32xf32>
  }
  hone.block @start() -> tensor<?x64xf32> {
    %x = hone.input "hidden" : tensor<?x64xf32>
    %y = hone.add %x, %x : tensor<?x64xf32>
    hone.return %y : tensor<?x64xf32>
  }
  // CHECK-LABEL: func.func @hone_entry_run
  hone.entry @run() {
    %x = hone.call @start "" () : () -> tensor<?x64xf32>
    // CHECK: call @layer
    %y = hone.call @layer "0." (%x) : (tensor<?x64xf32>) -> tensor<?x32xf32>
    // CHECK: tile.release %{{.*}}[%c0{{.*}}] size %c32{{.*}} : memref<32x32xi8>
    // CHECK: tile.release %{{.*}} size %c32{{.*}} : memref<32x1xf32>
    // CHECK: tile.release %{{.*}} size %c32{{.*}} : memref<32x1xf32>
    // CHECK-NOT: tile.release
    hone.release @layer "0."
  }
}

// -----

// The head goes tile by tile, after the rows have used it.
module attributes {hone.max_rows = 8 : i64} {
  // CHECK-LABEL: func.func private @head
  hone.block @head(%x: tensor<?x64xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<4096x64xf32>
    // CHECK: tile.product
    // CHECK: tile.release %{{.*}} size %{{.*}} : memref<4096x64xf32>
    %loss = hone.linear_cross_entropy %x, %w, %t streamed : (tensor<?x64xf32>, tensor<4096x64xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %loss : tensor<f64>
  }
  hone.block @start() -> tensor<?x64xf32> {
    %x = hone.input "hidden" : tensor<?x64xf32>
    %y = hone.add %x, %x : tensor<?x64xf32>
    hone.return %y : tensor<?x64xf32>
  }
  hone.entry @loss() -> tensor<f64> {
    %x = hone.call @start "" () : () -> tensor<?x64xf32>
    %l = hone.call @head "" (%x) : (tensor<?x64xf32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
}
