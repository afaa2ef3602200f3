// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-verify-step

// Each broken promise of the derivation is an error that names the pass.

// A sink that the derivation forgot.
// expected-error @+1 {{expects a gradient of 'layers.0.b' in the step; broken by hone-derive-backward or hone-schedule-step}}
module @parameter_has_no_sink {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.return
  }
  hone.entry gradient @gradient(%hidden: tensor<?x4xf32>) {
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
  }
}

// -----

// A parameter that stays where it is: its neighbour moves, and the mask that has
// its name is no direction.
// expected-error @+1 {{expects a gradient of 'layers.0.b' in the step; broken by hone-derive-backward or hone-schedule-step}}
module @parameter_has_no_direction {
  hone.block @probe(%x: tensor<?x4xf32>, %key: tensor<4xi32>, %epsilon: tensor<f64>) -> tensor<?x4xf32> {
    %w = hone.parameter "weight" : tensor<4x4xf32>
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %az = hone.perturbed %a by %key scale %epsilon : tensor<2x4xf32>
    %y = hone.lora_linear %x, %w, %az, %b scale 2.0 dropout 0.5 of "b" by %key
        : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>, tensor<4xi32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.entry @estimate(%hidden: tensor<?x4xf32>, %key: tensor<4xi32>, %epsilon: tensor<f64>) {
    %0 = hone.call @probe "layers.0." (%hidden, %key, %epsilon) : (tensor<?x4xf32>, tensor<4xi32>, tensor<f64>) -> tensor<?x4xf32>
  }
}

// -----

// Entries of a schedule other than `train` are not in the step.
// expected-error @+1 {{expects a gradient of 'layers.0.a' in the step; broken by hone-derive-backward or hone-schedule-step}}
module @gradient_is_not_in_the_step {
  hone.block @layer() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %w = hone.parameter "weight" : tensor<4x4xf32>
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @layer.backward() {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %x, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  hone.entry @forward() {
    %0 = hone.call @layer "layers.0." () : () -> tensor<?x4xf32>
  }
  hone.entry gradient @gradient() {
    hone.call @layer.backward "layers.0." () : () -> ()
  }
  hone.schedule train {
    %batch = hone.load
    hone.run @forward() on %batch : () -> ()
  }
  hone.schedule differentiate {
    %batch = hone.load
    hone.run @gradient() on %batch : () -> ()
  }
}

// -----

// A sink of a name that no layer has.
module @sink_of_nothing {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    // expected-error @+1 {{'hone.gradient' op expects 'layers.0.c' to be a trainable parameter of type 'tensor<4x2xf32>'; broken by hone-derive-backward}}
    hone.gradient %db of "c" : tensor<4x2xf32>
    hone.return
  }
  hone.entry gradient @gradient(%hidden: tensor<?x4xf32>) {
    // expected-note @+1 {{for this layer}}
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
  }
}

// -----

module @sink_of_a_frozen_parameter {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    // expected-error @+1 {{'hone.gradient' op expects 'layers.0.b' to be a trainable parameter of type 'tensor<4x2xf32>'; broken by hone-derive-backward}}
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  hone.entry gradient @gradient(%hidden: tensor<?x4xf32>) {
    // expected-note @+1 {{for this layer}}
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
  }
}

// -----

module @sink_of_another_type {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    // expected-error @+1 {{'hone.gradient' op expects 'layers.0.b' to be a trainable parameter of type 'tensor<2x4xf32>'; broken by hone-derive-backward}}
    hone.gradient %da of "b" : tensor<2x4xf32>
    hone.return
  }
  hone.entry gradient @gradient(%hidden: tensor<?x4xf32>) {
    // expected-note @+1 {{for this layer}}
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
  }
}

// -----

