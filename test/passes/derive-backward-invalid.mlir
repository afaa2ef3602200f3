// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-derive-backward

// An op that cannot be derived is named where it stands.

// expected-error @+1 {{expects a forward 'hone.entry' that returns the loss, a tensor<f64>}}
module @loss_is_missing {
}

// -----

// The loss is the result of an entry, with any name of the block.
// expected-error @+1 {{expects a forward 'hone.entry' that returns the loss, a tensor<f64>}}
module @loss_is_a_block {
  hone.block @loss(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
}

// -----

// expected-error @+1 {{expects a forward 'hone.entry' that returns the loss, a tensor<f64>}}
module @loss_is_not_returned {
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%hidden: tensor<?x4xf32>) {
    %0 = hone.call @head "" (%hidden) : (tensor<?x4xf32>) -> tensor<f64>
  }
}

// -----

module @loss_is_ambiguous {
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  // expected-note @+1 {{the other one is here}}
  hone.entry @loss(%hidden: tensor<?x4xf32>) -> tensor<f64> {
    %0 = hone.call @head "" (%hidden) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %0 : tensor<f64>
  }
  // expected-error @+1 {{'hone.entry' op returns a tensor<f64>, as another entry does: which is the loss?}}
  hone.entry @penalty(%hidden: tensor<?x4xf32>) -> tensor<f64> {
    %0 = hone.call @head "" (%hidden) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %0 : tensor<f64>
  }
}

// -----

module @loss_is_not_of_a_call {
  // expected-error @+1 {{'hone.entry' op expects to return the loss, the one result of a call, and nothing else}}
  hone.entry @loss(%x: tensor<?x4xf32>, %w: tensor<9x4xf32>, %t: tensor<?xi32>) -> tensor<f64> {
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
}

// -----

module @loss_is_one_of_two_results {
  hone.block @head(%x: tensor<?x4xf32>) -> (tensor<f64>, tensor<?x4xf32>) {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    %l = hone.linear_cross_entropy %y, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l, %y : tensor<f64>, tensor<?x4xf32>
  }
  // expected-error @+1 {{'hone.entry' op expects to return the loss, the one result of a call, and nothing else}}
  hone.entry @loss(%hidden: tensor<?x4xf32>) -> tensor<f64> {
    %0:2 = hone.call @head "" (%hidden) : (tensor<?x4xf32>) -> (tensor<f64>, tensor<?x4xf32>)
    hone.return %0#0 : tensor<f64>
  }
}

// -----

module @nothing_trains {
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  // expected-error @+1 {{'hone.entry' op expects the loss to depend on a trainable parameter}}
  hone.entry @loss(%hidden: tensor<?x4xf32>) -> tensor<f64> {
    %0 = hone.call @head "" (%hidden) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %0 : tensor<f64>
  }
}

// -----

// The weight under an adapter is frozen; operand #1 is the weight.
module @weight_of_lora_linear_is_frozen {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "q_proj.weight" trainable init <zero> : tensor<4x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    // expected-error @+1 {{'hone.lora_linear' op has no adjoint with respect to operand #1, but a trainable parameter reaches it}}
    %y = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%hidden: tensor<?x4xf32>) -> tensor<f64> {
    %0 = hone.call @layer "layers.0." (%hidden) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %1 : tensor<f64>
  }
}

// -----

// The rule of `hone.scale`, an op of the step, is asked for in a model.
module @op_without_a_rule {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %wq = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %aq = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %bq = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %q = hone.lora_linear %x, %wq, %aq, %bq scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %s = hone.input "s" : tensor<f64>
    // expected-error @+1 {{'hone.scale' op has no derivative rule (AdjointOpInterface), but a trainable parameter reaches it}}
    %y = hone.scale %q, %s : (tensor<?x4xf32>, tensor<f64>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%hidden: tensor<?x4xf32>) -> tensor<f64> {
    %0 = hone.call @layer "layers.0." (%hidden) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %1 : tensor<f64>
  }
}

// -----

