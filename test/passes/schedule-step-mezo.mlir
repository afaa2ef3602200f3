// RUN: hone-opt %s --test-set-method="method=mezo optimizer=sgd directions=3" --hone-schedule-step | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --test-set-method="method=mezo optimizer=sgd directions=3" --hone-schedule-step --hone-erase-unused --hone-verify-step --hone-place --hone-verify-placement | FileCheck %s --check-prefix=PLACED
// RUN: hone-opt %s --test-set-method="method=mezo optimizer=adamw" --hone-schedule-step | FileCheck %s --check-prefix=ADAMW
// RUN: not hone-opt %s --test-set-method="method=mezo directions=2048" --hone-schedule-step 2>&1 | FileCheck %s --check-prefix=MANY

// MANY: error: hone.method: expects train.directions to be an integer from 1 to 2047 but got "2048"

// A block without trainable parameters is shared; of one with some there is a copy
// in which all that read them read where they are moved to.
// CHECK-NOT: @embed.perturbed
// CHECK-LABEL: hone.block @head.perturbed(
// CHECK-SAME: %[[X:[^:]+]]: tensor<?x4xf32>, %[[KEY:[^:]+]]: tensor<4xi32>, %[[SCALE:[^:]+]]: tensor<f64>)
// CHECK: %[[W:.*]] = hone.parameter "lm_head.weight" trainable
// CHECK: %[[MOVED:.*]] = hone.perturbed %[[W]] by %[[KEY]] scale %[[SCALE]]
// CHECK: hone.linear_cross_entropy %[[X]], %[[MOVED]],

// CHECK-LABEL: hone.entry @loss.perturbed(
// CHECK-SAME: %[[KEY:[^:]+]]: tensor<4xi32>, %[[SCALE:[^:]+]]: tensor<f64>)
// CHECK: %[[H:.*]] = hone.call @embed "model."()
// CHECK: hone.call @head.perturbed ""(%[[H]], %[[KEY]], %[[SCALE]])

// The optimizer has its gradient along directions: all that there is of it is a
// key and a coefficient for each.
// CHECK-LABEL: hone.entry update @update(
// CHECK-SAME: %[[G:[^:]+]]: tensor<f64>, %[[L:[^:]+]]: tensor<f64>, %[[D:[^:]+]]: tensor<f64>, %[[KEY:[^:]+]]: tensor<4xi32>, %[[C:[^:]+]]: tensor<3xf32>)
// CHECK: hone.sgd %[[G]], %[[L]], %[[D]] along %[[KEY]], %[[C]] : tensor<3xf32>
// ADAMW: hone.adamw {{.*}} along %{{.*}}, %{{.*}} : tensor<1xf32>

// Each batch is loaded once and has all probes; they have the same directions for
// every batch, since step and probe make the key. The update stands after the
// check of all losses.
// CHECK: hone.schedule train
// CHECK: hone.repeat %{{.*}} carry (%[[SUMS:.*]] = %{{.*}}, %[[LOSSES:.*]] = %{{.*}}) : tensor<3xf64>, tensor<f64>
// CHECK-NEXT: %[[BATCH:.*]] = hone.load
// CHECK-NEXT: hone.repeat %{{.*}} expected 6 carry (%[[PROBE:.*]] = %{{.*}}, %{{.*}} = %[[SUMS]], %{{.*}} = %[[LOSSES]])
// CHECK: %[[KEY:.*]] = hone.scalar @scalar.probe_key(%{{.*}}, %{{.*}}, %[[PROBE]])
// CHECK: %[[SHIFT:.*]] = hone.scalar @scalar.probe_shift(%{{.*}}, %[[PROBE]])
// CHECK: hone.run @loss.perturbed(%[[KEY]], %[[SHIFT]]) on %[[BATCH]]
// CHECK: %[[FOUND:.*]] = hone.scalar @scalar.slopes(
// CHECK: hone.check
// CHECK: hone.run @update({{.*}}, %[[FOUND]])
// CHECK: hone.report %[[FOUND]] as "coefficients" : tensor<3xf32>

// An update can be made again from its report.
// CHECK: hone.schedule replay
// CHECK-NOT: hone.load
// CHECK: %[[GIVEN:.*]] = hone.setting "coefficients" : tensor<3xf32>
// CHECK: hone.run @update({{.*}}, %[[GIVEN]])

// No step has a gradient in memory: the gradients of --dump-gradients are after
// the arena.
// PLACED: module attributes {hone.arena_bytes = [[ARENA:[0-9]+]]
// PLACED-NOT: hone.region "state
// PLACED: hone.region "gradient" gradient at [[ARENA]]
module attributes {hone.max_rows = 16 : i64} {
  hone.block @embed() -> tensor<?x4xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "embed_tokens.weight" : tensor<9x4xf32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    hone.return %x : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" trainable init <zero> : tensor<9x4xf32>
    %y = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %x = hone.call @embed "model."() : () -> tensor<?x4xf32>
    %y = hone.call @head "" (%x) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
}
