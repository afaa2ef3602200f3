// RUN: hone-opt %s --hone-derive-backward --test-select-layers="slots=1" | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --hone-derive-backward --test-select-layers="slots=1" --hone-verify-step --hone-place --hone-verify-placement
// RUN: hone-opt %s --hone-derive-backward --test-select-layers="slots=0" | FileCheck %s --check-prefix=EXACT --enable-var-scope
// RUN: sed 's/ "start.w"/& trainable init <pretrained>/' %s | hone-opt --hone-derive-backward --test-select-layers="slots=0" | FileCheck %s --check-prefix=SOURCE --enable-var-scope

// A layer that trains nothing has no condition of its own: its backward runs
// where a layer below it is selected. Above all that may be selected it always
// does.

// CHECK: hone.entry gradient @gradient(%{{[^:]*}}: tensor<f64>, %[[MASK:[^:]*]]: tensor<3xi32>, %[[SLOTS:[^:]*]]: tensor<3xi32>, %[[REACHES:[^:]*]]: tensor<3xi32>)
// CHECK: hone.call @head.gradient
// CHECK: hone.call @constant.backward "layers.4."(%{{[^)]*}}) :
// CHECK: hone.call @layer.backward "layers.3."{{.*}} when %[[MASK]][2] : tensor<3xi32> else @pass_through{{.*}}
// CHECK: hone.call @constant.backward "layers.2."{{.*}} when %[[REACHES]][1] : tensor<3xi32> else @pass_through{{.*}}
// CHECK: hone.call @layer.backward "layers.1."{{.*}} when %[[MASK]][1] : tensor<3xi32> else @pass_through{{.*}}

// EXACT: hone.entry gradient @gradient(%{{[^:]*}}: tensor<f64>, %[[MASK:[^:]*]]: tensor<3xi32>, %[[REACHES:[^:]*]]: tensor<3xi32>, %[[SKIPS:[^:]*]]: tensor<3xi32>)
// EXACT: hone.call @pass_through{{.*}} "layers.3."{{.*}} when %[[SKIPS]][2] : tensor<3xi32> else @layer.backward.frozen
// EXACT: hone.call @constant.backward "layers.2."{{.*}} when %[[REACHES]][1]

// A parameter below all layers has its gradient in every step.
// SOURCE: hone.entry gradient @gradient(%{{[^:]*}}: tensor<f64>, %[[MASK:[^:]*]]: tensor<3xi32>)
// SOURCE: hone.call @layer.backward "layers.3."{{.*}} when %[[MASK]][2] : tensor<3xi32> else @layer.backward.frozen
// SOURCE: hone.call @constant.backward "layers.2."(%{{[^)]*}}) :
// SOURCE: hone.call @layer.backward "layers.1."{{.*}} when %[[MASK]][1] : tensor<3xi32> else @layer.backward.frozen
module attributes {hone.max_rows = 16 : i64} {
  hone.block @start() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %w = hone.parameter "start.w" : tensor<4x4xf32>
    %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
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
  hone.block @constant(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
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
    %3 = hone.call @constant "layers.2." (%2) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %4 = hone.call @layer "layers.3." (%3) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %5 = hone.call @constant "layers.4." (%4) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %6 = hone.call @head "" (%5) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %6 : tensor<f64>
  }
}
