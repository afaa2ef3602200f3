// RUN: hone-opt %s --split-input-file --hone-derive-backward="residuals=full" | FileCheck %s --enable-var-scope

// The policy `full`: all that adjoints read is kept, nothing is recomputed.

// h = x A^T is a result of the forward block and is read by the adjoint.
// CHECK-LABEL: module @h_is_kept_and_read
// CHECK: hone.block @layer.backward(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4xf32>, %[[KEPT:[^:]*]]: tensor<?x2xf32>, %[[DY:[^:]*]]: tensor<?x4xf32>)
// CHECK: hone.lora_parameter_adjoint %[[DY]], %[[X]], %{{[^ ]*}}, %{{[^ ]*}} h %[[KEPT]] scale
// CHECK: hone.block @layer.forward(
// CHECK-SAME: -> (tensor<?x4xf32>, tensor<?x2xf32>)
// CHECK: %[[Y:[^,]*]], %[[H:.*]] = hone.lora_linear
// CHECK: hone.return %[[Y]], %[[H]]
module @h_is_kept_and_read {
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
    %1 = hone.call @head "" (%0) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %1 : tensor<f64>
  }
}

// -----

// No op of the forward pass is in the backward.
// CHECK-LABEL: module @nothing_is_recomputed
// CHECK: hone.block @layer.backward(
// CHECK-NOT: hone.{{rms_norm|linear|lora_linear|attention|gated_activation}} %
// CHECK-NOT: = hone.rope {{.*}} 1.000000e+04 :
// CHECK: hone.block @layer.forward(
module @nothing_is_recomputed {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %nw = hone.parameter "norm.weight" : tensor<4xf32>
    %n = hone.rms_norm %x, %nw eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %wq = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %aq = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %bq = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %q = hone.lora_linear %n, %wq, %aq, %bq scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %qr = hone.rope %q, %s heads 2 theta 1.0e4 : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    %o = hone.attention %qr, %n, %n, %s heads 2 kv_heads 2 scale 0.5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
    %g = hone.gated_activation silu %o, %n : tensor<?x4xf32>
    %y = hone.add %x, %g : tensor<?x4xf32>
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

// The kept values of each layer go from its own forward call to its own
// backward call, last layer first.
// CHECK-LABEL: module @kept_values_go_to_the_same_layer
// CHECK: hone.entry gradient @gradient(
// CHECK: %[[F0:.*]]:2 = hone.call @layer.forward "layers.0."
// CHECK: %[[F1:.*]]:2 = hone.call @layer.forward "layers.1."(%[[F0]]#0)
// CHECK: %[[L:.*]]:2 = hone.call @head.gradient ""(%[[F1]]#0
// CHECK: %[[D:.*]] = hone.call @layer.backward "layers.1."(%[[F0]]#0, %[[F1]]#1, %[[L]]#1)
// CHECK: hone.call @layer.backward "layers.0."(%{{.*}}, %[[F0]]#1, %[[D]])
module @kept_values_go_to_the_same_layer {
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
    %1 = hone.call @layer "layers.1." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @head "" (%1) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %2 : tensor<f64>
  }
}

// -----

// The cheapest alternative in compute: the reciprocal norm is kept as well.
// CHECK-LABEL: module @rstd_is_kept_and_read
// CHECK: hone.block @layer.backward(
// CHECK: hone.rms_norm_adjoint %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} rstd %
// CHECK: hone.block @layer.forward(
// CHECK: %{{[^,]*}}, %[[R:.*]] = hone.rms_norm
// CHECK: hone.return %{{.*}}, %[[R]]
module @rstd_is_kept_and_read {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %wq = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %aq = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %bq = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %q = hone.lora_linear %x, %wq, %aq, %bq scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %nw = hone.parameter "norm.weight" : tensor<4xf32>
    %y = hone.rms_norm %q, %nw eps 1.0e-5 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
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

// A layer whose adjoint reads nothing has no forward block of its own.
// CHECK-LABEL: module @frozen_layer_keeps_nothing
// CHECK-NOT: @frozen.forward
module @frozen_layer_keeps_nothing {
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %wq = hone.parameter "q_proj.weight" : tensor<4x4xf32>
    %aq = hone.parameter "q_proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %bq = hone.parameter "q_proj.lora_B.weight" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %x, %wq, %aq, %bq scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @frozen(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "o_proj.weight" : tensor<4x4xf32>
    %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
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
