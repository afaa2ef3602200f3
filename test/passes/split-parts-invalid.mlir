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

// -----

// One pool for layers on both sides would travel with the values that cross the
// cut.
module @pool_is_of_both_parts attributes {hone.max_rows = 8 : i64} {
  hone.block @embed() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %dx = hone.add %x, %dy : tensor<?x4xf32>
    hone.return %dx : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> (tensor<f64>, tensor<?x4xf32>) {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "head.weight" : tensor<9x4xf32>
    %l, %dx = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> (tensor<f64>, tensor<?x4xf32>)
    hone.return %l, %dx : tensor<f64>, tensor<?x4xf32>
  }
  hone.block @loss(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @of_all() -> tensor<f64> {
    %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @layer "layers.1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = hone.call @layer "layers.2." (%2) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %4 = hone.call @loss "" (%3) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %4 : tensor<f64>
  }
  hone.entry gradient @gradient(%slots: tensor<2xi32>) -> tensor<f64> {
    %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
    // expected-note @+1 {{the pool is here}}
    %pool = hone.pool : tensor<2x?x4xf32>
    hone.keep %0 in %pool at %slots[0] : tensor<2x?x4xf32>, tensor<2xi32>
    %1, %d1 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> (tensor<f64>, tensor<?x4xf32>)
    // expected-error @+1 {{'hone.kept' op reads a pool of another part; give each part a pool of its own}}
    %k = hone.kept %pool at %slots[0] : tensor<2x?x4xf32>, tensor<2xi32>
    %d0 = hone.call @backward "layers.0." (%k, %d1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %l = hone.kept %pool at %slots[1] : tensor<2x?x4xf32>, tensor<2xi32>
    %d2 = hone.call @backward "layers.2." (%l, %d0) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    hone.return %1 : tensor<f64>
  }
}
