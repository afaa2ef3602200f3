// RUN: hone-opt %s --hone-place --hone-convert-to-tiles=block-rows=64 --hone-verify-tiles | FileCheck %s --check-prefixes=CHECK,PIECES
// RUN: hone-opt %s --hone-place --hone-convert-to-tiles --hone-verify-tiles | FileCheck %s --check-prefixes=CHECK,ROWS

// Where workgroups share rows out, an element-wise op has one for each 1,024
// elements of a row, so that no thread has many; else blocks of rows.
// CHECK-LABEL: func.func private @add
// PIECES: arith.constant 3 : index
// PIECES: tile.parallel
// PIECES: tile.map (%{{[^,]*}}) in
// ROWS: tile.parallel
// ROWS: tile.map (%{{.*}}, %{{.*}}) in
// CHECK: arith.addf
module attributes {hone.max_rows = 16 : i64} {
  hone.block @add(%x: tensor<?x2500xf32>, %z: tensor<?x2500xf32>) -> tensor<?x2500xf32> {
    %y = hone.add %x, %z : tensor<?x2500xf32>
    hone.return %y : tensor<?x2500xf32>
  }
}
