// RUN: hone-opt %s --test-set-method="optimizer=sgd" --hone-schedule-step --hone-erase-unused --hone-verify-step | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --test-set-method="optimizer=sgd optimizer_in_backward=true" --hone-schedule-step --hone-erase-unused --hone-verify-step | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --test-set-method="optimizer=sgd" --hone-schedule-step --hone-place="accumulates" --hone-verify-placement | FileCheck %s --check-prefix=INSIDE
// RUN: hone-opt %s --test-set-method="optimizer=sgd" --hone-schedule-step --hone-place --hone-verify-placement | FileCheck %s --check-prefix=AFTER

// Where the entry is told to accumulate, a layer's gradients begin at zero before
// its first sink and are folded after its last; each layer in turn.
// CHECK: hone.entry gradient @gradient(%{{.*}}: tensor<f64>, %[[WHEN:.*]]: tensor<i64>)
// CHECK: %[[D1:.*]] = hone.layer_gradient "layers.1." when %[[WHEN]] : tensor<16xf32>
// CHECK-NEXT: hone.call @layer "layers.1."
// CHECK-NEXT: hone.fold_gradient %[[D1]] : tensor<16xf32>
// CHECK-NEXT: %[[D0:.*]] = hone.layer_gradient "layers.0." when %[[WHEN]] : tensor<16xf32>
// CHECK-NEXT: hone.call @layer "layers.0."
// CHECK-NEXT: hone.fold_gradient %[[D0]] : tensor<16xf32>

// Both layers have one place for it, of one layer: part of the arena where the
// spec accumulates, after it where only the command line may.
// INSIDE: hone.arena_bytes = [[ARENA:[0-9]+]]
// INSIDE: hone.region "accumulation"  accumulation at 256 bytes 64
// INSIDE-COUNT-2: hone.layer_gradient {{.*}}offset = 0, bytes = 64
// AFTER: hone.arena_bytes = [[ARENA:[0-9]+]]
// AFTER: hone.region "accumulation"  accumulation at [[ARENA]] bytes 64
// AFTER-COUNT-2: hone.layer_gradient {{.*}}offset = 0, bytes = 64
module attributes {hone.max_rows = 4 : i64} {
  hone.block @layer() -> tensor<f64> {
    %w = hone.parameter "w" trainable init <zero> : tensor<4x4xf32>
    %x = hone.input "hidden" : tensor<?x4xf32>
    %t = hone.input "targets" : tensor<?xi32>
    %y = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.gradient %w of "w" : tensor<4x4xf32>
    hone.return %y : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %y = hone.call @layer "layers.0." () : () -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry gradient @gradient(%scale: tensor<f64>) -> tensor<f64> {
    %0 = hone.call @layer "layers.1." () : () -> tensor<f64>
    %1 = hone.call @layer "layers.0." () : () -> tensor<f64>
    hone.return %1 : tensor<f64>
  }
}
