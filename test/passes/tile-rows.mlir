// RUN: hone-opt %s --split-input-file --hone-tile-rows="rows=64 forward-rows=128" | FileCheck %s --enable-var-scope

// The run from %h to %y has a wide value inside and becomes tiles; the sink of
// a slice's contribution moves in. Attention is not row-wise and ends the run
// before it, which is narrow and stays as it is.
// CHECK-LABEL: module @wide_run_is_tiled
// CHECK: %[[N:.*]] = hone.linear
// CHECK-NEXT: %[[H:.*]] = hone.attention
// CHECK: %[[Y:.*]] = hone.row_tiles 64(%[[H]]) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
// CHECK-NEXT: ^{{.*}}(%[[ROWS:.*]]: tensor<?x4xf32>):
// CHECK-NEXT: %[[UP:.*]] = hone.linear %[[ROWS]]
// CHECK-NEXT: %[[DA:.*]], %{{.*}} = hone.lora_parameter_adjoint %[[ROWS]], %[[UP]]
// CHECK-NEXT: hone.gradient %[[DA]]
// CHECK-NEXT: %[[DOWN:.*]] = hone.linear %[[UP]]
// CHECK-NEXT: hone.return %[[DOWN]]
// CHECK-NEXT: }
// CHECK-NEXT: hone.return %[[Y]]
module @wide_run_is_tiled attributes {hone.max_rows = 256 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %w = hone.parameter "w" : tensor<4x4xf32>
    %n = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %h = hone.attention %n, %n, %n, %s heads 1 kv_heads 1 scale 0.5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    %up = hone.parameter "up" : tensor<8x4xf32>
    %u = hone.linear %h, %up : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x8xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %h, %u, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x8xf32>, tensor<2x8xf32>, tensor<4x2xf32>) -> (tensor<2x8xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x8xf32>
    %down = hone.parameter "down" : tensor<4x8xf32>
    %y = hone.linear %u, %down : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
}

// -----

// Tiles save nothing where the wide value leaves the run.
// CHECK-LABEL: module @wide_value_leaves
// CHECK-NOT: hone.row_tiles
module @wide_value_leaves attributes {hone.max_rows = 256 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) -> (tensor<?x8xf32>, tensor<?x4xf32>) {
    %up = hone.parameter "up" : tensor<8x4xf32>
    %u = hone.linear %x, %up : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %down = hone.parameter "down" : tensor<4x8xf32>
    %y = hone.linear %u, %down : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    hone.return %u, %y : tensor<?x8xf32>, tensor<?x4xf32>
  }
}

// -----

// A batch is one tile.
// CHECK-LABEL: module @batch_is_short
// CHECK-NOT: hone.row_tiles
module @batch_is_short attributes {hone.max_rows = 64 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %up = hone.parameter "up" : tensor<8x4xf32>
    %u = hone.linear %x, %up : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %down = hone.parameter "down" : tensor<4x8xf32>
    %y = hone.linear %u, %down : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
}

// -----

// A block without sinks has tiles of its own height.
// CHECK-LABEL: module @forward_has_its_own_height
// CHECK: hone.row_tiles 128(
module @forward_has_its_own_height attributes {hone.max_rows = 256 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %up = hone.parameter "up" : tensor<8x4xf32>
    %u = hone.linear %x, %up : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %down = hone.parameter "down" : tensor<4x8xf32>
    %y = hone.linear %u, %down : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
}

// -----

// DoRA's magnitudes have their gradients added slice by slice, as any sum over
// rows; the lengths are of parameters alone and stay in front.
// CHECK-LABEL: module @dora_is_tiled
// CHECK: %[[N:.*]] = hone.row_lengths
// CHECK: %[[Y:.*]] = hone.row_tiles 64(%{{.*}}, %[[N]])
// CHECK-NEXT: ^{{.*}}(%[[ROWS:.*]]: tensor<?x4xf32>, %[[LENGTHS:.*]]: tensor<8xf32>):
// CHECK-NEXT: %[[UP:.*]] = hone.lora_linear %[[ROWS]]
// CHECK-NEXT: %[[DM:.*]] = hone.rescale_parameter_adjoint %[[UP]], %[[UP]], %[[LENGTHS]]
// CHECK-NEXT: hone.gradient %[[DM]]
// CHECK-NEXT: hone.rescale %[[UP]]
// CHECK-NEXT: hone.linear
// CHECK-NEXT: hone.return
module @dora_is_tiled attributes {hone.max_rows = 256 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %up = hone.parameter "up.weight" : tensor<8x4xf32>
    %a = hone.parameter "up.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "up.lora_B.weight" trainable init <zero> : tensor<8x2xf32>
    %m = hone.parameter "up.lora_magnitude_vector" trainable init <row_lengths> : tensor<8xf32>
    %n = hone.row_lengths %up, %a, %b scale 2.0 : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<8xf32>
    %u = hone.lora_linear %x, %up, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<?x8xf32>
    %dm = hone.rescale_parameter_adjoint %u, %u, %n : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>) -> tensor<8xf32>
    hone.gradient %dm of "up.lora_magnitude_vector" : tensor<8xf32>
    %s = hone.rescale %u, %m, %n : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
    %down = hone.parameter "down.weight" : tensor<4x8xf32>
    %y = hone.linear %s, %down : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
}
