// RUN: hone-opt %s --split-input-file --hone-place --hone-convert-to-tiles | FileCheck %s --enable-var-scope

// All memory that a block touches outside its scratch is an argument: rows are
// sized for the most there may be, and the row count is a value.
// CHECK-LABEL: module @block_signature
// CHECK-NOT: hone.{{[a-z_]*}} {{["@%]}}
// CHECK: func.func private @layer(
// CHECK-SAME: %{{.*}}: index, %{{.*}}: !tile.memory,
// CHECK-SAME: %{{.*}}: memref<16x4xf32>, %{{.*}}: memref<4xf32>, %{{.*}}: memref<16xi32>, %{{.*}}: memref<16x4xf32>)
// CHECK: func.func @hone_entry_loss() attributes {tile.entry}
// CHECK: call @layer(
// CHECK-NOT: hone.{{[a-z_]*}} {{["@%]}}
module @block_signature attributes {hone.max_rows = 16 : i64} {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "norm.weight" : tensor<4xf32>
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %n = hone.rms_norm %x, %w eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %y = hone.rope %n, %s heads 1 theta 1.0e4 : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @embed() -> tensor<?x4xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "weight" : tensor<9x4xf32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    hone.return %x : tensor<?x4xf32>
  }
  hone.entry @loss() {
    %x = hone.call @embed "model.embed_tokens." () : () -> tensor<?x4xf32>
    %y = hone.call @layer "model.layers.0." (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  }
}

// -----

// Sums over features are taken in equal blocks of at most 1024, and the bias is
// added to the whole; an iteration has no more columns than the target says.
// CHECK-LABEL: module @long_sums_are_blocked
// CHECK: func.func private @project(
// CHECK: tile.parallel
// CHECK: tile.product
// CHECK-SAME: in [864, 64] transpose_w read_ahead
// CHECK-SAME: epilogue (%[[SUM:.*]], %{{.*}}, %{{.*}}) {
// CHECK: arith.addf %[[SUM]]
// CHECK-NOT: tile.product
module @long_sums_are_blocked attributes {hone.max_rows = 16 : i64} {
  hone.block @project() -> tensor<?x128xf32> {
    %x = hone.input "x" : tensor<?x2500xf32>
    %w = hone.parameter "weight" : tensor<128x2500xf32>
    %b = hone.parameter "bias" : tensor<128xf32>
    %y = hone.linear %x, %w bias %b : (tensor<?x2500xf32>, tensor<128x2500xf32>, tensor<128xf32>) -> tensor<?x128xf32>
    hone.return %y : tensor<?x128xf32>
  }
  hone.entry @loss() {
    %y = hone.call @project "lm_head." () : () -> tensor<?x128xf32>
  }
}

// -----

