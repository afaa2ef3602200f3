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

// -----

// Sinks add up: a parameter has one for each op that reads it.
// CHECK-LABEL: module @parameter_with_two_sinks_is_accepted
// CHECK-COUNT-2: hone.gradient %{{.*}} of "a"
module @parameter_with_two_sinks_is_accepted {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    %more, %db2 = hone.lora_parameter_adjoint %x, %dy, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %more of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  hone.entry gradient @gradient(%hidden: tensor<?x4xf32>) {
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
  }
}

// -----

// Verifying changes nothing, not even what never runs.
// CHECK-LABEL: module @unused_code_stays
// CHECK: hone.block @unused
module @unused_code_stays {
  hone.block @unused() {
    hone.return
  }
}
