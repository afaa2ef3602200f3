// RUN: hone-opt %s --split-input-file --hone-verify-step | FileCheck %s --enable-var-scope

// A step in which every trainable parameter has its sink is left as it is.
// CHECK-LABEL: module @complete_step_is_accepted
// CHECK: hone.block @layer.backward
// CHECK: hone.call @layer.backward "layers.0."
module @complete_step_is_accepted {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  hone.entry gradient @gradient(%0: tensor<?x4xf32>) {
    hone.call @layer.backward "layers.0." (%0, %0) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
  }
}

// -----

// A block that no entry calls is removed.
// CHECK-LABEL: module @uncalled_block_is_removed
// CHECK-NOT: hone.block @unused
// CHECK: hone.block @used
// CHECK-NOT: hone.block @unused
module @uncalled_block_is_removed {
  hone.block @unused() {
    hone.return
  }
  hone.block @used() {
    hone.return
  }
  hone.entry gradient @gradient() {
    hone.call @used "" () : () -> ()
  }
}
