// RUN: hone-opt %s --verify-diagnostics --hone-schedule-step="optimizer=lion"

// An unknown optimizer is an error that lists the known ones.
// expected-error @+1 {{expects optimizer to be one of sgd, sgd_momentum, adamw but got 'lion'}}
module @optimizer_is_known {
}

// -----

// A user can write this: inputs of a batch are read in blocks.
hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
  %l = hone.input "l" : tensor<f64>
  %y = hone.dot %x, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f64>
  hone.return %y : tensor<f64>
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
