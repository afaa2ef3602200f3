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

// A step along random directions has no sinks: it needs its parameters' values
// there, or their tangents.
// CHECK-LABEL: module @parameters_along_directions_are_accepted
// CHECK: hone.perturbed
// CHECK: hone.direction
module @parameters_along_directions_are_accepted {
  hone.block @probe(%x: tensor<?x4xf32>, %key: tensor<4xi32>, %epsilon: tensor<f64>) -> tensor<?x4xf32> {
    %w = hone.parameter "weight" : tensor<4x4xf32>
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %az = hone.perturbed %a by %key scale %epsilon : tensor<2x4xf32>
    %bz = hone.perturbed %b by %key scale %epsilon : tensor<4x2xf32>
    %y = hone.lora_linear %x, %w, %az, %bz scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @tangent(%x: tensor<?x4xf32>, %key: tensor<4xi32>) -> tensor<?x4xf32> {
    %c = hone.parameter "c" trainable init <zero> : tensor<2x4xf32>
    %d = hone.parameter "d" trainable init <zero> : tensor<4x2xf32>
    %tc = hone.direction %c by %key : tensor<2x4xf32>
    %td = hone.direction %d by %key : tensor<4x2xf32>
    %ty = hone.lora_parameter_tangent %x, %c, %d ta %tc tb %td scale 2.0 : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %ty : tensor<?x4xf32>
  }
  hone.entry @estimate(%hidden: tensor<?x4xf32>, %key: tensor<4xi32>, %epsilon: tensor<f64>) {
    %0 = hone.call @probe "layers.0." (%hidden, %key, %epsilon) : (tensor<?x4xf32>, tensor<4xi32>, tensor<f64>) -> tensor<?x4xf32>
    %1 = hone.call @tangent "layers.1." (%hidden, %key) : (tensor<?x4xf32>, tensor<4xi32>) -> tensor<?x4xf32>
  }
}

// -----

// Verifying changes nothing, not even code that never runs.
// CHECK-LABEL: module @unused_code_stays
// CHECK: hone.block @unused
module @unused_code_stays {
  hone.block @unused() {
    hone.return
  }
}
