// RUN: hone-opt %s --split-input-file --hone-derive-backward="residuals=mesp" | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --split-input-file --hone-derive-backward | FileCheck %s --enable-var-scope

// The policy `mesp`, which is the default: only block inputs are kept.

// The adjoint of the down projection reads its input and not its output, so
// gate, up and the activation are recomputed and the projection is not.
// CHECK-LABEL: module @down_projection_is_not_recomputed
// CHECK: hone.block @mlp.backward(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4xf32>, %[[DY:[^:]*]]: tensor<?x4xf32>)
// CHECK-NOT: hone.lora_linear %
// CHECK: %[[G:.*]] = hone.linear %[[X]]
// CHECK-NOT: hone.lora_linear %
// CHECK: %[[S:.*]] = hone.gated_activation silu %[[G]], %[[X]]
// CHECK-NOT: hone.lora_linear %
// CHECK: hone.lora_parameter_adjoint %[[DY]], %[[S]]
// CHECK-NOT: hone.lora_linear %
// CHECK: hone.return
module @down_projection_is_not_recomputed {
  hone.block @mlp(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %gw = hone.parameter "gate_proj.weight" : tensor<4x4xf32>
    %g = hone.linear %x, %gw : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %s = hone.gated_activation silu %g, %x : tensor<?x4xf32>
    %w = hone.parameter "down_proj.weight" : tensor<4x4xf32>
    %a = hone.parameter "down_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "down_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %s, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss(%hidden: tensor<?x4xf32>) -> tensor<f64> {
    %0 = hone.call @mlp "layers.0." (%hidden) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %1 : tensor<f64>
  }
}

// -----

// Nothing but block inputs crosses from forward to backward: the forward block
// is the block of @loss, and the backward reads its input and a cotangent.
// CHECK-LABEL: module @only_block_inputs_are_kept
// CHECK-NOT: @layer.forward
// CHECK: hone.entry gradient @gradient(%[[X:[^:]*]]: tensor<?x4xf32>,
// CHECK: %[[Y:.*]] = hone.call @layer "layers.0."(%[[X]]) : (tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK: %[[L:.*]]:2 = hone.call @head.gradient ""(%[[Y]], %{{.*}})
// CHECK: hone.call @layer.backward "layers.0."(%[[X]], %[[L]]#1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> ()
// CHECK-NOT: @layer.forward
module @only_block_inputs_are_kept {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %nw = hone.parameter "norm.weight" : tensor<4xf32>
    %n = hone.rms_norm %x, %nw eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %w = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %q = hone.lora_linear %n, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %s = hone.gated_activation silu %q, %n : tensor<?x4xf32>
    %y = hone.add %x, %s : tensor<?x4xf32>
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

// h = x A^T is never kept: no forward op is asked for it and no adjoint reads
// it.
// CHECK-LABEL: module @h_is_never_kept
// CHECK-NOT: -> (tensor<?x4xf32>, tensor<?x2xf32>)
// CHECK: hone.lora_parameter_adjoint %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} scale
// CHECK-NOT: -> (tensor<?x4xf32>, tensor<?x2xf32>)
module @h_is_never_kept {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
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

// Attention is recomputed with its normalizer, from which the adjoint
// recomputes probabilities: both come from one op.
// CHECK-LABEL: module @attention_is_recomputed_with_its_normalizer
// CHECK: hone.block @layer.backward(
// CHECK: %[[Y:[^,]*]], %[[LSE:.*]] = hone.attention %[[Q:[^,]*]], %[[K:[^,]*]], %[[K]], %[[S:[^ ]*]] heads
// CHECK-NOT: hone.attention %
// CHECK: hone.attention_adjoint %{{[^,]*}}, %[[Q]], %[[K]], %[[K]], %[[Y]], %[[LSE]], %[[S]] heads
// CHECK: hone.return
module @attention_is_recomputed_with_its_normalizer {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %w = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %q = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %kw = hone.parameter "k_proj.weight" : tensor<2x4xf32>
    %k = hone.linear %x, %kw : (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x2xf32>
    %y = hone.attention %q, %k, %k, %s heads 2 kv_heads 1 scale 0.5 : (tensor<?x4xf32>, tensor<?x2xf32>, tensor<?x2xf32>, tensor<?xi32>) -> tensor<?x4xf32>
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

// The block of the loss runs once: the forward half that makes the loss makes
// its gradient too, and @gradient returns that loss. The gradient's scale is
// the last argument.
// CHECK-LABEL: module @loss_block_runs_once
// CHECK: hone.block @head.gradient(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4xf32>, %[[SCALE:[^:]*]]: tensor<f64>) -> (tensor<f64>, tensor<?x4xf32>)
// CHECK: %[[LOSS:[^,]*]], %[[DX:.*]] = hone.linear_cross_entropy %[[X]]
// CHECK: %[[SCALED:.*]] = hone.scale %[[DX]], %[[SCALE]]
// CHECK: hone.return %[[LOSS]], %[[SCALED]]
// CHECK: hone.entry gradient @gradient(%{{[^:]*}}: tensor<?x4xf32>, %[[S:[^:]*]]: tensor<f64>) -> tensor<f64>
// CHECK-NOT: hone.call @head "
// CHECK: %[[L:.*]]:2 = hone.call @head.gradient ""(%{{.*}}, %[[S]])
// CHECK-NOT: hone.call @head
// CHECK: hone.return %[[L]]#0 : tensor<f64>
// CHECK-NOT: hone.call @head
module @loss_block_runs_once {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
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

// A kind of block is derived once, however many layers run it, and the layers
// run backward in reverse order, each with its own prefix.
// CHECK-LABEL: module @kind_is_derived_once
// CHECK-COUNT-1: hone.block @layer.backward
// CHECK-NOT: hone.block @layer.
// CHECK: hone.entry gradient @gradient(%[[X0:[^:]*]]: tensor<?x4xf32>,
// CHECK: %[[X1:.*]] = hone.call @layer "layers.0."(%[[X0]])
// CHECK: %[[X2:.*]] = hone.call @layer "layers.1."(%[[X1]])
// CHECK: %[[X3:.*]] = hone.call @layer "layers.2."(%[[X2]])
// CHECK: %[[L:.*]]:2 = hone.call @head.gradient ""(%[[X3]]
// CHECK: %[[D2:.*]] = hone.call @layer.backward "layers.2."(%[[X2]], %[[L]]#1)
// CHECK: %[[D1:.*]] = hone.call @layer.backward "layers.1."(%[[X1]], %[[D2]])
// CHECK: hone.call @layer.backward "layers.0."(%[[X0]], %[[D1]])
// CHECK-NOT: hone.block
module @kind_is_derived_once {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
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
    %1 = hone.call @layer "layers.1." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @layer "layers.2." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = hone.call @head "" (%2) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %3 : tensor<f64>
  }
}

// -----

// The first layer's input trains nothing, so its cotangent has no reader; the
// layer runs the same backward block as the others all the same.
// CHECK-LABEL: module @first_cotangent_is_unused
// CHECK: hone.entry gradient @gradient(
// CHECK: %[[D1:.*]] = hone.call @layer.backward "layers.1."
// CHECK: %[[D0:.*]] = hone.call @layer.backward "layers.0."(%{{.*}}, %[[D1]]) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NOT: %[[D0]]
module @first_cotangent_is_unused {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
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
    %1 = hone.call @layer "layers.1." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
  }
}

// -----

// A value read by two ops collects the sum of their cotangents, in one add.
// CHECK-LABEL: module @fan_out_is_summed
// CHECK: hone.block @layer.backward(
// CHECK: %[[DG:[^,]*]], %[[DU:.*]] = hone.gated_activation_adjoint
// CHECK: %[[SUM:.*]] = hone.add %[[DG]], %[[DU]]
// CHECK: hone.lora_parameter_adjoint %[[SUM]]
// CHECK-NOT: hone.add
// CHECK: hone.return
module @fan_out_is_summed {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %q = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %y = hone.gated_activation silu %q, %q : tensor<?x4xf32>
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

// Every gradient of a trainable parameter ends in a sink of its name.
// CHECK-LABEL: module @parameters_end_in_sinks
// CHECK: hone.block @layer.backward(
// CHECK: %[[DA:[^,]*]], %[[DB:.*]] = hone.lora_parameter_adjoint
// CHECK-DAG: hone.gradient %[[DA]] of "q_proj.lora_A.weight" : tensor<2x4xf32>
// CHECK-DAG: hone.gradient %[[DB]] of "q_proj.lora_B.weight" : tensor<4x2xf32>
// CHECK: hone.return
module @parameters_end_in_sinks {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
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

// Sinks accumulate, so a parameter that two ops read has two sinks, no sum.
// CHECK-LABEL: module @shared_parameter_has_a_sink_for_each_use
// CHECK: hone.block @layer.backward(
// CHECK-NOT: hone.add
// CHECK-COUNT-2: hone.gradient %{{.*}} of "lora_A.weight"
// CHECK-NOT: hone.add
// CHECK: hone.return
module @shared_parameter_has_a_sink_for_each_use {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "weight" : tensor<4x4xf32>
    %a = hone.parameter "lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %q = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %y = hone.lora_linear %q, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
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

// The cotangent of an adapter's inside is made once for the two adjoints that
// read it. Where the input has no cotangent there is one, which makes it itself.
// CHECK-LABEL: module @inside_of_an_adapter_is_made_once
// CHECK: hone.block @layer.backward(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4xf32>, %[[DY:[^:]*]]: tensor<?x4xf32>)
// CHECK-DAG: %[[B:.*]] = hone.parameter "up_proj.lora_B.weight"
// CHECK: %[[U:.*]] = hone.lora_inner_adjoint %[[DY]], %[[B]] scale 2.000000e+00 : (tensor<?x4xf32>, tensor<4x2xf32>) -> tensor<?x2xf32>
// CHECK: hone.lora_parameter_adjoint %[[DY]], %{{.*}}, %{{.*}}, %[[B]] u %[[U]] scale
// CHECK: hone.lora_linear_adjoint %[[DY]], %{{.*}}, %{{.*}}, %[[B]] u %[[U]] scale
// CHECK-NOT: hone.lora_inner_adjoint
// CHECK: hone.lora_parameter_adjoint %{{.*}}, %[[X]], %{{[^ ]*}}, %{{[^ ]*}} scale
// CHECK-NOT: hone.lora_linear_adjoint
// CHECK: hone.return
module @inside_of_an_adapter_is_made_once {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "down_proj.weight" : tensor<4x4xf32>
    %a = hone.parameter "down_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "down_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %h = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %v = hone.parameter "up_proj.weight" : tensor<4x4xf32>
    %c = hone.parameter "up_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %d = hone.parameter "up_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %h, %v, %c, %d scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
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

// A frozen adapter passes the cotangent on and has none of its own, so its
// input is not read.
// CHECK-LABEL: module @frozen_adapter_has_no_parameter_adjoint
// CHECK: hone.block @frozen.backward(
// CHECK-SAME: %[[DY:[^:,]*]]: tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NOT: hone.lora_parameter_adjoint
// CHECK-NOT: hone.lora_inner_adjoint
// CHECK: %[[DX:.*]] = hone.lora_linear_adjoint %[[DY]]
// CHECK-NOT: hone.gradient
// CHECK: hone.return %[[DX]]
module @frozen_adapter_has_no_parameter_adjoint {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @frozen(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" : tensor<4x2xf32>
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
    %1 = hone.call @frozen "layers.1." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
  }
}

// -----

// Below the first adapter nothing is active: a frozen layer that feeds it runs
// forward only and is not derived.
// CHECK-LABEL: module @layer_below_all_adapters_is_not_derived
// CHECK-NOT: @frozen.backward
module @layer_below_all_adapters_is_not_derived {
  hone.block @frozen(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
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
    %0 = hone.call @frozen "layers.0." (%hidden) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = hone.call @layer "layers.1." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
  }
}

// -----

// The adjoint of a rotation rotates back, with the same angles.
// CHECK-LABEL: module @adjoint_of_rope_is_inverse_rope
// CHECK: hone.block @layer.backward(
// CHECK-SAME: %[[DY:[^:,]*]]: tensor<?x4xf32>) {
// CHECK: %[[S:.*]] = hone.input "sequence_starts"
// CHECK: %[[DQ:.*]] = hone.rope %[[DY]], %[[S]] heads 2 theta 5.000000e+05 scaling <factor = 3.200000e+01 : f64, {{.*}}> inverse
// CHECK: hone.lora_parameter_adjoint %[[DQ]]
module @adjoint_of_rope_is_inverse_rope {
  hone.block @layer() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %w = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %q = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %y = hone.rope %q, %s heads 2 theta 5.0e5 scaling <factor = 32.0 : f64, low_freq_factor = 1.0 : f64, high_freq_factor = 4.0 : f64, original_max_position_embeddings = 8192> : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %1 = hone.call @layer "layers.0." () : () -> tensor<?x4xf32>
    %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
  }
}

// -----

// A block that no importer makes: two branches read one norm, and their sum is
// added to the input. The three paths meet in the cotangent of the input.
// CHECK-LABEL: module @parallel_residual_with_a_shared_input
// CHECK: hone.block @layer.backward(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4xf32>, %[[DY:[^:]*]]: tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK: %[[N:.*]] = hone.rms_norm %[[X]]
// CHECK-NOT: hone.lora_linear %
// CHECK: hone.lora_parameter_adjoint %[[DY]], %[[N]]
// CHECK: %[[RIGHT:.*]] = hone.lora_linear_adjoint %[[DY]]
// CHECK: hone.lora_parameter_adjoint %[[DY]], %[[N]]
// CHECK: %[[LEFT:.*]] = hone.lora_linear_adjoint %[[DY]]
// CHECK: %[[DN:.*]] = hone.add %[[RIGHT]], %[[LEFT]]
// CHECK: %[[THROUGH:.*]] = hone.rms_norm_adjoint %[[DN]], %[[X]]
// CHECK: %[[DX:.*]] = hone.add %[[DY]], %[[THROUGH]]
// CHECK: hone.return %[[DX]]
module @parallel_residual_with_a_shared_input {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %nw = hone.parameter "norm.weight" : tensor<4xf32>
    %n = hone.rms_norm %x, %nw eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %w = hone.parameter "left.weight" : tensor<4x4xf32>
    %a = hone.parameter "left.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "left.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %left = hone.lora_linear %n, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %w2 = hone.parameter "right.weight" : tensor<4x4xf32>
    %a2 = hone.parameter "right.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b2 = hone.parameter "right.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %right = hone.lora_linear %n, %w2, %a2, %b2 scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %sum = hone.add %left, %right : tensor<?x4xf32>
    %y = hone.add %x, %sum : tensor<?x4xf32>
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
    %1 = hone.call @layer "layers.1." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
  }
}

// -----

// The bias of a projection is frozen: the backward neither reads it nor has a
// gradient of it.
// CHECK-LABEL: module @bias_has_no_gradient
// CHECK: hone.block @layer.backward(
// CHECK-NOT: q_proj.bias
// CHECK: hone.return
module @bias_has_no_gradient {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %bias = hone.parameter "q_proj.bias" : tensor<4xf32>
    %a = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %x, %w, %a, %b bias %bias scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>, tensor<4xf32>) -> tensor<?x4xf32>
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
