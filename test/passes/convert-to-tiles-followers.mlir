// RUN: hone-opt %s --split-input-file --hone-place --hone-convert-to-tiles | FileCheck %s --enable-var-scope

// An element-wise op after a product is done before the product is stored, and
// needs no loop; here in the memory that both share.
// CHECK-LABEL: module @product_does_what_follows
// CHECK: func.func private @mlp(
// CHECK: tile.product
// CHECK-SAME: epilogue (%[[SUM:.*]], %{{.*}}, %{{.*}}) {
// CHECK: %[[UP:.*]] = memref.load
// CHECK: math.exp
// CHECK: arith.mulf %{{.*}}, %[[UP]]
// CHECK: tile.yield
// CHECK-NOT: tile.map
// CHECK: return
module @product_does_what_follows attributes {hone.max_rows = 16 : i64} {
  hone.block @mlp(%x: tensor<?x4xf32>, %up: tensor<?x8xf32>) {
    %w = hone.parameter "weight" : tensor<8x4xf32>
    %gate = hone.linear %x, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %y = hone.gated_activation silu %gate, %up : tensor<?x8xf32>
    hone.return
  }
}

// -----

// Sums that are not complete stay in the product's own memory; the last part
// adds them, and the next op's result overwrites its other operand.
// CHECK-LABEL: module @only_complete_sums
// CHECK: func.func private @mlp(%{{[^,]*}}, %[[SCRATCH:[^:]*]]: !tile.memory
// CHECK: %[[X:.*]] = tile.view %[[SCRATCH]][%c0{{[_0-9]*}}]
// CHECK: %[[P:.*]] = tile.view %[[SCRATCH]][%c512{{[_0-9]*}}]
// CHECK: %[[Y:.*]] = tile.view %[[SCRATCH]][%c0{{[_0-9]*}}]
// CHECK: tile.product %[[P]]
// CHECK-NOT: {{into|epilogue}}
// CHECK: tile.product %[[P]]
// CHECK-SAME: accumulate
// CHECK-SAME: into %[[Y]]
// CHECK-SAME: epilogue (%[[SUM:.*]], %{{.*}}, %{{.*}}) {
// CHECK: %[[OTHER:.*]] = memref.load %[[X]]
// CHECK: arith.addf %[[OTHER]], %[[SUM]]
module @only_complete_sums attributes {hone.max_rows = 16 : i64} {
  hone.block @mlp(%h: tensor<?x4xf32>) {
    %w = hone.parameter "weight" : tensor<8x4xf32>
    %a = hone.parameter "a" : tensor<2x4xf32>
    %b = hone.parameter "b" : tensor<8x2xf32>
    %x = hone.linear %h, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %p = hone.lora_linear %h, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<?x8xf32>
    %y = hone.add %x, %p : tensor<?x8xf32>
    hone.return
  }
}

// -----

// A product that something else reads too must be stored.
// CHECK-LABEL: module @product_is_needed
// CHECK: func.func private @mlp(
// CHECK: tile.product
// CHECK: tile.product
// CHECK-NOT: epilogue
// CHECK: tile.map
module @product_is_needed attributes {hone.max_rows = 16 : i64} {
  hone.block @mlp(%x: tensor<?x4xf32>) {
    %w = hone.parameter "weight" : tensor<8x4xf32>
    %up = hone.linear %x, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %gate = hone.linear %x, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %y = hone.gated_activation silu %gate, %up : tensor<?x8xf32>
    %z = hone.add %y, %gate : tensor<?x8xf32>
    hone.return
  }
}

// -----

// Nothing overwrites an operand that the product still reads.
// CHECK-LABEL: module @operand_is_needed
// CHECK: func.func private @mlp(
// CHECK: tile.product
// CHECK: tile.product
// CHECK-NOT: epilogue
// CHECK: tile.map
module @operand_is_needed attributes {hone.max_rows = 16 : i64} {
  hone.block @mlp(%h: tensor<?x4xf32>) {
    %w = hone.parameter "weight" : tensor<4x4xf32>
    %x = hone.linear %h, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %p = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %y = hone.add %x, %p : tensor<?x4xf32>
    hone.return
  }
}

// -----

// In tiles of rows all is the same, the more so as tiles end with the residual.
// CHECK-LABEL: module @in_row_tiles
// CHECK: func.func private @mlp(
// CHECK: scf.for
// CHECK: tile.product
// CHECK-NOT: epilogue
// CHECK: tile.product {{.*}} epilogue
// CHECK-NOT: tile.map
// CHECK: return
module @in_row_tiles attributes {hone.max_rows = 256 : i64} {
  hone.block @mlp(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %up = hone.parameter "up" : tensor<8x4xf32>
    %down = hone.parameter "down" : tensor<4x8xf32>
    %y = hone.row_tiles 32 (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
    ^tile(%rows: tensor<?x4xf32>):
      %0 = hone.linear %rows, %up : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
      %1 = hone.linear %0, %down : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
      %2 = hone.add %rows, %1 : tensor<?x4xf32>
      hone.return %2 : tensor<?x4xf32>
    }
    hone.return %y : tensor<?x4xf32>
  }
}
