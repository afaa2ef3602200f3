// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-split-parts="after=2"

hone.block @embed() -> tensor<?x4xf32> {
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
// expected-error @+1 {{'hone.entry' op has 0 layers, so the cut after layer 2 leaves none above}}
hone.entry @no_layer_is_above() -> tensor<f64> {
  %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
  %1 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
  hone.return %1 : tensor<f64>
}
