// RUN: hone-opt %s --hone-derive-backward="residuals=narrow" | FileCheck %s

// Each value is decided once, however many ways lead to it: there are 2^40 from
// the argument to the adjoint's operand, which is made again and not kept.
// CHECK-LABEL: hone.block @layer.backward
// CHECK-COUNT-40: hone.add
module attributes {hone.max_rows = 16 : i64} {
  hone.block @layer(%x0: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %x1 = hone.add %x0, %x0 : tensor<?x4xf32>
    %x2 = hone.add %x1, %x1 : tensor<?x4xf32>
    %x3 = hone.add %x2, %x2 : tensor<?x4xf32>
    %x4 = hone.add %x3, %x3 : tensor<?x4xf32>
    %x5 = hone.add %x4, %x4 : tensor<?x4xf32>
    %x6 = hone.add %x5, %x5 : tensor<?x4xf32>
    %x7 = hone.add %x6, %x6 : tensor<?x4xf32>
    %x8 = hone.add %x7, %x7 : tensor<?x4xf32>
    %x9 = hone.add %x8, %x8 : tensor<?x4xf32>
    %x10 = hone.add %x9, %x9 : tensor<?x4xf32>
    %x11 = hone.add %x10, %x10 : tensor<?x4xf32>
    %x12 = hone.add %x11, %x11 : tensor<?x4xf32>
    %x13 = hone.add %x12, %x12 : tensor<?x4xf32>
    %x14 = hone.add %x13, %x13 : tensor<?x4xf32>
    %x15 = hone.add %x14, %x14 : tensor<?x4xf32>
    %x16 = hone.add %x15, %x15 : tensor<?x4xf32>
    %x17 = hone.add %x16, %x16 : tensor<?x4xf32>
    %x18 = hone.add %x17, %x17 : tensor<?x4xf32>
    %x19 = hone.add %x18, %x18 : tensor<?x4xf32>
    %x20 = hone.add %x19, %x19 : tensor<?x4xf32>
    %x21 = hone.add %x20, %x20 : tensor<?x4xf32>
    %x22 = hone.add %x21, %x21 : tensor<?x4xf32>
    %x23 = hone.add %x22, %x22 : tensor<?x4xf32>
    %x24 = hone.add %x23, %x23 : tensor<?x4xf32>
    %x25 = hone.add %x24, %x24 : tensor<?x4xf32>
    %x26 = hone.add %x25, %x25 : tensor<?x4xf32>
    %x27 = hone.add %x26, %x26 : tensor<?x4xf32>
    %x28 = hone.add %x27, %x27 : tensor<?x4xf32>
    %x29 = hone.add %x28, %x28 : tensor<?x4xf32>
    %x30 = hone.add %x29, %x29 : tensor<?x4xf32>
    %x31 = hone.add %x30, %x30 : tensor<?x4xf32>
    %x32 = hone.add %x31, %x31 : tensor<?x4xf32>
    %x33 = hone.add %x32, %x32 : tensor<?x4xf32>
    %x34 = hone.add %x33, %x33 : tensor<?x4xf32>
    %x35 = hone.add %x34, %x34 : tensor<?x4xf32>
    %x36 = hone.add %x35, %x35 : tensor<?x4xf32>
    %x37 = hone.add %x36, %x36 : tensor<?x4xf32>
    %x38 = hone.add %x37, %x37 : tensor<?x4xf32>
    %x39 = hone.add %x38, %x38 : tensor<?x4xf32>
    %x40 = hone.add %x39, %x39 : tensor<?x4xf32>
    %y = hone.lora_linear %x40, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @start() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %0 = hone.call @start "" () : () -> tensor<?x4xf32>
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
  }
}
