// RUN: hone-opt %s --split-input-file --hone-tile-rows="forward-rows=512" | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --split-input-file --hone-tile-rows="forward-rows=512" --hone-place | FileCheck %s --check-prefix=PLACED

// All that the layer computes is in tiles of whole sequences, which have starts
// of their own. Values of parameters alone stay in front, and so does the key
// of a perturbed parameter.
// CHECK-LABEL: module @layer_is_tiled
// CHECK: %[[S:.*]] = hone.input "sequence_starts"
// CHECK: %[[Y:.*]] = hone.row_tiles 384(%[[S]], %{{.*}}) {hone.longest_sequence = 130 : i64} : (tensor<?xi32>, tensor<?x4xf32>) -> tensor<?x4xf32> {
// CHECK-NEXT: ^{{.*}}(%[[STARTS:.*]]: tensor<?xi32>, %[[ROWS:.*]]: tensor<?x4xf32>):
// CHECK-NEXT: %[[N:.*]] = hone.linear %[[ROWS]]
// CHECK-NEXT: %[[R:.*]] = hone.rope %[[N]], %[[STARTS]]
// CHECK-NEXT: %[[A:.*]] = hone.attention %[[R]], %[[N]], %[[N]], %[[STARTS]]
// CHECK-NEXT: %[[U:.*]] = hone.linear %[[A]]
// CHECK-NEXT: %[[D:.*]] = hone.linear %[[U]]
// CHECK-NEXT: %[[Z:.*]] = hone.add %[[ROWS]], %[[D]]
// CHECK-NEXT: hone.return %[[Z]]
// CHECK-NEXT: }
// CHECK-NEXT: hone.return %[[Y]]
// The scratch is of 384 rows, the lowest tile with room for 130: n, r, the result
// of attention, and the values of n transposed, 6 KiB each, and where keys end.
// Before them are 127 rows of the result, which is written over the input: both
// layers have their rows where the entry's result is.
// PLACED-LABEL: module @layer_is_tiled
// PLACED: hone.block @layer{{.*}} attributes {hone.scratch_bytes = 28160 : i64}
// PLACED: hone.entry @twice{{.*}} attributes {hone.scratch_bytes = 28160 : i64}
// PLACED: hone.call @start {{.*}}hone.slots = [#hone.result_slot<0>]
// PLACED: hone.call @layer {{.*}}hone.slots = [#hone.result_slot<0>]
module @layer_is_tiled attributes {hone.max_rows = 4096 : i64, hone.max_positions = 130 : i64, hone.attention_iterations = 4 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>, %key: tensor<4xi32>, %scale: tensor<f64>) -> tensor<?x4xf32> {
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %v = hone.parameter "w" trainable init <zero> : tensor<4x4xf32>
    %w = hone.perturbed %v by %key scale %scale : tensor<4x4xf32>
    %n = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %r = hone.rope %n, %s heads 1 theta 1.0e4 : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    %h = hone.attention %r, %n, %n, %s heads 1 kv_heads 1 scale 0.5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    %up = hone.parameter "up" : tensor<8x4xf32>
    %u = hone.linear %h, %up : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %down = hone.parameter "down" : tensor<4x8xf32>
    %d = hone.linear %u, %down : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    %y = hone.add %x, %d : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @start() -> tensor<?x4xf32> {
    %x = hone.input "x" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.entry @twice(%key: tensor<4xi32>, %scale: tensor<f64>) -> tensor<?x4xf32> {
    %x = hone.call @start "" () : () -> tensor<?x4xf32>
    %y = hone.call @layer "layers.0." (%x, %key, %scale) : (tensor<?x4xf32>, tensor<4xi32>, tensor<f64>) -> tensor<?x4xf32>
    %z = hone.call @layer "layers.1." (%y, %key, %scale) : (tensor<?x4xf32>, tensor<4xi32>, tensor<f64>) -> tensor<?x4xf32>
    hone.return %z : tensor<?x4xf32>
  }
}

// -----

// Where a tile has no room for the longest sequence, runs of row-wise ops are
// tiled as ever.
// CHECK-LABEL: module @sequences_are_long
// CHECK: hone.attention
// CHECK: hone.row_tiles 512(%{{.*}}) :
module @sequences_are_long attributes {hone.max_rows = 4096 : i64, hone.max_positions = 400 : i64, hone.attention_iterations = 4 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %h = hone.attention %x, %x, %x, %s heads 1 kv_heads 1 scale 0.5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    %up = hone.parameter "up" : tensor<8x4xf32>
    %u = hone.linear %h, %up : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %down = hone.parameter "down" : tensor<4x8xf32>
    %y = hone.linear %u, %down : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
}

// -----

// The attention of a tangent sums in an order that depends on the batch.
// CHECK-LABEL: module @tangents_are_not_tiled
// CHECK-NOT: hone.row_tiles
module @tangents_are_not_tiled attributes {hone.max_rows = 4096 : i64, hone.max_positions = 130 : i64, hone.attention_iterations = 4 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>, %t: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %y = hone.attention_tangent %x, %x, %x, %s tv %t heads 1 kv_heads 1 scale 0.5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
}

// -----

// Tiles have slices of a batch's other values for its rows.
// CHECK-LABEL: module @tokens_have_slices
// CHECK: hone.row_tiles 384(%[[S:.*]], %[[IDS:.*]]) {{.*}} : (tensor<?xi32>, tensor<?xi32>) -> tensor<?x4xf32> {
// CHECK-NEXT: ^{{.*}}(%[[STARTS:.*]]: tensor<?xi32>, %[[OWN:.*]]: tensor<?xi32>):
// CHECK-NEXT: %[[X:.*]] = hone.embedding %[[OWN]]
// CHECK-NEXT: %[[P:.*]] = hone.position_embedding %[[STARTS]]
// CHECK-NEXT: hone.add %[[X]], %[[P]]
module @tokens_have_slices attributes {hone.max_rows = 4096 : i64, hone.max_positions = 130 : i64, hone.attention_iterations = 4 : i64} {
  hone.block @embed() -> tensor<?x4xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "embed_tokens.weight" : tensor<16x4xf32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<16x4xf32>) -> tensor<?x4xf32>
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %w = hone.parameter "embed_positions.weight" : tensor<130x4xf32>
    %p = hone.position_embedding %s, %w offset 0 : (tensor<?xi32>, tensor<130x4xf32>) -> tensor<?x4xf32>
    %y = hone.add %x, %p : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
}

// -----

// Nothing is inside.
// CHECK-LABEL: module @results_are_all_there_is
// CHECK-NOT: hone.row_tiles
module @results_are_all_there_is attributes {hone.max_rows = 4096 : i64, hone.max_positions = 130 : i64, hone.attention_iterations = 4 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %y = hone.attention %x, %x, %x, %s heads 1 kv_heads 1 scale 0.5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
}
