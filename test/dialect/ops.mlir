// RUN: hone-opt %s | hone-opt | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --emit-bytecode | hone-opt | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s --enable-var-scope

// The ops of a model: each is printed as it is written, whether it comes from
// text, from bytecode or from the generic form.

// CHECK: module attributes {hone.max_rows = 256 : i64}
module attributes {hone.max_rows = 256 : i64} {

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

// CHECK-LABEL: hone.block @block(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>) -> tensor<?x4xf32> {
hone.block @block(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // CHECK: %[[Y:.*]] = hone.add %[[X]], %[[X]]
  %y = hone.add %x, %x : tensor<?x4xf32>
  // CHECK-NEXT: hone.return %[[Y]] : tensor<?x4xf32>
  hone.return %y : tensor<?x4xf32>
}

// CHECK-LABEL: hone.block @block_without_results() {
// CHECK-NEXT: hone.return{{$}}
hone.block @block_without_results() {
  hone.return
}

// CHECK-LABEL: hone.block @block_of_two_results(
// CHECK-SAME: ) -> (tensor<?x4xf32>, tensor<?x4xf32>)
hone.block @block_of_two_results(%x: tensor<?x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %y = hone.add %x, %x : tensor<?x4xf32>
  %z = hone.add %x, %y : tensor<?x4xf32>
  hone.return %y, %z : tensor<?x4xf32>, tensor<?x4xf32>
}

hone.block @source() -> tensor<?x4xf32> {
  %h = hone.input "hidden" : tensor<?x4xf32>
  %y = hone.add %h, %h : tensor<?x4xf32>
  hone.return %y : tensor<?x4xf32>
}

// CHECK-LABEL: hone.entry @entry() -> tensor<?x4xf32> {
hone.entry @entry() -> tensor<?x4xf32> {
  // CHECK-NEXT: %[[X:.*]] = hone.call @source "model."() : () -> tensor<?x4xf32>
  %x = hone.call @source "model." () : () -> tensor<?x4xf32>
  // CHECK-NEXT: %[[Y:.*]]:2 = hone.call @block_of_two_results "model.layers.0."(%[[X]]) : (tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  %y:2 = hone.call @block_of_two_results "model.layers.0." (%x)
      : (tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  // CHECK-NEXT: hone.return %[[Y]]#1 : tensor<?x4xf32>
  hone.return %y#1 : tensor<?x4xf32>
  // CHECK-NEXT: }
}

// CHECK-LABEL: hone.entry @entry_without_results(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>) {
hone.entry @entry_without_results(%x: tensor<?x4xf32>) {
  // CHECK-NEXT: hone.call @block "model.norm."(%[[X]])
  %y = hone.call @block "model.norm." (%x)
      : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK-NEXT: }
}

// CHECK-LABEL: hone.block @input
hone.block @input() {
  // CHECK: hone.input "input_ids" : tensor<?xi32>
  %0 = hone.input "input_ids" : tensor<?xi32>
  hone.return
}

// CHECK-LABEL: hone.block @parameter
hone.block @parameter() {
  // CHECK: hone.parameter "q_proj.weight" : tensor<8x4xf32>
  %0 = hone.parameter "q_proj.weight" : tensor<8x4xf32>
  // CHECK: hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x4xf32>
  %1 = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x4xf32>
  // CHECK: hone.parameter "b" trainable init <zero> : tensor<8x2xf64>
  %2 = hone.parameter "b" trainable init <zero> : tensor<8x2xf64>
  hone.return
}

//===----------------------------------------------------------------------===//
// Model ops
//===----------------------------------------------------------------------===//

// CHECK-LABEL: hone.block @embedding(
// CHECK-SAME: %[[IDS:.*]]: tensor<?xi32>, %[[TABLE:.*]]: tensor<9x4xf32>)
hone.block @embedding(%ids: tensor<?xi32>, %table: tensor<9x4xf32>) {
  // CHECK: hone.embedding %[[IDS]], %[[TABLE]] : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
  %0 = hone.embedding %ids, %table
      : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
  // CHECK: hone.embedding %[[IDS]], %[[TABLE]] scale 2.000000e+00 streamed :
  %1 = hone.embedding %ids, %table scale 2.0 streamed
      : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
  hone.return
}

// CHECK-LABEL: hone.block @rms_norm(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>, %[[W:.*]]: tensor<4xf32>)
hone.block @rms_norm(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // CHECK: hone.rms_norm %[[X]], %[[W]] eps 1.000000e-05 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %0 = hone.rms_norm %x, %w eps 1.0e-5
      : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: %{{.*}}, %{{.*}} = hone.rms_norm %[[X]], %[[W]] eps 0.000000e+00 : {{.*}} -> (tensor<?x4xf32>, tensor<?x1xf32>)
  %y, %rstd = hone.rms_norm %x, %w eps 0.0
      : (tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x1xf32>)
  %half = hone.parameter "half" : tensor<2xf32>
  // CHECK: hone.rms_norm %[[X]], %{{.*}} heads 2 offset 1.000000e+00 eps 0.000000e+00 : {{.*}} -> (tensor<?x4xf32>, tensor<?x2xf32>)
  %z, %rstds = hone.rms_norm %x, %half heads 2 offset 1.0 eps 0.0
      : (tensor<?x4xf32>, tensor<2xf32>) -> (tensor<?x4xf32>, tensor<?x2xf32>)
  hone.return
}

// CHECK-LABEL: hone.block @linear(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4xf64>, %[[W:[^:]*]]: tensor<8x4xf64>, %[[B:[^:]*]]: tensor<8xf64>)
hone.block @linear(%x: tensor<?x4xf64>, %w: tensor<8x4xf64>,
                   %b: tensor<8xf64>) {
  // CHECK: hone.linear %[[X]], %[[W]] : (tensor<?x4xf64>, tensor<8x4xf64>) -> tensor<?x8xf64>
  %0 = hone.linear %x, %w
      : (tensor<?x4xf64>, tensor<8x4xf64>) -> tensor<?x8xf64>
  // CHECK: hone.linear %[[X]], %[[W]] bias %[[B]] : (tensor<?x4xf64>, tensor<8x4xf64>, tensor<8xf64>) -> tensor<?x8xf64>
  %1 = hone.linear %x, %w bias %b
      : (tensor<?x4xf64>, tensor<8x4xf64>, tensor<8xf64>) -> tensor<?x8xf64>
  hone.return
}

// CHECK-LABEL: hone.block @lora_linear(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4xf32>, %[[W:[^:]*]]: tensor<8x4xf32>, %[[A:[^:]*]]: tensor<2x4xf32>, %[[B:[^:]*]]: tensor<8x2xf32>, %[[BIAS:[^:]*]]: tensor<8xf32>)
hone.block @lora_linear(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>,
                        %a: tensor<2x4xf32>, %b: tensor<8x2xf32>,
                        %bias: tensor<8xf32>) {
  // CHECK: hone.lora_linear %[[X]], %[[W]], %[[A]], %[[B]] scale 2.000000e+00 : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>) -> tensor<?x8xf32>
  %0 = hone.lora_linear %x, %w, %a, %b scale 2.0
      : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>)
      -> tensor<?x8xf32>
  // CHECK: hone.lora_linear %[[X]], %[[W]], %[[A]], %[[B]] bias %[[BIAS]] scale 5.000000e-01
  // CHECK-SAME: -> (tensor<?x8xf32>, tensor<?x2xf32>)
  %y, %h = hone.lora_linear %x, %w, %a, %b bias %bias scale 0.5
      : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x2xf32>,
         tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x2xf32>)
  hone.return
}

