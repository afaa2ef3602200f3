// RUN: hone-opt %s --hone-place --hone-convert-to-tiles | FileCheck %s --enable-var-scope

// A packed parameter is three arguments, one of bfloat16 is one; the weight
// table has them in the same order: head 0 to 2, table 3 to 5, norm 6, out 7.
// CHECK: func.func private @head(
// CHECK-SAME: %[[Q:[a-z0-9]*]]: memref<128x32xi8>, %[[S:[a-z0-9]*]]: memref<128x1xf32>, %[[B:[a-z0-9]*]]: memref<128x1xf32>
// CHECK: tile.product {{.*}} transpose_w {{.*}}scales %[[S]] biases %[[B]] bits 4 : {{.*}}, memref<128x32xi8>

// Rows of a table are unpacked one at a time.
// CHECK: func.func private @embed(
// CHECK-SAME: memref<9x64xi8>, %[[ES:[a-z0-9]*]]: memref<9x2xf32>, %[[EB:[a-z0-9]*]]: memref<9x2xf32>, %{{.*}}: memref<64xbf16>, %[[OUT:[a-z0-9]*]]: memref<64x64xbf16>
// CHECK: tile.parallel {{.*}} private(%[[ROW:.*]] : memref<1x64xf32>)
// CHECK: tile.read_row %[[ROW]], {{.*}} scales %[[ES]] biases %[[EB]] bits 8
// CHECK: arith.extf {{.*}} : bf16 to f32
// CHECK: tile.product {{.*}}, %[[OUT]]{{.*}} transpose_w

// CHECK: func.func @hone_entry_loss(
// CHECK: tile.weight 0 : memref<128x32xi8>
// CHECK: tile.weight 3 : memref<9x64xi8>
// CHECK: tile.weight 4 : memref<9x2xf32>
// CHECK: tile.weight 7 : memref<64x64xbf16>
module attributes {hone.max_rows = 16 : i64} {
  hone.block @head() -> tensor<?x128xf32> {
    %x = hone.input "x" : tensor<?x64xf32>
    %w = hone.parameter "weight" stored <int4, group = 64> : tensor<128x64xf32>
    %y = hone.linear %x, %w : (tensor<?x64xf32>, tensor<128x64xf32>) -> tensor<?x128xf32>
    hone.return %y : tensor<?x128xf32>
  }
  hone.block @embed() -> tensor<?x64xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "table.weight" stored <int8, group = 32> : tensor<9x64xf32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x64xf32>) -> tensor<?x64xf32>
    %n = hone.parameter "norm.weight" stored <bfloat16> : tensor<64xf32>
    %z = hone.rms_norm %x, %n eps 1.0e-5 : (tensor<?x64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
    %o = hone.parameter "out.weight" stored <bfloat16> : tensor<64x64xf32>
    %y = hone.linear %z, %o : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
    hone.return %y : tensor<?x64xf32>
  }
  hone.entry @loss() {
    %y = hone.call @head "lm_head." () : () -> tensor<?x128xf32>
    %x = hone.call @embed "model." () : () -> tensor<?x64xf32>
  }
}
