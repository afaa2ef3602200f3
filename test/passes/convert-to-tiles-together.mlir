// RUN: hone-opt %s --split-input-file --hone-place --hone-convert-to-tiles --hone-verify-tiles | FileCheck %s --enable-var-scope

// Rows are iterations of their own, and so are the heads of a row.
// CHECK-LABEL: module @rows_and_heads
// CHECK: tile.parallel
// CHECK: tile.each (%{{.*}}) in (%{{[^,]*}}) {
// CHECK: tile.reduce
// CHECK: tile.parallel
// CHECK: tile.each (%{{.*}}, %{{.*}}) in (%{{.*}}, %{{.*}}) {
// CHECK: tile.reduce
// CHECK-NOT: scf.for
// CHECK: return
module @rows_and_heads attributes {hone.max_rows = 16 : i64} {
  hone.block @norms(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
    %w = hone.parameter "whole" : tensor<8xf32>
    %h = hone.parameter "head" : tensor<4xf32>
    %y = hone.rms_norm %x, %w eps 1.0e-5 : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    %z = hone.rms_norm %y, %h heads 2 eps 1.0e-5 : (tensor<?x8xf32>, tensor<4xf32>) -> tensor<?x8xf32>
    hone.return %z : tensor<?x8xf32>
  }
}

// -----

// Rows with a target are counted by blocks: no iteration waits for another. Only
// the sum of the losses is one chain.
// CHECK-LABEL: module @rows_with_a_target
// CHECK: tile.parallel (%[[BLOCK:.*]]) in (%{{.*}}) {
// CHECK: %[[BEFORE:.*]] = tile.reduce
// CHECK: tile.each
// CHECK: tile.reduce
// CHECK: memref.store
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (f64)
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (f64)
// CHECK-NOT: iter_args
// CHECK: return
module @rows_with_a_target attributes {hone.max_rows = 256 : i64} {
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %w = hone.parameter "weight" : tensor<9x4xf32>
    %t = hone.input "targets" : tensor<?xi32>
    %loss = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %loss : tensor<f64>
  }
}

// -----

// The end of a key is found by halving: 9 steps for up to 256 rows.
// CHECK-LABEL: module @ends_of_keys
// CHECK: tile.each
// CHECK: %[[NINE:.*]] = arith.constant 9 : index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[NINE]] step %{{.*}} iter_args({{.*}}) -> (index, index)
// CHECK-NOT: iter_args
// CHECK: return
module @ends_of_keys attributes {hone.max_rows = 256 : i64} {
  hone.block @adjoint(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>, %l: tensor<?x4xf32>) -> (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %dq, %dk, %dv = hone.attention_adjoint %q, %q, %k, %k, %q, %l, %s heads 2 kv_heads 1 scale 0.5 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x8xf32>, tensor<?x4xf32>, tensor<?xi32>) -> (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>)
    hone.return %dq, %dk, %dv : tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>
  }
}

// -----

// A bias's gradient is a product with a row of ones, and is made zero as one
// vector: one iteration, not one for each element.
// CHECK-LABEL: module @bias
// CHECK: memref.global "private" constant @[[TABLE:ones[_0-9]*]] : memref<1x256xf32> = dense<1.000000e+00>
// CHECK: %[[ONE:.*]] = arith.constant 1 : index
// CHECK: tile.parallel (%{{.*}}) in (%[[ONE]]) {
// CHECK: tile.map
// CHECK: %[[ONES:.*]] = memref.get_global @[[TABLE]]
// CHECK: tile.product %{{.*}}, %[[ONES]]{{.*}} in [32, 8] accumulate few_rows
module @bias attributes {hone.max_rows = 256 : i64} {
  hone.block @adjoint(%dy: tensor<?x8xf32>) -> tensor<8xf32> {
    %db = hone.bias_adjoint %dy : (tensor<?x8xf32>) -> tensor<8xf32>
    hone.return %db : tensor<8xf32>
  }
}
