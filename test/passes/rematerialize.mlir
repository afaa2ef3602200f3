// RUN: hone-opt %s --split-input-file --hone-rematerialize | FileCheck %s --enable-var-scope

// The norm is read by %1 and, ten ops later, by %y: there it runs again. The
// use next to the last needs no third copy.
// CHECK-LABEL: module @late_use_has_a_copy
// CHECK: %[[N:.*]] = hone.rms_norm %[[X:[^,]*]], %[[W:[^ ]*]]
// CHECK-NEXT: hone.linear %[[N]]
// CHECK-COUNT-9: hone.linear
// CHECK-NEXT: %[[AGAIN:.*]] = hone.rms_norm %[[X]], %[[W]]
// CHECK-NEXT: hone.add %{{.*}}, %[[AGAIN]]
// CHECK-NEXT: hone.add %{{.*}}, %[[AGAIN]]
// CHECK-NOT: hone.rms_norm
module @late_use_has_a_copy {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %nw = hone.parameter "norm.weight" : tensor<4xf32>
    %w = hone.parameter "w" : tensor<4x4xf32>
    %n = hone.rms_norm %x, %nw eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %0 = hone.linear %n, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %1 = hone.linear %0, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %2 = hone.linear %1, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %3 = hone.linear %2, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %4 = hone.linear %3, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %5 = hone.linear %4, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %6 = hone.linear %5, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %7 = hone.linear %6, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %8 = hone.linear %7, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %9 = hone.linear %8, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %y = hone.add %9, %n : tensor<?x4xf32>
    %z = hone.add %y, %n : tensor<?x4xf32>
    hone.return %z : tensor<?x4xf32>
  }
}

// -----

// A product is not cheap, and a norm of a value of the block would keep that
// value in memory instead.
// CHECK-LABEL: module @neither_cheap_nor_from_arguments
// CHECK-COUNT-1: hone.rms_norm
// CHECK-NOT: hone.rms_norm
module @neither_cheap_nor_from_arguments {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %nw = hone.parameter "norm.weight" : tensor<4xf32>
    %w = hone.parameter "w" : tensor<16x4xf32>
    %v = hone.parameter "v" : tensor<4x16xf32>
    %p = hone.linear %x, %w : (tensor<?x4xf32>, tensor<16x4xf32>) -> tensor<?x16xf32>
    %q = hone.linear %p, %v : (tensor<?x16xf32>, tensor<4x16xf32>) -> tensor<?x4xf32>
    %n = hone.rms_norm %q, %nw eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %1 = hone.add %n, %x : tensor<?x4xf32>
    %2 = hone.add %1, %x : tensor<?x4xf32>
    %3 = hone.add %2, %x : tensor<?x4xf32>
    %4 = hone.add %3, %x : tensor<?x4xf32>
    %5 = hone.add %4, %x : tensor<?x4xf32>
    %6 = hone.add %5, %x : tensor<?x4xf32>
    %7 = hone.add %6, %x : tensor<?x4xf32>
    %8 = hone.add %7, %x : tensor<?x4xf32>
    %9 = hone.add %8, %n : tensor<?x4xf32>
    hone.return %9 : tensor<?x4xf32>
  }
}
