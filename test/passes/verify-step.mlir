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
  hone.entry gradient @gradient(%hidden: tensor<?x4xf32>) {
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
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

// -----

// An entry that no schedule runs is removed, and with it the block that only it
// calls; what any schedule runs stays.
// CHECK-LABEL: module @entry_that_does_not_run_is_removed
// CHECK-NOT: @unscheduled
// CHECK: hone.entry @trained
// CHECK-NOT: @unscheduled
// CHECK: hone.entry @evaluated
// CHECK-NOT: @unscheduled
module @entry_that_does_not_run_is_removed {
  hone.block @unscheduled.block() {
    hone.return
  }
  hone.block @scheduled() {
    hone.return
  }
  hone.entry @unscheduled() {
    hone.call @unscheduled.block "" () : () -> ()
  }
  hone.entry @trained() {
    hone.call @scheduled "" () : () -> ()
  }
  hone.entry @evaluated() {
    hone.call @scheduled "" () : () -> ()
  }
  hone.schedule train {
    hone.run @trained() : () -> ()
  }
  hone.schedule evaluate {
    hone.run @evaluated() : () -> ()
  }
}

// -----

// A sink that runs under a condition is a sink: where it does not run, the
// gradient stays zero. The block that stands in is called too, and may have the
// only sink of a parameter.
// CHECK-LABEL: module @conditional_sinks_are_accepted
// CHECK: hone.block @trains
// CHECK: hone.block @stands_in
// CHECK: hone.call @trains "layers.0."{{.*}} else @stands_in
module @conditional_sinks_are_accepted {
  hone.block @trains(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.return
  }
  hone.block @stands_in(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  hone.entry gradient @gradient(%hidden: tensor<?x4xf32>, %mask: tensor<1xi32>) {
    hone.call @trains "layers.0." (%hidden, %hidden) when %mask[0] : tensor<1xi32> else @stands_in : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
  }
}