// Two kinds of blocks read one tensor of the model as two types.
module @parameter_of_two_types {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  hone.block @other() {
    // expected-error @+1 {{'hone.parameter' op reads 'layers.0.a' as frozen 'tensor<2x4xf32>', but another layer reads it as trainable 'tensor<2x4xf32>'}}
    %a = hone.parameter "a" : tensor<2x4xf32>
    hone.return
  }
  hone.entry gradient @gradient(%hidden: tensor<?x4xf32>) {
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
    hone.call @other "layers.0." () : () -> ()
  }
}

// -----

module @layer_is_not_updated {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  // expected-error @+1 {{'hone.entry' op expects an update or a fold of the layer 'layers.0.'; broken by hone-schedule-step}}
  hone.entry gradient @step(%hidden: tensor<?x4xf32>) {
    %d = hone.layer_gradient "layers.0." : tensor<16xf32>
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
  }
}

// -----

module @update_is_of_no_layer {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  hone.entry gradient @step(%hidden: tensor<?x4xf32>, %s: tensor<f64>) {
    %d = hone.layer_gradient "layers.0." : tensor<16xf32>
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
    // expected-error @+1 {{'hone.sgd' op expects a 'hone.layer_gradient' to update from, as other layers of the entry have; broken by hone-schedule-step}}
    hone.sgd %s, %s, %s
  }
}

// -----

module @layer_is_updated_twice {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  hone.entry gradient @step(%hidden: tensor<?x4xf32>, %s: tensor<f64>) {
    %d = hone.layer_gradient "layers.0." : tensor<16xf32>
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
    hone.sgd %s, %s, %s from %d : tensor<16xf32>
    // expected-error @+1 {{'hone.sgd' op is not the only update of the layer 'layers.0.'; broken by hone-schedule-step}}
    hone.sgd %s, %s, %s from %d : tensor<16xf32>
  }
}

// -----

module @sink_before_the_gradient {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  hone.entry gradient @step(%hidden: tensor<?x4xf32>, %s: tensor<f64>) {
    // expected-error @+1 {{'hone.call' op stands before the 'hone.layer_gradient' of the layer 'layers.0.'; broken by hone-schedule-step}}
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
    %d = hone.layer_gradient "layers.0." : tensor<16xf32>
    hone.sgd %s, %s, %s from %d : tensor<16xf32>
  }
}

// -----

module @use_after_the_update {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  hone.block @layer.more() {
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    hone.return
  }
  hone.entry gradient @step(%hidden: tensor<?x4xf32>, %s: tensor<f64>) {
    %d = hone.layer_gradient "layers.0." : tensor<16xf32>
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
    hone.sgd %s, %s, %s from %d : tensor<16xf32>
    // expected-error @+1 {{'hone.call' op stands after the update of the layer 'layers.0.'; broken by hone-schedule-step}}
    hone.call @layer.more "layers.0." () : () -> ()
  }
}

// -----

module @two_gradients {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  hone.entry gradient @step(%hidden: tensor<?x4xf32>, %s: tensor<f64>) {
    %d = hone.layer_gradient "layers.0." : tensor<16xf32>
    // expected-error @+1 {{'hone.layer_gradient' op is not the first of the layer 'layers.0.'; broken by hone-schedule-step}}
    %e = hone.layer_gradient "layers.0." : tensor<16xf32>
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
    hone.sgd %s, %s, %s from %d : tensor<16xf32>
  }
}

// -----

module @sink_after_the_fold {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  hone.entry gradient @step(%hidden: tensor<?x4xf32>, %when: tensor<i64>) {
    %d = hone.layer_gradient "layers.0." when %when : tensor<16xf32>
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
    hone.fold_gradient %d : tensor<16xf32>
    // expected-error @+1 {{'hone.call' op stands after the fold of the layer 'layers.0.'; broken by hone-schedule-step}}
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
  }
}

// -----

module @never_folded {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  // expected-error @+1 {{'hone.entry' op expects an update or a fold of the layer 'layers.0.'; broken by hone-schedule-step}}
  hone.entry gradient @step(%hidden: tensor<?x4xf32>, %when: tensor<i64>) {
    %d = hone.layer_gradient "layers.0." when %when : tensor<16xf32>
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
  }
}

