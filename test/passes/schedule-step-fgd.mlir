// RUN: hone-opt %s --test-set-method="method=fgd optimizer=sgd directions=2" --hone-schedule-step | FileCheck %s --enable-var-scope
// RUN: not hone-opt %s --test-set-method="method=fgd optimizer=sgd directions=0" --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=NONE

// RUN: hone-opt %s --test-set-method="method=fgd optimizer=sgd direction_scales=1=0.25" --hone-schedule-step --hone-erase-unused --hone-verify-step --hone-place --hone-verify-placement | FileCheck %s --check-prefix=SCALED --enable-var-scope
// RUN: not hone-opt %s --test-set-method="method=fgd optimizer=sgd direction_scales=1=2" --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=BADSCALE

// BADSCALE: train.direction_scales: expected layers and a scale from 0 to 1 such as 0-4=0.15 but found '1=2'
// A scale of each layer is in its directions and in its update.
// SCALED: hone.direction %{{.*}} by %[[KEY:[^ ]*]] scale %[[SCALE:[^ ]*]] :
// SCALED-LABEL: hone.entry @loss.tangent(
// SCALED-SAME: %[[KEY:[^:]+]]: tensor<4xi32>, %[[SCALES:[^:]+]]: tensor<2xf64>)
// SCALED: %[[S1:[^ ]*]] = hone.element %[[SCALES]][1]
// SCALED: hone.call @layer.tangent2 "1."({{.*}}, %[[KEY]], %[[S1]])
// SCALED-LABEL: hone.entry update @update(
// SCALED-SAME: %[[OWN:[^:]+]]: tensor<2xf64>
// SCALED: %[[G1:[^ ]*]] = hone.element %[[OWN]][1]
// SCALED: hone.sgd %[[G1]], {{.*}} on ["1."]
// SCALED-LABEL: hone.entry vector @estimate_gradient(
// SCALED: hone.estimate_gradient along {{.*}} scale %{{.*}} on ["1."]
// SCALED-LABEL: hone.schedule train
// SCALED: %[[RISEN:[^ ]*]] = hone.scalar @scalar.risen_scales
// SCALED: hone.run @loss.tangent(%{{.*}}, %[[RISEN]])
// SCALED: hone.run @update(%[[RISEN]],
// NONE: error: hone.method: expects train.directions to be an integer from 1 to 2047 but got "0"

// The first layer's input has no tangent: its copy takes none, and the next
// layers' are one more copy. The layers before it that train nothing are
// shared.
// CHECK-NOT: @embed.tangent
// CHECK-LABEL: hone.block @layer.tangent2(
// CHECK-SAME: %[[X:[^:]+]]: tensor<?x4xf32>, %[[TX:[^:]+]]: tensor<?x4xf32>, %[[KEY:[^:]+]]: tensor<4xi32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
// CHECK: %[[A:.*]] = hone.parameter "a" trainable
// CHECK: %[[TA:.*]] = hone.direction %[[A]] by %[[KEY]]
// CHECK: %[[B:.*]] = hone.parameter "b" trainable
// CHECK: %[[TB:.*]] = hone.direction %[[B]] by %[[KEY]]
// The op has its auxiliary result, which its tangent reads; a tangent runs after
// its op.
// CHECK: %[[Y:.*]], %[[H:.*]] = hone.lora_linear %[[X]],
// CHECK-NEXT: %[[ALONG:.*]] = hone.lora_linear %[[TX]],
// CHECK-NEXT: %[[PART:.*]] = hone.lora_parameter_tangent %[[X]], %[[A]], %[[B]] ta %[[TA]] tb %[[TB]] h %[[H]]
// CHECK-NEXT: %[[TY:.*]] = hone.add %[[ALONG]], %[[PART]]
// CHECK-NEXT: hone.return %[[Y]], %[[TY]]

// CHECK-LABEL: hone.block @layer.tangent(
// CHECK-SAME: %[[X:[^:]+]]: tensor<?x4xf32>, %[[KEY:[^:]+]]: tensor<4xi32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
// CHECK-NOT: hone.add
// CHECK: hone.return

// The last derivative is a dot product with the loss's own gradient.
// CHECK-LABEL: hone.block @head.tangent(
// CHECK-SAME: %[[X:[^:]+]]: tensor<?x4xf32>, %[[TX:[^:]+]]: tensor<?x4xf32>, %[[KEY:[^:]+]]: tensor<4xi32>) -> (tensor<f64>, tensor<f64>)
// CHECK: %[[LOSS:.*]], %[[DX:.*]] = hone.linear_cross_entropy %[[X]]
// CHECK: %[[SLOPE:.*]] = hone.dot %[[DX]], %[[TX]]
// CHECK: hone.return %[[LOSS]], %[[SLOPE]]

// CHECK-LABEL: hone.entry @loss.tangent(
// CHECK-SAME: %[[KEY:[^:]+]]: tensor<4xi32>) -> (tensor<f64>, tensor<f64>)
// CHECK: %[[X0:.*]] = hone.call @embed ""()
// CHECK: %[[X1:.*]]:2 = hone.call @layer.tangent "0."(%[[X0]], %[[KEY]])
// CHECK: %[[X2:.*]]:2 = hone.call @layer.tangent2 "1."(%[[X1]]#0, %[[X1]]#1, %[[KEY]])
// CHECK: %[[Y:.*]]:2 = hone.call @head.tangent ""(%[[X2]]#0, %[[X2]]#1, %[[KEY]])
// CHECK: hone.return %[[Y]]#0, %[[Y]]#1

// A derivative for each direction, and the update of MeZO.
// CHECK: hone.schedule train
// CHECK: hone.repeat %{{.*}} expected 2 carry (%[[NUMBER:.*]] = %{{.*}}, %[[SLOPES:.*]] = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK: %[[KEY:.*]] = hone.scalar @scalar.direction_key(%{{.*}}, %{{.*}}, %[[NUMBER]])
// CHECK: %[[FOUND:.*]]:2 = hone.run @loss.tangent(%[[KEY]])
// CHECK: hone.scalar @scalar.add_slope(%[[SLOPES]], %[[FOUND]]#1, %[[NUMBER]])
// CHECK: hone.run @update(
// CHECK: hone.schedule replay
module attributes {hone.max_rows = 16 : i64} {
  hone.block @embed() -> tensor<?x4xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "embed_tokens.weight" : tensor<9x4xf32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    hone.return %x : tensor<?x4xf32>
  }
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %y = hone.lora_linear %x, %w, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %y = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %x0 = hone.call @embed "" () : () -> tensor<?x4xf32>
    %x1 = hone.call @layer "0." (%x0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %x2 = hone.call @layer "1." (%x1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %y = hone.call @head "" (%x2) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
}
