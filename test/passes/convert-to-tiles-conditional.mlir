// RUN: hone-opt %s --split-input-file --hone-place --hone-verify-placement --hone-convert-to-tiles | FileCheck %s --enable-var-scope

// Both blocks write the one place of the result, and each gets the parameters
// that it reads; nothing runs before the mask is read.
// CHECK-LABEL: module @one_of_two_blocks
// CHECK: func.func @hone_entry_gradient(
// CHECK: %[[MASK:.*]] = tile.argument 1 : memref<4xi32>
// CHECK-NOT: call
// CHECK: %[[AT:.*]] = arith.constant 3 : index
// CHECK: %[[NUMBER:.*]] = tile.number %[[MASK]][%[[AT]]] : memref<4xi32>
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: %[[IS_SET:.*]] = arith.cmpi ne, %[[NUMBER]], %[[ZERO]] : i32
// CHECK: scf.if %[[IS_SET]] {
// CHECK: func.call @product(%{{.*}}, %[[SCRATCH:.*]], %[[X:.*]], %{{.*}}, %[[Y:.*]]) : (index, !tile.memory, memref<16x4xf32>, memref<4x4xf32>, memref<16x4xf32>) -> ()
// CHECK-NEXT: } else {
// CHECK: func.call @norm(%{{.*}}, %[[SCRATCH]], %[[X]], %{{.*}}, %[[Y]]) : (index, !tile.memory, memref<16x4xf32>, memref<4xf32>, memref<16x4xf32>) -> ()
// CHECK-NEXT: }
module @one_of_two_blocks attributes {hone.max_rows = 16 : i64} {
  hone.block @product(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @norm(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "norm" : tensor<4xf32>
    %y = hone.rms_norm %x, %w eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.entry @gradient(%x: tensor<?x4xf32>, %mask: tensor<4xi32>) {
    %y = hone.call @product "layers.3." (%x) when %mask[3] : tensor<4xi32> else @norm : (tensor<?x4xf32>) -> tensor<?x4xf32>
  }
}

// -----

// A call without results is skipped and nothing stands in.
// CHECK-LABEL: module @skipped
// CHECK: func.func @hone_entry_gradient(
// CHECK: scf.if
// CHECK: func.call @sink
// CHECK-NEXT: }
// CHECK-NEXT: return
module @skipped attributes {hone.max_rows = 16 : i64} {
  hone.block @sink() {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    hone.gradient %a of "a" : tensor<2x4xf32>
    hone.return
  }
  hone.entry @gradient(%mask: tensor<4xi32>) {
    hone.call @sink "layers.0." () when %mask[0] : tensor<4xi32> : () -> ()
  }
}

// -----

// A slot is found when the entry runs. Its number is read as unsigned and is at
// most that of the last slot, so no number leads out of the pool. A copy under a
// condition and one without are of one function.
// CHECK-LABEL: module @slots
// CHECK: func.func @hone_entry_gradient(
// CHECK: %[[POOL:.*]] = tile.view %{{.*}} : !tile.memory -> memref<3x16x4xf32>
// CHECK: scf.if
// CHECK: %[[NUMBER:.*]] = tile.number %{{.*}} : memref<2xi32>
// CHECK: %[[LAST:.*]] = arith.constant 2 : i32
// CHECK: %[[SLOT:.*]] = arith.minui %[[NUMBER]], %[[LAST]] : i32
// CHECK: %[[INDEX:.*]] = arith.index_castui %[[SLOT]] : i32 to index
// CHECK: %[[BYTES:.*]] = arith.constant 1024 : index
// CHECK: %[[OFFSET:.*]] = arith.muli %[[INDEX]], %[[BYTES]] : index
// CHECK: %[[VIEW:.*]] = tile.view %[[POOL]][%[[OFFSET]]] : memref<3x16x4xf32> -> memref<16x4xf32>
// CHECK: func.call @[[KEEP:keep[_0-9]*]](%{{.*}}, %{{.*}}, %[[VIEW]])
// CHECK-NEXT: }
// CHECK: call @[[KEEP]](
// CHECK: arith.minui
// CHECK: %[[KEPT:.*]] = tile.view %[[POOL]][%{{.*}}] : memref<3x16x4xf32> -> memref<16x4xf32>
// CHECK: call @read(%{{.*}}, %{{.*}}, %[[KEPT]])
// CHECK: func.func private @[[KEEP]](%{{.*}}: index, %[[FROM:.*]]: memref<16x4xf32>, %[[TO:.*]]: memref<16x4xf32>)
// CHECK: %[[V:.*]] = memref.load %[[FROM]]
// CHECK: memref.store %[[V]], %[[TO]]
// CHECK-NOT: func.func private @keep
module @slots attributes {hone.max_rows = 16 : i64} {
  hone.block @read(%x: tensor<?x4xf32>) {
    hone.return
  }
  hone.entry @gradient(%x: tensor<?x4xf32>, %mask: tensor<2xi32>, %slots: tensor<2xi32>) {
    %pool = hone.pool : tensor<3x?x4xf32>
    hone.keep %x in %pool at %slots[0] when %mask[0] : tensor<3x?x4xf32>, tensor<2xi32>, tensor<2xi32>
    hone.keep %x in %pool at %slots[1] : tensor<3x?x4xf32>, tensor<2xi32>
    %k = hone.kept %pool at %slots[1] : tensor<3x?x4xf32>, tensor<2xi32>
    hone.call @read "" (%k) : (tensor<?x4xf32>) -> ()
  }
}
