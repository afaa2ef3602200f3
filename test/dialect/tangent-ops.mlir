// RUN: hone-opt %s | hone-opt | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --emit-bytecode | hone-opt | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s --enable-var-scope

// The ops of forward mode: tangents, with and without each optional operand.

// CHECK-LABEL: hone.block @rms_norm_tangent(
// CHECK-SAME: %[[TX:[^:]*]]: tensor<?x4xf32>, %[[X:[^:]*]]: tensor<?x4xf32>, %[[W:[^:]*]]: tensor<4xf32>, %[[R:[^:]*]]: tensor<?x1xf32>)
hone.block @rms_norm_tangent(%tx: tensor<?x4xf32>, %x: tensor<?x4xf32>,
                             %w: tensor<4xf32>, %rstd: tensor<?x1xf32>) {
  // CHECK: hone.rms_norm_tangent %[[TX]], %[[X]], %[[W]] eps 1.000000e-05 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %0 = hone.rms_norm_tangent %tx, %x, %w eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: hone.rms_norm_tangent %[[TX]], %[[X]], %[[W]] rstd %[[R]] eps 1.000000e-05
  %1 = hone.rms_norm_tangent %tx, %x, %w rstd %rstd eps 1.0e-5
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<?x1xf32>)
      -> tensor<?x4xf32>
  hone.return
}

// CHECK-LABEL: hone.block @lora_parameter_tangent(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4xf32>, %[[A:[^:]*]]: tensor<2x4xf32>, %[[B:[^:]*]]: tensor<8x2xf32>, %[[H:[^:]*]]: tensor<?x2xf32>)
hone.block @lora_parameter_tangent(%x: tensor<?x4xf32>, %a: tensor<2x4xf32>,
                                   %b: tensor<8x2xf32>, %h: tensor<?x2xf32>) {
  // CHECK: hone.lora_parameter_tangent %[[X]], %[[A]], %[[B]] ta %[[A]] scale 2.000000e+00 : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<2x4xf32>) -> tensor<?x8xf32>
  %0 = hone.lora_parameter_tangent %x, %a, %b ta %a scale 2.0
      : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<2x4xf32>)
      -> tensor<?x8xf32>
  // CHECK: hone.lora_parameter_tangent %[[X]], %[[A]], %[[B]] tb %[[B]] scale 2.000000e+00
  %1 = hone.lora_parameter_tangent %x, %a, %b tb %b scale 2.0
      : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
      -> tensor<?x8xf32>
  // CHECK: hone.lora_parameter_tangent %[[X]], %[[A]], %[[B]] ta %[[A]] tb %[[B]] h %[[H]] scale 2.000000e+00
  %2 = hone.lora_parameter_tangent %x, %a, %b ta %a tb %b h %h scale 2.0
      : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>, tensor<2x4xf32>,
         tensor<8x2xf32>, tensor<?x2xf32>) -> tensor<?x8xf32>
  hone.return
}

// CHECK-LABEL: hone.block @attention_tangent(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x8xf32>, %[[K:[^:]*]]: tensor<?x4xf32>, %[[V:[^:]*]]: tensor<?x4xf32>, %[[S:[^:]*]]: tensor<?xi32>, %[[L:[^:]*]]: tensor<?x4xf32>)
hone.block @attention_tangent(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                              %v: tensor<?x4xf32>, %s: tensor<?xi32>,
                              %normalizer: tensor<?x4xf32>) {
  // CHECK: hone.attention_tangent %[[Q]], %[[K]], %[[V]], %[[S]] tk %[[K]] heads 2 kv_heads 1 scale 5.000000e-01 : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>, tensor<?x4xf32>) -> tensor<?x8xf32>
  %0 = hone.attention_tangent %q, %k, %v, %s tk %k
      heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>,
         tensor<?x4xf32>) -> tensor<?x8xf32>
  // CHECK: hone.attention_tangent %[[Q]], %[[K]], %[[V]], %[[S]] tq %[[Q]] tk %[[K]] tv %[[V]] normalizer %[[L]] heads 2 kv_heads 1 scale 5.000000e-01
  %1 = hone.attention_tangent %q, %k, %v, %s tq %q tk %k tv %v
      normalizer %normalizer heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>,
         tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>)
      -> tensor<?x8xf32>
  hone.return
}

// CHECK-LABEL: hone.block @gated_activation_tangent(
// CHECK-SAME: %[[G:[^:]*]]: tensor<?x8xf32>, %[[U:[^:]*]]: tensor<?x8xf32>, %[[T:[^:]*]]: tensor<?x8xf32>)
hone.block @gated_activation_tangent(%gate: tensor<?x8xf32>, %up: tensor<?x8xf32>,
                           %t: tensor<?x8xf32>) {
  // CHECK: hone.gated_activation_tangent silu %[[G]], %[[U]] tgate %[[T]] : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %0 = hone.gated_activation_tangent silu %gate, %up tgate %t
      : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: hone.gated_activation_tangent silu %[[G]], %[[U]] tup %[[T]] :
  %1 = hone.gated_activation_tangent silu %gate, %up tup %t
      : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: hone.gated_activation_tangent silu %[[G]], %[[U]] tgate %[[T]] tup %[[T]] :
  %2 = hone.gated_activation_tangent silu %gate, %up tgate %t tup %t
      : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>)
      -> tensor<?x8xf32>
  hone.return
}

// CHECK-LABEL: hone.block @linear_cross_entropy_tangent(
// CHECK-SAME: %[[TX:[^:]*]]: tensor<?x4xf32>, %[[X:[^:]*]]: tensor<?x4xf32>, %[[W:[^:]*]]: tensor<9x4xf32>, %[[T:[^:]*]]: tensor<?xi32>)
hone.block @linear_cross_entropy_tangent(%tx: tensor<?x4xf32>,
                                         %x: tensor<?x4xf32>,
                                         %w: tensor<9x4xf32>,
                                         %t: tensor<?xi32>) {
  // CHECK: hone.linear_cross_entropy_tangent %[[X]], %[[W]], %[[T]] tx %[[TX]] : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>, tensor<?x4xf32>) -> tensor<f64>
  %0 = hone.linear_cross_entropy_tangent %x, %w, %t tx %tx
      : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>, tensor<?x4xf32>)
      -> tensor<f64>
  // CHECK: hone.linear_cross_entropy_tangent %[[X]], %[[W]], %[[T]] tx %[[TX]] tw %[[W]] :
  %1 = hone.linear_cross_entropy_tangent %x, %w, %t tx %tx tw %w
      : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>, tensor<?x4xf32>,
         tensor<9x4xf32>) -> tensor<f64>
  // CHECK: hone.linear_cross_entropy_tangent %[[X]], %[[W]], %[[T]] tw %[[W]] :
  %2 = hone.linear_cross_entropy_tangent %x, %w, %t tw %w
      : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>, tensor<9x4xf32>)
      -> tensor<f64>
  hone.return
}

// CHECK-LABEL: hone.block @dot(
// CHECK-SAME: %[[A:.*]]: tensor<?x4xf32>, %[[B:.*]]: tensor<?x4xf32>)
hone.block @dot(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>) {
  // CHECK: hone.dot %[[A]], %[[B]] : tensor<?x4xf32>
  %0 = hone.dot %a, %b : tensor<?x4xf32>
  hone.return
}
