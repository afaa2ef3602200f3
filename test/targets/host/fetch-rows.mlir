// RUN: hone-opt %s --hone-host-fetch-rows | FileCheck %s --enable-var-scope

// A row that is not to stay is copied from the file, of packed numbers half as
// many bytes, with all of its scales and biases, each into memory of its own.

// CHECK-LABEL: func.func @row
// CHECK-SAME: (%[[TO:.*]]: memref<1x64xf32>, %[[Q:.*]]: memref<8x32xi8>, %[[S:.*]]: memref<8x2xf32>, %[[B:.*]]: memref<8x2xf32>, %[[COUNT:.*]]: index)
func.func @row(%to: memref<1x64xf32>, %q: memref<8x32xi8>, %s: memref<8x2xf32>,
               %b: memref<8x2xf32>, %count: index) {
  %column = arith.constant 16 : index
  // CHECK: tile.parallel (%[[ROW:.*]]) in (%[[COUNT]]) private(%[[OWN_Q:.*]] : memref<1x32xi8>, %[[OWN_S:.*]] : memref<1x2xf32>, %[[OWN_B:.*]] : memref<1x2xf32>)
  tile.parallel (%row) in (%count) {
    // CHECK: %[[BYTES:.*]] = arith.divui %{{.*}}, %c2
    // CHECK: tile.fetch %[[OWN_Q]], %[[Q]][%[[ROW]], %c8] size %[[BYTES]]
    // CHECK: tile.fetch %[[OWN_S]], %[[S]][%[[ROW]], %c0{{.*}}] size %c2
    // CHECK: tile.fetch %[[OWN_B]], %[[B]][%[[ROW]], %c0{{.*}}] size %c2
    // CHECK: tile.read_row %[[TO]], %[[OWN_Q]][%c0{{.*}}, %c16] size %[[COUNT]] scales %[[OWN_S]] biases %[[OWN_B]] bits 4
    tile.read_row %to, %q[%row, %column] size %count release scales %s biases %b bits 4
        : memref<1x64xf32>, memref<8x32xi8>, memref<8x2xf32>, memref<8x2xf32>
    // Weights that may stay are read where they are mapped.
    // CHECK: tile.read_row %[[TO]], %[[Q]][%[[ROW]]
    tile.read_row %to, %q[%row, %column] size %count scales %s biases %b bits 4
        : memref<1x64xf32>, memref<8x32xi8>, memref<8x2xf32>, memref<8x2xf32>
  }
  return
}
