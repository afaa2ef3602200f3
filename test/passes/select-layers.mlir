// RUN: hone-opt %s --hone-derive-backward --test-select-layers="slots=1" | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --hone-derive-backward --test-select-layers="slots=1" --hone-erase-unused --hone-verify-step --hone-place --hone-verify-placement --hone-convert-to-tiles | FileCheck %s --check-prefix=TILES --enable-var-scope
// RUN: not hone-opt %s --hone-derive-backward --hone-schedule-step --test-select-layers 2>&1 | FileCheck %s --check-prefix=SCHEDULED
// SCHEDULED: error: 'hone.schedule' op runs entries as they are: select layers before hone-schedule-step

// Conditional calls and a pool put to use: of the layers' backwards those run
// that the mask names, the others let their cotangent through, and as many
// inputs are kept as layers may be selected. A backward that gives no cotangent
// is skipped without anything in its place.

// CHECK: hone.entry gradient @gradient(%{{[^:]*}}: tensor<f64>, %[[MASK:[^:]*]]: tensor<2xi32>, %[[SLOTS:[^:]*]]: tensor<2xi32>)
// CHECK: %[[X0:.*]] = hone.call @start
// CHECK: %[[POOL:.*]] = hone.pool : tensor<1x?x4xf32>
// CHECK: hone.keep %[[X0]] in %[[POOL]] at %[[SLOTS]][0] when %[[MASK]][0]
// CHECK: %[[X1:.*]] = hone.call @first "layers.0."(%[[X0]])
// CHECK: hone.keep %[[X1]] in %[[POOL]] at %[[SLOTS]][1] when %[[MASK]][1]
// CHECK: %[[X2:.*]] = hone.call @layer "layers.1."(%[[X1]])
// CHECK: %[[L:.*]]:2 = hone.call @head.gradient ""(%[[X2]]
// CHECK: %[[K1:.*]] = hone.kept %[[POOL]] at %[[SLOTS]][1]
// CHECK: %[[D1:.*]] = hone.call @layer.backward "layers.1."(%[[K1]], %[[L]]#1) when %[[MASK]][1] : tensor<2xi32> else @pass_through
// CHECK: %[[K0:.*]] = hone.kept %[[POOL]] at %[[SLOTS]][0]
// CHECK: hone.call @first.backward "layers.0."(%[[K0]], %[[D1]]) when %[[MASK]][0] : tensor<2xi32> :

// TILES-LABEL: func.func @hone_entry_gradient
// TILES-COUNT-2: func.call @keep
// TILES: scf.if
// TILES: func.call @layer.backward
// TILES: else
// TILES: func.call @pass_through
module attributes {hone.max_rows = 16 : i64} {
  hone.block @start() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @first(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %z = hone.add %x, %y : tensor<?x4xf32>
    hone.return %z : tensor<?x4xf32>
  }
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %z = hone.add %x, %y : tensor<?x4xf32>
    hone.return %z : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %0 = hone.call @start "" () : () -> tensor<?x4xf32>
    %1 = hone.call @first "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @layer "layers.1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = hone.call @head "" (%2) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %3 : tensor<f64>
  }
}
