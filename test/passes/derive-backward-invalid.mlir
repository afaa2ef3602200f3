// RUN: hone-opt %s --split-input-file --verify-diagnostics --hone-derive-backward

// What cannot be derived is named where it stands.

// expected-error @+1 {{expects an entry '@loss' to derive}}
module @loss_is_missing {
}

// -----

// A block of that name is not an entry.
// expected-error @+1 {{expects an entry '@loss' to derive}}
module @loss_is_a_block {
  hone.block @loss() {
    hone.return
  }
}

// -----

module @loss_has_no_output {
  // expected-error @+1 {{'hone.entry' op expects an output 'loss' that is the one result of a call}}
  hone.entry @loss() {
  }
}

// -----

module @loss_is_not_of_a_call {
  // expected-error @+1 {{'hone.entry' op expects an output 'loss' that is the one result of a call}}
  hone.entry @loss(%0: tensor<f64>) -> tensor<f64> {
    hone.return %0 : tensor<f64>
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
  hone.entry @loss(%0: tensor<?x4xf32>) -> tensor<f64> {
    %1 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %1 : tensor<f64>
  }
}

// -----

// The weight of a linear is frozen; operand #1 is the weight.
module @weight_of_linear_is_frozen {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "q_proj.weight" trainable init <zero> : tensor<4x4xf32>
    // expected-error @+1 {{'hone.linear' op has no adjoint with respect to operand #1, but a trainable parameter reaches it}}
    %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%0: tensor<?x4xf32>) -> tensor<f64> {
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
  }
}

// -----

// The bias is operand #4 of five.
module @bias_of_lora_linear_is_frozen {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %wq = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %aq = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %bq = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %bias = hone.parameter "q_proj.bias" trainable init <zero> : tensor<4xf32>
    // expected-error @+1 {{'hone.lora_linear' op has no adjoint with respect to operand #4, but a trainable parameter reaches it}}
    %y = hone.lora_linear %x, %wq, %aq, %bq bias %bias scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%0: tensor<?x4xf32>) -> tensor<f64> {
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
  }
}

// -----

module @weight_of_rms_norm_is_frozen {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "norm.weight" trainable init <zero> : tensor<4xf32>
    // expected-error @+1 {{'hone.rms_norm' op has no adjoint with respect to operand #1, but a trainable parameter reaches it}}
    %y = hone.rms_norm %x, %w eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%0: tensor<?x4xf32>) -> tensor<f64> {
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
  }
}

// -----

module @table_of_embedding_is_frozen {
  hone.block @layer() -> tensor<?x4xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "embed_tokens.weight" trainable init <zero> : tensor<9x4xf32>
    // expected-error @+1 {{'hone.embedding' op has no adjoint with respect to operand #1, but a trainable parameter reaches it}}
    %y = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %0 = hone.call @layer "layers.0." () : () -> tensor<?x4xf32>
    %1 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %1 : tensor<f64>
  }
}

// -----

module @head_is_frozen {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %wq = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %aq = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %bq = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %x, %wq, %aq, %bq scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" trainable init <zero> : tensor<9x4xf32>
    // expected-error @+1 {{'hone.linear_cross_entropy' op has no adjoint with respect to operand #1, but a trainable parameter reaches it}}
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%0: tensor<?x4xf32>) -> tensor<f64> {
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
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
  hone.entry @loss(%0: tensor<?x4xf32>) -> tensor<f64> {
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
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
    %y = hone.swiglu %x, %z : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%0: tensor<?x4xf32>) -> tensor<f64> {
    // expected-note @+1 {{the value is defined here}}
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    // expected-error @+1 {{'hone.call' op reads a value that another call reads too; sum the two paths inside one block}}
    %2 = hone.call @layer "layers.1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = hone.call @join "" (%1, %2) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %4 = hone.call @head "" (%3) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %4 : tensor<f64>
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
  hone.entry @loss(%0: tensor<?x4xf32>) -> tensor<f64> {
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @shift "layers.1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = hone.call @head "" (%2) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %3 : tensor<f64>
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
  hone.entry @loss(%0: tensor<?x4xf32>) -> tensor<f64> {
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @ignore "layers.1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = hone.call @head "" (%2) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %3 : tensor<f64>
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
  hone.entry @loss(%0: tensor<?x4xf32>) -> tensor<f64> {
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    // expected-error @+1 {{'hone.call' op has a trainable result #0 that the loss does not depend on}}
    %2 = hone.call @layer "layers.1." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %3 : tensor<f64>
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
  hone.entry @loss(%0: tensor<?x4xf32>) -> tensor<f64> {
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
  }
}

// -----

// What the derivation defines must not be there.
module @gradient_is_taken {
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  // expected-note @+1 {{derived from here}}
  hone.entry @loss(%0: tensor<?x4xf32>) -> tensor<f64> {
    %1 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %1 : tensor<f64>
  }
  // expected-error @+1 {{'hone.entry' op has the name '@gradient', which the derivation defines; give it another name}}
  hone.entry gradient @gradient() {
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
  hone.entry @loss(%0: tensor<?x4xf32>) -> tensor<f64> {
    %1 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %1 : tensor<f64>
  }
}
