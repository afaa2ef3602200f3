// RUN: hone-opt %s --verify-diagnostics --test-set-method="optimizer_in_backward=true" --hone-schedule-step

// Symbols that the pass defines must not be there, and with in-backward it
// defines this one.
module @updating_copy_is_taken {
  // expected-error @+1 {{'hone.block' op has the name '@gradient.update', which scheduling defines; give it another name}}
  hone.block @gradient.update() {
    hone.return
  }
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
  hone.entry gradient @gradient(%scale: tensor<f64>) -> tensor<f64> {
    %y = hone.call @head "" () : () -> tensor<f64>
    hone.return %y : tensor<f64>
  }
}
