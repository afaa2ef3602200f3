// RUN: hone-opt %s --hone-place --hone-convert-to-tiles --split-input-file --mlir-print-debuginfo | FileCheck %s

// The loop of a product is named after all that it does.
// CHECK: func.func private @mlp(
// CHECK: loc("linear+gated_activation"(
module @names attributes {hone.max_rows = 16 : i64} {
  hone.block @mlp(%x: tensor<?x4xf32>, %up: tensor<?x8xf32>) {
    %w = hone.parameter "weight" : tensor<8x4xf32>
    %gate = hone.linear %x, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %y = hone.gated_activation silu %gate, %up : tensor<?x8xf32>
    hone.return
  }
}

// -----

// Updates share a function where kind and types are equal, and only there; no
// name that a user may give to a block is taken.
// CHECK-DAG: func.func private @update.25(
// CHECK-DAG: func.func private @update_0(%{{[^,]*}}: index
// CHECK-LABEL: func.func @hone_entry_step(
// CHECK: call @update.25(
// CHECK: call @zeros_0(
// CHECK: call @update_0(
// CHECK: call @update_1(
// CHECK: call @zeros_0(
// CHECK: call @update_2(
// CHECK: call @zeros_0(
// CHECK: call @update_1(
module @shared attributes {hone.max_rows = 16 : i64} {
  hone.block @update.25() {
    %a = hone.parameter "a" trainable init <zero> : tensor<5x5xf32>
    hone.return
  }
  hone.block @update_0() {
    %b = hone.parameter "a" trainable init <zero> : tensor<5x5xf32>
    hone.return
  }
  hone.entry gradient @step(%s: tensor<f64>) {
    hone.call @update.25 "0." () : () -> ()
    %0 = hone.layer_gradient "0." : tensor<25xf32>
    hone.call @update_0 "1." () : () -> ()
    hone.sgd %s, %s, %s from %0 : tensor<25xf32>
    %1 = hone.layer_gradient "1." : tensor<25xf32>
    hone.call @update_0 "2." () : () -> ()
    hone.adamw %s, %s, %s, %s, %s, %s, %s, %s from %1 : tensor<25xf32>
    %2 = hone.layer_gradient "2." : tensor<25xf32>
    hone.sgd %s, %s, %s from %2 : tensor<25xf32>
  }
}