// -----

// Also in the block that stands in.
module @sink_that_stands_in_is_of_no_parameter {
  hone.block @other(%dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" : tensor<2x4xf32>
    // expected-error @+1 {{'hone.gradient' op expects 'layers.0.a' to be a trainable parameter of type 'tensor<2x4xf32>'; broken by hone-derive-backward}}
    hone.gradient %a of "a" : tensor<2x4xf32>
    hone.return
  }
  hone.block @runs(%dy: tensor<?x4xf32>) {
    hone.return
  }
  hone.entry gradient @gradient(%dy: tensor<?x4xf32>, %mask: tensor<1xi32>) {
    // expected-note @+1 {{for this layer}}
    hone.call @runs "layers.0." (%dy) when %mask[0] : tensor<1xi32> else @other : (tensor<?x4xf32>) -> ()
  }
}

// -----

// A skipped layer is updated like any: its stand-in reads it too late.
module @block_that_stands_in_reads_after_the_update {
  hone.block @sink() {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    hone.gradient %a of "a" : tensor<2x4xf32>
    hone.return
  }
  hone.block @nothing() {
    hone.return
  }
  hone.block @read() {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    hone.return
  }
  hone.entry gradient @gradient(%s: tensor<f64>, %mask: tensor<1xi32>) {
    %d = hone.layer_gradient "layers.0." : tensor<8xf32>
    hone.call @sink "layers.0." () : () -> ()
    hone.sgd %s, %s, %s from %d : tensor<8xf32>
    // expected-error @+1 {{'hone.call' op stands after the update of the layer 'layers.0.'; broken by hone-schedule-step}}
    hone.call @nothing "layers.0." () when %mask[0] : tensor<1xi32> else @read : () -> ()
  }
}

// -----

module @window_of_another_size {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  hone.entry gradient @step(%hidden: tensor<?x4xf32>, %when: tensor<i64>) {
    // expected-error @+1 {{'hone.layer_gradient' op expects the type 'tensor<16xf32>' of the layer's gradients but got 'tensor<1xf32>'}}
    %d = hone.layer_gradient "layers.0." when %when : tensor<1xf32>
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
    hone.fold_gradient %d : tensor<1xf32>
  }
}

// -----

module @window_of_no_layer {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  hone.entry gradient @step(%hidden: tensor<?x4xf32>, %when: tensor<i64>) {
    // expected-error @+1 {{'hone.layer_gradient' op expects parameters that train of the layer 'layers.9.'; broken by hone-schedule-step}}
    %d = hone.layer_gradient "layers.9." when %when : tensor<16xf32>
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
    hone.fold_gradient %d : tensor<16xf32>
  }
}

// -----

// A step is of the parameters that it began with, whichever entry reads them.
module @gradient_after_the_update {
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
  hone.entry update @update(%rate: tensor<f64>) {
    hone.sgd %rate, %rate, %rate
  }
  hone.entry @begin() -> tensor<?x4xf32> {
    %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
    hone.return %0 : tensor<?x4xf32>
  }
  hone.block @embed() -> tensor<?x4xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "table" : tensor<9x4xf32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    hone.return %x : tensor<?x4xf32>
  }
  hone.schedule train {
    %rate = hone.setting "learning_rate" : tensor<f64>
    %batch = hone.load
    %x = hone.run @begin() on %batch : () -> tensor<?x4xf32>
    hone.run @gradient(%x) on %batch : (tensor<?x4xf32>) -> ()
    hone.run @update(%rate) : (tensor<f64>) -> ()
    // expected-error @+1 {{'hone.run' op stands after the update of the layer 'layers.0.'; broken by hone-schedule-step}}
    hone.run @gradient(%x) on %batch : (tensor<?x4xf32>) -> ()
  }
}

// -----

