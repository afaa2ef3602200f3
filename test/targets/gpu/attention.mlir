// Attention of its own, which has no strips: every kind of it, as PTX, is near
// the reference, for sequences that begin and end within blocks.
// RUN: hone-opt %s --hone-place -o %t.mlir
// RUN: compare-blocks %t.mlir 150 2 | FileCheck %s
// RUN: compare-blocks %t.mlir 66 2 | FileCheck %s
// CHECK-NOT: far
// CHECK: adjoint_f64: near
// CHECK-NOT: far

module attributes {hone.max_rows = 150 : i64} {
hone.block @adjoint_f32(%q: tensor<?x96xf32>, %k: tensor<?x32xf32>, %v: tensor<?x32xf32>, %dy: tensor<?x96xf32>) -> (tensor<?x96xf32>, tensor<?x12xf32>, tensor<?x96xf32>, tensor<?x32xf32>, tensor<?x32xf32>) {
  %starts = hone.input "starts" : tensor<?xi32>
  %y, %n = hone.attention %q, %k, %v, %starts heads 6 kv_heads 2 scale 0.3 : (tensor<?x96xf32>, tensor<?x32xf32>, tensor<?x32xf32>, tensor<?xi32>) -> (tensor<?x96xf32>, tensor<?x12xf32>)
  %dq, %dk, %dv = hone.attention_adjoint %dy, %q, %k, %v, %y, %n, %starts heads 6 kv_heads 2 scale 0.3 : (tensor<?x96xf32>, tensor<?x96xf32>, tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x96xf32>, tensor<?x12xf32>, tensor<?xi32>) -> (tensor<?x96xf32>, tensor<?x32xf32>, tensor<?x32xf32>)
  hone.return %y, %n, %dq, %dk, %dv : tensor<?x96xf32>, tensor<?x12xf32>, tensor<?x96xf32>, tensor<?x32xf32>, tensor<?x32xf32>
}
hone.block @adjoint_window(%q: tensor<?x64xf32>, %k: tensor<?x32xf32>, %v: tensor<?x32xf32>, %dy: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x8xf32>, tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32>) {
  %starts = hone.input "starts" : tensor<?xi32>
  %y, %n = hone.attention %q, %k, %v, %starts heads 4 kv_heads 2 window 11 scale 0.3 : (tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32>, tensor<?xi32>) -> (tensor<?x64xf32>, tensor<?x8xf32>)
  %dq, %dk, %dv = hone.attention_adjoint %dy, %q, %k, %v, %y, %n, %starts heads 4 kv_heads 2 window 11 scale 0.3 : (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x8xf32>, tensor<?xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32>)
  hone.return %y, %n, %dq, %dk, %dv : tensor<?x64xf32>, tensor<?x8xf32>, tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32>
}
hone.block @adjoint_wide(%q: tensor<?x72xf32>, %k: tensor<?x72xf32>, %v: tensor<?x72xf32>, %dy: tensor<?x72xf32>) -> (tensor<?x72xf32>, tensor<?x2xf32>, tensor<?x72xf32>, tensor<?x72xf32>, tensor<?x72xf32>) {
  %starts = hone.input "starts" : tensor<?xi32>
  %y, %n = hone.attention %q, %k, %v, %starts heads 1 kv_heads 1 window 70 scale 0.3 : (tensor<?x72xf32>, tensor<?x72xf32>, tensor<?x72xf32>, tensor<?xi32>) -> (tensor<?x72xf32>, tensor<?x2xf32>)
  %dq, %dk, %dv = hone.attention_adjoint %dy, %q, %k, %v, %y, %n, %starts heads 1 kv_heads 1 window 70 scale 0.3 : (tensor<?x72xf32>, tensor<?x72xf32>, tensor<?x72xf32>, tensor<?x72xf32>, tensor<?x72xf32>, tensor<?x2xf32>, tensor<?xi32>) -> (tensor<?x72xf32>, tensor<?x72xf32>, tensor<?x72xf32>)
  hone.return %y, %n, %dq, %dk, %dv : tensor<?x72xf32>, tensor<?x2xf32>, tensor<?x72xf32>, tensor<?x72xf32>, tensor<?x72xf32>
}
hone.block @adjoint_f64(%q: tensor<?x80xf64>, %k: tensor<?x40xf64>, %v: tensor<?x40xf64>, %dy: tensor<?x80xf64>) -> (tensor<?x80xf64>, tensor<?x4xf64>, tensor<?x80xf64>, tensor<?x40xf64>, tensor<?x40xf64>) {
  %starts = hone.input "starts" : tensor<?xi32>
  %y, %n = hone.attention %q, %k, %v, %starts heads 2 kv_heads 1 scale 0.3 : (tensor<?x80xf64>, tensor<?x40xf64>, tensor<?x40xf64>, tensor<?xi32>) -> (tensor<?x80xf64>, tensor<?x4xf64>)
  %dq, %dk, %dv = hone.attention_adjoint %dy, %q, %k, %v, %y, %n, %starts heads 2 kv_heads 1 scale 0.3 : (tensor<?x80xf64>, tensor<?x80xf64>, tensor<?x40xf64>, tensor<?x40xf64>, tensor<?x80xf64>, tensor<?x4xf64>, tensor<?xi32>) -> (tensor<?x80xf64>, tensor<?x40xf64>, tensor<?x40xf64>)
  hone.return %y, %n, %dq, %dk, %dv : tensor<?x80xf64>, tensor<?x4xf64>, tensor<?x80xf64>, tensor<?x40xf64>, tensor<?x40xf64>
}
hone.block @adjoint_bf16(%q: tensor<?x32xbf16>, %k: tensor<?x16xbf16>, %v: tensor<?x16xbf16>, %dy: tensor<?x32xbf16>) -> (tensor<?x32xbf16>, tensor<?x4xf32>, tensor<?x32xbf16>, tensor<?x16xbf16>, tensor<?x16xbf16>) {
  %starts = hone.input "starts" : tensor<?xi32>
  %y, %n = hone.attention %q, %k, %v, %starts heads 2 kv_heads 1 scale 0.3 : (tensor<?x32xbf16>, tensor<?x16xbf16>, tensor<?x16xbf16>, tensor<?xi32>) -> (tensor<?x32xbf16>, tensor<?x4xf32>)
  %dq, %dk, %dv = hone.attention_adjoint %dy, %q, %k, %v, %y, %n, %starts heads 2 kv_heads 1 scale 0.3 : (tensor<?x32xbf16>, tensor<?x32xbf16>, tensor<?x16xbf16>, tensor<?x16xbf16>, tensor<?x32xbf16>, tensor<?x4xf32>, tensor<?xi32>) -> (tensor<?x32xbf16>, tensor<?x16xbf16>, tensor<?x16xbf16>)
  hone.return %y, %n, %dq, %dk, %dv : tensor<?x32xbf16>, tensor<?x4xf32>, tensor<?x32xbf16>, tensor<?x16xbf16>, tensor<?x16xbf16>
}
hone.block @tangent_all(%q: tensor<?x64xf32>, %k: tensor<?x32xf32>, %v: tensor<?x32xf32>, %tq: tensor<?x64xf32>, %tk: tensor<?x32xf32>, %tv: tensor<?x32xf32>) -> (tensor<?x64xf32>) {
  %starts = hone.input "starts" : tensor<?xi32>
  %ty = hone.attention_tangent %q, %k, %v, %starts tq %tq tk %tk tv %tv heads 4 kv_heads 2 scale 0.3 : (tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32>, tensor<?xi32>, tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32>) -> tensor<?x64xf32>
  hone.return %ty : tensor<?x64xf32>
}
hone.block @tangent_values(%q: tensor<?x16xf32>, %k: tensor<?x16xf32>, %v: tensor<?x16xf32>, %tv: tensor<?x16xf32>) -> (tensor<?x16xf32>) {
  %starts = hone.input "starts" : tensor<?xi32>
  %ty = hone.attention_tangent %q, %k, %v, %starts tv %tv heads 2 kv_heads 2 window 9 scale 0.3 : (tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>, tensor<?xi32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  hone.return %ty : tensor<?x16xf32>
}
hone.block @tangent_keys(%q: tensor<?x80xf64>, %k: tensor<?x40xf64>, %v: tensor<?x40xf64>, %tk: tensor<?x40xf64>) -> (tensor<?x80xf64>) {
  %starts = hone.input "starts" : tensor<?xi32>
  %y, %n = hone.attention %q, %k, %v, %starts heads 2 kv_heads 1 scale 0.3 : (tensor<?x80xf64>, tensor<?x40xf64>, tensor<?x40xf64>, tensor<?xi32>) -> (tensor<?x80xf64>, tensor<?x4xf64>)
  %ty = hone.attention_tangent %q, %k, %v, %starts tk %tk normalizer %n heads 2 kv_heads 1 scale 0.3 : (tensor<?x80xf64>, tensor<?x40xf64>, tensor<?x40xf64>, tensor<?xi32>, tensor<?x40xf64>, tensor<?x4xf64>) -> tensor<?x80xf64>
  hone.return %ty : tensor<?x80xf64>
}
hone.block @tangent_kept(%q: tensor<?x16xbf16>, %k: tensor<?x8xbf16>, %v: tensor<?x8xbf16>, %tq: tensor<?x16xbf16>, %tv: tensor<?x8xbf16>) -> (tensor<?x16xbf16>) {
  %starts = hone.input "starts" : tensor<?xi32>
  %y, %n = hone.attention %q, %k, %v, %starts heads 2 kv_heads 1 scale 0.3 : (tensor<?x16xbf16>, tensor<?x8xbf16>, tensor<?x8xbf16>, tensor<?xi32>) -> (tensor<?x16xbf16>, tensor<?x4xf32>)
  %ty = hone.attention_tangent %q, %k, %v, %starts tq %tq tv %tv normalizer %n heads 2 kv_heads 1 scale 0.3 : (tensor<?x16xbf16>, tensor<?x8xbf16>, tensor<?x8xbf16>, tensor<?xi32>, tensor<?x16xbf16>, tensor<?x8xbf16>, tensor<?x4xf32>) -> tensor<?x16xbf16>
  hone.return %ty : tensor<?x16xbf16>
}
}
