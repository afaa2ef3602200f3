// RUN: hone-opt %s --verify-diagnostics --hone-schedule-step

// A user can write a loss with arguments, but nobody could give them: inputs of
// a batch are read in blocks.
hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
  %l = hone.dot %x, %x : tensor<?x4xf32>
  hone.return %l : tensor<f64>
}
// expected-error @+1 {{'hone.entry' op expects a loss without arguments; blocks read the inputs of a batch with 'hone.input'}}
hone.entry @loss_has_an_argument(%x: tensor<?x4xf32>) -> tensor<f64> {
  %0 = hone.call @head "" (%x) : (tensor<?x4xf32>) -> tensor<f64>
  hone.return %0 : tensor<f64>
}
hone.entry gradient @gradient(%x: tensor<?x4xf32>, %scale: tensor<f64>) -> tensor<f64> {
  %0 = hone.call @head "" (%x) : (tensor<?x4xf32>) -> tensor<f64>
  hone.return %0 : tensor<f64>
}
