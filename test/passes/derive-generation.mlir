// A model and its loss become a step that generates.
// RUN: hone-opt %s --split-input-file --hone-derive-generation="rows=8 positions=32" | FileCheck %s

// The sizes are the module's, and sums may have any order.
// CHECK: module attributes {hone.any_order_products, hone.max_positions = 32 : i64, hone.max_rows = 8 : i64}
module attributes {hone.max_rows = 4 : i64} {
  // Ops whose rows stand for themselves are as they were; attention remembers in
  // caches of its layer, with a row for each position, and heads and windows are
  // its own.
  // CHECK-LABEL: hone.block @decoder
  // CHECK-DAG: %[[VALUES:.*]] = hone.cache "attention.values" : tensor<32x4xbf16>
  // CHECK-DAG: %[[KEYS:.*]] = hone.cache "attention.keys" : tensor<32x4xbf16>
  // CHECK: hone.rms_norm
  // CHECK: %[[K:.*]] = hone.rope
  // CHECK: %[[A:.*]] = hone.cached_attention %{{.*}}, %[[K]], %{{.*}}, %{{.*}}, %[[KEYS]], %[[VALUES]] heads 2 kv_heads 1 scale 5.000000e-01
  // CHECK-NOT: hone.attention
  // CHECK: hone.add %{{.*}}, %[[A]]
  hone.block @decoder(%x: tensor<?x8xbf16>) -> tensor<?x8xbf16> {
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %n = hone.parameter "norm.weight" : tensor<8xf32>
    %w = hone.parameter "k_proj.weight" : tensor<4x8xf32>
    %h = hone.rms_norm %x, %n eps 1.0e-5 : (tensor<?x8xbf16>, tensor<8xf32>) -> tensor<?x8xbf16>
    %v = hone.linear %h, %w : (tensor<?x8xbf16>, tensor<4x8xf32>) -> tensor<?x4xbf16>
    %k = hone.rope %v, %s heads 1 theta 1.0e4 : (tensor<?x4xbf16>, tensor<?xi32>) -> tensor<?x4xbf16>
    %a = hone.attention %h, %k, %v, %s heads 2 kv_heads 1 scale 0.5 : (tensor<?x8xbf16>, tensor<?x4xbf16>, tensor<?x4xbf16>, tensor<?xi32>) -> tensor<?x8xbf16>
    %y = hone.add %x, %a : tensor<?x8xbf16>
    hone.return %y : tensor<?x8xbf16>
  }
  // CHECK-LABEL: hone.block @embed
  // CHECK: hone.embedding
  hone.block @embed() -> tensor<?x8xbf16> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "embed.weight" : tensor<9x8xf32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x8xf32>) -> tensor<?x8xbf16>
    hone.return %x : tensor<?x8xbf16>
  }
  // Of the loss there are the logits after the last row, in the type that they
  // are computed in; targets are read no more.
  // CHECK-LABEL: hone.block @head
  // CHECK-NOT: targets
  // CHECK: %[[Y:.*]] = hone.logits %{{.*}}, %{{.*}} : (tensor<?x8xbf16>, tensor<9x8xf32>) -> tensor<9xf32>
  // CHECK-NEXT: hone.return %[[Y]] : tensor<9xf32>
  hone.block @head(%x: tensor<?x8xbf16>) -> tensor<f64> {
    %t = hone.parameter "embed.weight" : tensor<9x8xf32>
    %targets = hone.input "targets" : tensor<?xi32>
    %y = hone.linear_cross_entropy %x, %t, %targets : (tensor<?x8xbf16>, tensor<9x8xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  // Uncalled blocks are gone.
  // CHECK-NOT: @unused
  hone.block @unused(%x: tensor<?x8xbf16>) -> tensor<?x8xbf16> {
    %y = hone.add %x, %x : tensor<?x8xbf16>
    hone.return %y : tensor<?x8xbf16>
  }
  // CHECK-LABEL: hone.entry @generate() -> tensor<9xf32>
  // CHECK: hone.call @embed "model."
  // CHECK-NEXT: hone.call @decoder "model.layers.0."
  // CHECK-NEXT: hone.call @decoder "model.layers.1."
  // CHECK-NEXT: %[[LOGITS:.*]] = hone.call @head ""
  // CHECK-NEXT: hone.return %[[LOGITS]]
  hone.entry @loss() -> tensor<f64> {
    %x = hone.call @embed "model." () : () -> tensor<?x8xbf16>
    %y = hone.call @decoder "model.layers.0." (%x) : (tensor<?x8xbf16>) -> tensor<?x8xbf16>
    %z = hone.call @decoder "model.layers.1." (%y) : (tensor<?x8xbf16>) -> tensor<?x8xbf16>
    %r = hone.call @head "" (%z) : (tensor<?x8xbf16>) -> tensor<f64>
    hone.return %r : tensor<f64>
  }
  // CHECK-LABEL: hone.schedule generate
  // CHECK-NEXT: %[[BATCH:.*]] = hone.load
  // CHECK-NEXT: %[[R:.*]] = hone.run @generate() on %[[BATCH]]
  // CHECK-NEXT: hone.report %[[R]] as "logits" : tensor<9xf32>
}

// -----

// Two attentions of a block have caches of their own.
// CHECK-LABEL: hone.block @twice
// CHECK-DAG: hone.cache "attention.keys"
// CHECK-DAG: hone.cache "attention.values"
// CHECK-DAG: hone.cache "attention1.keys"
// CHECK-DAG: hone.cache "attention1.values"
module attributes {hone.max_rows = 4 : i64} {
  hone.block @twice() -> tensor<f64> {
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %t = hone.parameter "embed.weight" : tensor<9x8xf32>
    %ids = hone.input "input_ids" : tensor<?xi32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x8xf32>) -> tensor<?x8xf32>
    %a = hone.attention %x, %x, %x, %s heads 2 kv_heads 2 scale 0.5 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
    %b = hone.attention %a, %x, %x, %s heads 2 kv_heads 2 scale 0.5 : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
    %targets = hone.input "targets" : tensor<?xi32>
    %y = hone.linear_cross_entropy %b, %t, %targets : (tensor<?x8xf32>, tensor<9x8xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %r = hone.call @twice "" () : () -> tensor<f64>
    hone.return %r : tensor<f64>
  }
}