// CHECK-LABEL: hone.block @rope(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[S:.*]]: tensor<?xi32>)
hone.block @rope(%x: tensor<?x8xf32>, %s: tensor<?xi32>) {
  // CHECK: hone.rope %[[X]], %[[S]] heads 2 theta 1.000000e+04 : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  %0 = hone.rope %x, %s heads 2 theta 1.0e4
      : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  // CHECK: hone.rope %[[X]], %[[S]] heads 2 theta 5.000000e+05 scaling <factor = 3.200000e+01 : f64, low_freq_factor = 1.000000e+00 : f64, high_freq_factor = 4.000000e+00 : f64, original_max_position_embeddings = 8192> inverse :
  %1 = hone.rope %x, %s heads 2 theta 5.0e5
      scaling <factor = 32.0 : f64, low_freq_factor = 1.0 : f64,
               high_freq_factor = 4.0 : f64,
               original_max_position_embeddings = 8192> inverse
      : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  hone.return
}

// CHECK-LABEL: hone.block @attention(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x8xf32>, %[[K:[^:]*]]: tensor<?x4xf32>, %[[V:[^:]*]]: tensor<?x4xf32>, %[[S:[^:]*]]: tensor<?xi32>)
hone.block @attention(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>,
                      %v: tensor<?x4xf32>, %s: tensor<?xi32>) {
  // CHECK: hone.attention %[[Q]], %[[K]], %[[V]], %[[S]] heads 2 kv_heads 1 scale 5.000000e-01 : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  %0 = hone.attention %q, %k, %v, %s heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>)
      -> tensor<?x8xf32>
  // CHECK: %{{.*}}, %{{.*}} = hone.attention {{.*}} -> (tensor<?x8xf32>, tensor<?x4xf32>)
  %y, %normalizer = hone.attention %q, %k, %v, %s heads 2 kv_heads 1 scale 0.5
      : (tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>)
      -> (tensor<?x8xf32>, tensor<?x4xf32>)
  hone.return
}