// Fan-out between blocks; inside a block it is summed.
module @value_is_read_by_two_calls {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %wq = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %aq = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %bq = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %x, %wq, %aq, %bq scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @join(%x: tensor<?x4xf32>, %z: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %y = hone.gated_activation silu %x, %z : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%hidden: tensor<?x4xf32>) -> tensor<f64> {
    // expected-note @+1 {{the value is defined here}}
    %0 = hone.call @layer "layers.0." (%hidden) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    // expected-error @+1 {{'hone.call' op reads a value that another call reads too; sum the two paths inside one block}}
    %1 = hone.call @layer "layers.1." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @join "" (%0, %1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = hone.call @head "" (%2) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %3 : tensor<f64>
  }
}

// -----

// The cotangent of the argument is the cotangent of the result: not memory of
// its own.
module @block_passes_its_argument_on {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %wq = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %aq = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %bq = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %x, %wq, %aq, %bq scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  // expected-error @+1 {{'hone.block' op passes argument #0 on unchanged; let the layer that follows read it instead}}
  hone.block @shift(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %p = hone.input "positions" : tensor<?x4xf32>
    %y = hone.add %x, %p : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%hidden: tensor<?x4xf32>) -> tensor<f64> {
    %0 = hone.call @layer "layers.0." (%hidden) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = hone.call @shift "layers.1." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
  }
}

// -----

module @result_does_not_depend_on_its_argument {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %wq = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %aq = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %bq = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %x, %wq, %aq, %bq scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  // expected-error @+1 {{'hone.block' op expects its results to depend on argument #0, which a trainable parameter reaches}}
  hone.block @ignore(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %p = hone.input "positions" : tensor<?x4xf32>
    %wk = hone.parameter "k_proj.weight" : tensor<4x4xf32>
    %ak = hone.parameter "k_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %bk = hone.parameter "k_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %p, %wk, %ak, %bk scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%hidden: tensor<?x4xf32>) -> tensor<f64> {
    %0 = hone.call @layer "layers.0." (%hidden) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = hone.call @ignore "layers.1." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
  }
}

// -----

module @loss_does_not_depend_on_a_layer {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %wq = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %aq = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %bq = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %x, %wq, %aq, %bq scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%hidden: tensor<?x4xf32>) -> tensor<f64> {
    %0 = hone.call @layer "layers.0." (%hidden) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    // expected-error @+1 {{'hone.call' op has a trainable result #0 that the loss does not depend on}}
    %1 = hone.call @layer "layers.1." (%hidden) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
  }
}

// -----

// h spares the adjoint work, it is not a value of the model: its cotangent has no
// rule and is not dropped.
module @auxiliary_result_reaches_the_loss {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %wq = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %aq = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<4x4xf32>
    %bq = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x4xf32>
    // expected-error @+1 {{'hone.lora_linear' op has no adjoint with respect to its auxiliary result, but the loss depends on it}}
    %q, %h = hone.lora_linear %x, %wq, %aq, %bq scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
    %y = hone.add %q, %h : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%hidden: tensor<?x4xf32>) -> tensor<f64> {
    %0 = hone.call @layer "layers.0." (%hidden) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %1 : tensor<f64>
  }
}

// -----

// Symbols that the derivation defines must not be there.
module @gradient_is_taken {
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  // expected-note @+1 {{derived from here}}
  hone.entry @loss(%hidden: tensor<?x4xf32>) -> tensor<f64> {
    %0 = hone.call @head "" (%hidden) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %0 : tensor<f64>
  }
  // expected-error @+1 {{'hone.entry' op has the name '@gradient', which the derivation defines; give it another name}}
  hone.entry gradient @gradient() {
    hone.return
  }
}

// -----

module @backward_is_taken {
  // expected-note @+1 {{derived from here}}
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  // expected-error @+1 {{'hone.block' op has the name '@head.backward', which the derivation defines; give it another name}}
  hone.block @head.backward() {
    hone.return
  }
  hone.entry @loss(%hidden: tensor<?x4xf32>) -> tensor<f64> {
    %0 = hone.call @head "" (%hidden) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %0 : tensor<f64>
  }
}

// -----

// A condition would be lost on the way to the backward, so it is refused.
module @loss_is_conditional {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%hidden: tensor<?x4xf32>, %mask: tensor<1xi32>) -> tensor<f64> {
    // expected-error @+1 {{'hone.call' op stands in the loss, of which all is derived; choose what runs in the entry of its gradient}}
    %0 = hone.call @layer "layers.0." (%hidden) when %mask[0] : tensor<1xi32> else @layer : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %1 : tensor<f64>
  }
}

// -----

// A way through a pool is none that activity follows.
module @loss_keeps_in_a_pool {
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%hidden: tensor<?x4xf32>, %slots: tensor<1xi32>) -> tensor<f64> {
    // expected-error @+1 {{'hone.pool' op stands in the loss, of which all is derived; choose what runs in the entry of its gradient}}
    %pool = hone.pool : tensor<1x?x4xf32>
    hone.keep %hidden in %pool at %slots[0] : tensor<1x?x4xf32>, tensor<1xi32>
    %0 = hone.kept %pool at %slots[0] : tensor<1x?x4xf32>, tensor<1xi32>
    %1 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %1 : tensor<f64>
  }
}

// -----

// Conversions are found by their names: a block of such a name is one.
module @name_of_a_conversion_is_taken {
  // expected-error @+1 {{'hone.block' op has the name '@convert.4.f32.bf16', which the derivation defines; give it another name}}
  hone.block @convert.4.f32.bf16(%x: tensor<?x4xf32>) -> tensor<?x4xbf16> {
    %twice = hone.add %x, %x : tensor<?x4xf32>
    %y = hone.convert %twice : tensor<?x4xf32> to tensor<?x4xbf16>
    hone.return %y : tensor<?x4xbf16>
  }
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%hidden: tensor<?x4xf32>) -> tensor<f64> {
    // expected-note @-1 {{derived from here}}
    %0 = hone.call @layer "layers.0." (%hidden) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %1 : tensor<f64>
  }
}
