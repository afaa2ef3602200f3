// RUN: hone-opt %s --verify-diagnostics --hone-schedule-step

// A step needs a backward.
// expected-error @+1 {{expects an entry of the phase 'gradient'; run hone-derive-backward first}}
module @gradient_is_missing {
  hone.block @head() -> tensor<f64> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "w" : tensor<9x4xf32>
    %y = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %y = hone.call @head "" () : () -> tensor<f64>
    hone.return %y : tensor<f64>
  }
}