// CHECK-LABEL: hone.block @gated_activation(
// CHECK-SAME: %[[GATE:.*]]: tensor<?x8xf32>, %[[UP:.*]]: tensor<?x8xf32>)
hone.block @gated_activation(%gate: tensor<?x8xf32>, %up: tensor<?x8xf32>) {
  // CHECK: hone.gated_activation silu %[[GATE]], %[[UP]] : tensor<?x8xf32>
  %0 = hone.gated_activation silu %gate, %up : tensor<?x8xf32>
  // CHECK: hone.gated_activation gelu_tanh %[[GATE]], %[[UP]] : tensor<?x8xf32>
  %1 = hone.gated_activation gelu_tanh %gate, %up : tensor<?x8xf32>
  hone.return
}

// CHECK-LABEL: hone.block @add(
// CHECK-SAME: %[[LHS:.*]]: tensor<?x8xf32>, %[[RHS:.*]]: tensor<?x8xf32>)
hone.block @add(%lhs: tensor<?x8xf32>, %rhs: tensor<?x8xf32>) {
  // CHECK: hone.add %[[LHS]], %[[RHS]] : tensor<?x8xf32>
  %0 = hone.add %lhs, %rhs : tensor<?x8xf32>
  hone.return
}

// CHECK-LABEL: hone.block @linear_cross_entropy(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4xf32>, %[[W:[^:]*]]: tensor<9x4xf32>, %[[T:[^:]*]]: tensor<?xi32>)
hone.block @linear_cross_entropy(%x: tensor<?x4xf32>, %w: tensor<9x4xf32>,
                                 %t: tensor<?xi32>) {
  // CHECK: hone.linear_cross_entropy %[[X]], %[[W]], %[[T]] : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
  %0 = hone.linear_cross_entropy %x, %w, %t
      : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
  // CHECK: hone.linear_cross_entropy {{.*}} -> (tensor<f64>, tensor<?x4xf32>)
  %loss, %dx = hone.linear_cross_entropy %x, %w, %t
      : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>)
      -> (tensor<f64>, tensor<?x4xf32>)
  hone.return
}
}
