// RUN: hone-opt %s | hone-opt | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --emit-bytecode | hone-opt | FileCheck %s --enable-var-scope

// Attributes on their own, and the module attributes that the dialect checks.

// CHECK: hone.arena_bytes = 4096 : i64
// CHECK-SAME: hone.layers = ["h.0.", "h.1."]
// CHECK-SAME: hone.max_rows = 1 : i64
module attributes {hone.max_rows = 1 : i64, hone.layers = ["h.0.", "h.1."],
                   hone.arena_bytes = 4096 : i64} {

// CHECK-LABEL: hone.block @slot()
// CHECK-SAME: hone.scratch_bytes = 64 : i64
hone.block @slot() attributes {hone.scratch_bytes = 64 : i64} {
  // CHECK: #hone.slot<offset = 4096, bytes = 1024, first = 2, last = 5>
  %0 = hone.input "x" {hone.slots = [#hone.slot<offset = 4096, bytes = 1024,
                                                first = 2, last = 5>]}
      : tensor<?x4xf32>
  hone.return
}

// CHECK-LABEL: hone.block @llama3_rope_scaling()
hone.block @llama3_rope_scaling() {
  // CHECK: #hone.llama3_rope_scaling<factor = 8.000000e+00 : f64, low_freq_factor = 1.000000e+00 : f64, high_freq_factor = 4.000000e+00 : f64, original_max_position_embeddings = 8192>
  %0 = hone.input "x" {test.scaling = #hone.llama3_rope_scaling<
      factor = 8.0 : f64, low_freq_factor = 1.0 : f64,
      high_freq_factor = 4.0 : f64, original_max_position_embeddings = 8192>}
      : tensor<?x4xf32>
  hone.return
}

// CHECK-LABEL: hone.block @init()
hone.block @init() {
  // CHECK: [#hone.init<zero>, #hone.init<kaiming_uniform>]
  %0 = hone.input "x" {test.inits = [#hone.init<zero>,
                                     #hone.init<kaiming_uniform>]}
      : tensor<?x4xf32>
  hone.return
}

// CHECK-LABEL: hone.block @storage()
hone.block @storage() {
  // CHECK: hone.parameter "a" stored <bfloat16> : tensor<8x4xf32>
  %a = hone.parameter "a" stored <bfloat16> : tensor<8x4xf32>
  // CHECK: hone.parameter "b" stored <int4, group = 32> : tensor<8x64xf64>
  %b = hone.parameter "b" stored <int4, group = 32> : tensor<8x64xf64>
  // CHECK: hone.parameter "c" stored <int8, group = 128> : tensor<8x128xf32>
  %c = hone.parameter "c" stored <int8, group = 128> : tensor<8x128xf32>
  hone.return
}

// CHECK-LABEL: hone.block @memory_class()
hone.block @memory_class() {
  // CHECK: [#hone<memory_class adapter>, #hone<memory_class gradient>, #hone<memory_class optimizer>, #hone<memory_class batch>, #hone<memory_class kept>, #hone<memory_class working>]
  %0 = hone.input "x" {test.classes = [
      #hone<memory_class adapter>, #hone<memory_class gradient>,
      #hone<memory_class optimizer>, #hone<memory_class batch>,
      #hone<memory_class kept>, #hone<memory_class working>]}
      : tensor<?x4xf32>
  hone.return
}
}
