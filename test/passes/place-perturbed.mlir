// RUN: hone-opt %s --hone-place --hone-verify-placement | FileCheck %s

// Kernels read the scale of a perturbation wherever they read the parameter, so
// a result that is made of the parameter is not written over it: the second
// probe's scale is in memory of its own, not in the entry's result.
// CHECK: hone.entry @probes
// CHECK-COUNT-2: hone.call @{{loss|probe}} {{.*}}hone.slots = [#hone.slot<
// CHECK: hone.call @probe {{.*}}hone.slots = [unit]
module attributes {hone.max_rows = 16 : i64} {
  hone.block @start() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @loss(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "head.weight" trainable init <zero> : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.block @probe(%x: tensor<?x4xf32>, %key: tensor<4xi32>, %eps: tensor<f64>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "head.weight" trainable init <zero> : tensor<9x4xf32>
    %z = hone.perturbed %w by %key scale %eps : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %z, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @probes(%key: tensor<4xi32>) -> tensor<f64> {
    %x = hone.call @start "" () : () -> tensor<?x4xf32>
    %a = hone.call @loss "" (%x) : (tensor<?x4xf32>) -> tensor<f64>
    %b = hone.call @probe "" (%x, %key, %a) : (tensor<?x4xf32>, tensor<4xi32>, tensor<f64>) -> tensor<f64>
    %c = hone.call @probe "" (%x, %key, %b) : (tensor<?x4xf32>, tensor<4xi32>, tensor<f64>) -> tensor<f64>
    hone.return %c : tensor<f64>
  }
}