// A gradient that is only added to its sink is added there by its product:
// nothing is copied afterwards. Where its rows are short beside a vector, lanes
// have columns of dy, and a tile of it is copied there and back.
// CHECK-LABEL: module @gradient_is_accumulated_in_place
// CHECK: func.func private @adapter(
// CHECK-SAME: %[[DA:[^:]*]]: memref<2x4xf32>, %[[DB:[^:]*]]: memref<8x2xf32>)
// CHECK: tile.product %[[DA]][{{.*}} accumulate transpose_a
// CHECK-NOT: tile.map
// CHECK: tile.parallel {{.*}} private(%[[SUMS:[^ ]*]] : memref<2x8xf32>)
// CHECK: tile.map
// CHECK: memref.load %[[DB]][
// CHECK: memref.store {{.*}}, %[[SUMS]][
// CHECK: tile.product %[[SUMS]][{{.*}} accumulate transpose_a few_rows
// CHECK: tile.map
// CHECK: memref.load %[[SUMS]][
// CHECK: memref.store {{.*}}, %[[DB]][
// CHECK-NOT: tile.map
// CHECK: return
module @gradient_is_accumulated_in_place attributes {hone.max_rows = 16 : i64} {
  hone.block @adapter() {
    %dy = hone.input "dy" : tensor<?x8xf32>
    %x = hone.input "x" : tensor<?x4xf32>
    %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<8x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> (tensor<2x4xf32>, tensor<8x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<8x2xf32>
    hone.return
  }
  hone.entry gradient @gradient() {
    hone.call @adapter "q_proj." () : () -> ()
  }
}

// -----

// The adapter's products say that they have few rows.
// CHECK-LABEL: module @few_rows
// CHECK: tile.product {{.*}} few_rows
// CHECK: tile.product {{.*}} accumulate transpose_a few_rows
// CHECK: tile.product {{.*}} accumulate transpose_a few_rows
module @few_rows attributes {hone.max_rows = 16 : i64} {
  hone.block @adapter() {
    %dy = hone.input "dy" : tensor<?x40xf32>
    %x = hone.input "x" : tensor<?x100xf32>
    %h = hone.input "h" : tensor<?x8xf32>
    %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<8x100xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<40x8xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b h %h scale 2.0 : (tensor<?x40xf32>, tensor<?x100xf32>, tensor<8x100xf32>, tensor<40x8xf32>, tensor<?x8xf32>) -> (tensor<8x100xf32>, tensor<40x8xf32>)
    hone.gradient %da of "a" : tensor<8x100xf32>
    hone.gradient %db of "b" : tensor<40x8xf32>
    hone.return
  }
  hone.entry gradient @gradient() {
    hone.call @adapter "q_proj." () : () -> ()
  }
}

// -----

// Equal rotation tables are one constant.
// CHECK-LABEL: module @rotation_tables_are_shared
// CHECK-COUNT-2: memref.global
// CHECK-NOT: memref.global
module @rotation_tables_are_shared attributes {hone.max_rows = 16 : i64} {
  hone.block @rotate() -> tensor<?x4xf32> {
    %x = hone.input "x" : tensor<?x4xf32>
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %y = hone.rope %x, %s heads 1 theta 1.0e4 : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    %z = hone.rope %y, %s heads 1 theta 1.0e4 inverse : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    hone.return %z : tensor<?x4xf32>
  }
  hone.entry @loss() {
    %z = hone.call @rotate "" () : () -> tensor<?x4xf32>
  }
}

// -----

// Blocks of f64 are as many bytes wide as those of f32.
// CHECK-LABEL: module @blocks_of_double
// CHECK: tile.product {{.*}} in [4, 32]
module @blocks_of_double attributes {hone.max_rows = 16 : i64} {
  hone.block @project() -> tensor<?x128xf64> {
    %x = hone.input "x" : tensor<?x4xf64>
    %w = hone.parameter "weight" : tensor<128x4xf64>
    %y = hone.linear %x, %w : (tensor<?x4xf64>, tensor<128x4xf64>) -> tensor<?x128xf64>
    hone.return %y : tensor<?x128xf64>
  }
  hone.entry @loss() {
    %y = hone.call @project "" () : () -> tensor<?x128xf64>
  }
}

// -----

// Row tiles are a loop; the kernels inside see the rows of one tile, and values
// of both sides are viewed from the first of them on: 16 bytes a row.
// CHECK-LABEL: module @row_tiles_are_a_loop
// CHECK: func.func private @mlp(
// CHECK-SAME: %[[ROWS:[^:]*]]: index, %{{[^:]*}}: !tile.memory, %[[X:[^:]*]]: memref<256x4xf32>, {{.*}}, %[[Y:[^:]*]]: memref<256x4xf32>)
// CHECK: scf.for %[[FIRST:.*]] = %{{.*}} to %[[ROWS]] step
// CHECK: %[[LEFT:.*]] = arith.subi %[[ROWS]], %[[FIRST]]
// CHECK: %[[COUNT:.*]] = arith.minui %{{.*}}, %[[LEFT]]
// CHECK: %[[AT:.*]] = arith.muli %[[FIRST]], %{{.*}}
// CHECK: %[[XS:.*]] = tile.view %[[X]][%[[AT]]] : memref<256x4xf32> -> memref<32x4xf32>
// CHECK: %[[YS:.*]] = tile.view %[[Y]]
// CHECK: tile.product %{{.*}}, %[[XS]][{{.*}} size(%[[COUNT]],
// CHECK: tile.product %[[YS]]
module @row_tiles_are_a_loop attributes {hone.max_rows = 256 : i64} {
  hone.block @mlp(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %up = hone.parameter "up" : tensor<8x4xf32>
    %down = hone.parameter "down" : tensor<4x8xf32>
    %y = hone.row_tiles 32 (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
    ^tile(%rows: tensor<?x4xf32>):
      %0 = hone.linear %rows, %up : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
      %1 = hone.linear %0, %down : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
      hone.return %1 : tensor<?x4xf32>
    }
    hone.return %y : tensor<?x4xf32>
  }
}