module @two_updates {
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
  hone.entry update @update(%rate: tensor<f64>) {
    hone.sgd %rate, %rate, %rate
  }
  hone.entry @begin() -> tensor<?x4xf32> {
    %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
    hone.return %0 : tensor<?x4xf32>
  }
  hone.block @embed() -> tensor<?x4xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "table" : tensor<9x4xf32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    hone.return %x : tensor<?x4xf32>
  }
  hone.schedule train {
    %rate = hone.setting "learning_rate" : tensor<f64>
    %batch = hone.load
    %x = hone.run @begin() on %batch : () -> tensor<?x4xf32>
    hone.run @gradient(%x) on %batch : (tensor<?x4xf32>) -> ()
    hone.run @update(%rate) : (tensor<f64>) -> ()
    // expected-error @+1 {{'hone.run' op is not the only update of the layer 'layers.0.'; broken by hone-schedule-step}}
    hone.run @update(%rate) : (tensor<f64>) -> ()
  }
}

// -----

module @update_for_each_batch {
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
  hone.entry update @update(%rate: tensor<f64>) {
    hone.sgd %rate, %rate, %rate
  }
  hone.entry @begin() -> tensor<?x4xf32> {
    %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
    hone.return %0 : tensor<?x4xf32>
  }
  hone.block @embed() -> tensor<?x4xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "table" : tensor<9x4xf32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    hone.return %x : tensor<?x4xf32>
  }
  hone.schedule train {
    %rate = hone.setting "learning_rate" : tensor<f64>
    %batches = hone.setting "batches" : tensor<i64>
    hone.repeat %batches {
      %batch = hone.load
      %x = hone.run @begin() on %batch : () -> tensor<?x4xf32>
      hone.run @gradient(%x) on %batch : (tensor<?x4xf32>) -> ()
      // expected-error @+1 {{'hone.run' op is not the only update of the layer 'layers.0.'; broken by hone-schedule-step}}
      hone.run @update(%rate) : (tensor<f64>) -> ()
      hone.yield
    }
  }
}

// -----

// Where a batch's gradient is before it is folded is there once.
module @lanes_share_the_accumulation {
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    hone.gradient %da of "a" : tensor<2x4xf32>
    hone.gradient %db of "b" : tensor<4x2xf32>
    hone.return
  }
  hone.entry gradient @gradient(%hidden: tensor<?x4xf32>, %fold: tensor<i64>) {
    %g = hone.layer_gradient "layers.0." when %fold : tensor<16xf32>
    hone.call @layer.backward "layers.0." (%hidden, %hidden) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
    hone.fold_gradient %g : tensor<16xf32>
  }
  hone.entry update @update(%rate: tensor<f64>) {
    hone.sgd %rate, %rate, %rate
  }
  hone.entry @begin() -> tensor<?x4xf32> {
    %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
    hone.return %0 : tensor<?x4xf32>
  }
  hone.block @embed() -> tensor<?x4xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "table" : tensor<9x4xf32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    hone.return %x : tensor<?x4xf32>
  }
  hone.schedule train {
    %fold = hone.setting "batches" : tensor<i64>
    hone.repeat %fold {
      %batch = hone.load
      %x = hone.run @begin() on %batch : () -> tensor<?x4xf32>
      // expected-note @+1 {{the other one is here}}
      hone.run @gradient(%x, %fold) on %batch : (tensor<?x4xf32>, tensor<i64>) -> ()
      // expected-error @+1 {{'hone.run' op accumulates in another lane than a run that may be at work at the same time; give both one lane}}
      hone.run @gradient(%x, %fold) on %batch lane 1 : (tensor<?x4xf32>, tensor<i64>) -> ()
      hone.yield
    }
  }
}

// -----

// Late values in a program that has all parts, to which nobody sends them.
module @nothing_is_late_in_one_program {
  hone.schedule train {
    %slopes = hone.setting "coefficients" : tensor<2xf32>
    // expected-error @+1 {{'hone.late' op expects parts that are programs of their own; hone-extract-part makes one of each}}
    %late, %steps = hone.late %slopes : (tensor<2xf32>) -> (tensor<2xf32>, tensor<i64>)
  }
}
