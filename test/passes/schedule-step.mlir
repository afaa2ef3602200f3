// RUN: hone-opt %s --hone-schedule-step | FileCheck %s --enable-var-scope --check-prefixes=CHECK,ADAMW
// RUN: hone-opt %s --test-set-method="optimizer=adamw" --hone-schedule-step | FileCheck %s --enable-var-scope --check-prefixes=CHECK,ADAMW
// RUN: hone-opt %s --test-set-method="optimizer=sgd" --hone-schedule-step | FileCheck %s --enable-var-scope --check-prefixes=CHECK,SGD
// RUN: hone-opt %s --test-set-method="optimizer=sgd momentum=0.9" --hone-schedule-step | FileCheck %s --enable-var-scope --check-prefixes=CHECK,MOMENTUM

// Each optimizer is one op whose scalars are arguments of the entry: rates and
// corrections are run-time values, the method is compiled in.

// ADAMW-LABEL: hone.entry update @update(
// ADAMW-SAME: %[[SCALE:[^:]+]]: tensor<f64>, %[[RATE:[^:]+]]: tensor<f64>, %[[DECAY:[^:]+]]: tensor<f64>, %[[BETA1:[^:]+]]: tensor<f64>, %[[BETA2:[^:]+]]: tensor<f64>, %[[EPSILON:[^:]+]]: tensor<f64>, %[[C1:[^:]+]]: tensor<f64>, %[[C2:[^:]+]]: tensor<f64>) {
// ADAMW-NEXT: hone.adamw %[[SCALE]], %[[RATE]], %[[DECAY]], %[[BETA1]], %[[BETA2]], %[[EPSILON]], %[[C1]], %[[C2]]{{$}}

// SGD-LABEL: hone.entry update @update(
// SGD-SAME: %[[SCALE:[^:]+]]: tensor<f64>, %[[RATE:[^:]+]]: tensor<f64>, %[[DECAY:[^:]+]]: tensor<f64>) {
// SGD-NEXT: hone.sgd %[[SCALE]], %[[RATE]], %[[DECAY]]{{$}}

// MOMENTUM-LABEL: hone.entry update @update(
// MOMENTUM-SAME: %[[SCALE:[^:]+]]: tensor<f64>, %[[RATE:[^:]+]]: tensor<f64>, %[[DECAY:[^:]+]]: tensor<f64>, %[[MOMENTUM:[^:]+]]: tensor<f64>) {
// MOMENTUM-NEXT: hone.sgd %[[SCALE]], %[[RATE]], %[[DECAY]] momentum %[[MOMENTUM]]{{$}}

// A step is the gradient of all its batches, from zero: the first one's in place,
// the others' each from zero and then folded; its norm; a check that both are
// finite; the clipped update after it; and the report. The order of these items
// is the method.

// CHECK: hone.schedule train
// CHECK: %[[BATCHES:.*]] = hone.setting "batches" : tensor<i64>
// CHECK: %[[TARGETS:.*]] = hone.setting "targets"
// CHECK: %[[WEIGHT:.*]] = hone.scalar @scalar.inverse(%[[TARGETS]])
// CHECK: hone.run @zero_gradient()
// CHECK: %[[NO:.*]] = hone.scalar @scalar.false()
// CHECK: %[[YES:.*]] = hone.scalar @scalar.true()
// CHECK: %[[SUM:.*]]:2 = hone.repeat %[[BATCHES]] carry (%[[FOLDS:.*]] = %[[NO]], %[[BEFORE:.*]] = %{{.*}}) : tensor<i64>, tensor<f64>
// CHECK-NEXT: %[[BATCH:.*]] = hone.load
// CHECK-NEXT: %[[LOSS:.*]] = hone.run @gradient(%[[WEIGHT]], %[[FOLDS]]) on %[[BATCH]]
// CHECK-NEXT: %[[AFTER:.*]] = hone.scalar @scalar.add(%[[BEFORE]], %[[LOSS]])
// CHECK-NEXT: hone.yield %[[YES]], %[[AFTER]]
// CHECK: %[[MEAN:.*]] = hone.scalar @scalar.multiply(%[[SUM]]#1, %[[WEIGHT]])
// CHECK: %[[SQUARES:.*]] = hone.run @gradient_squares() : () -> tensor<1xf64>
// CHECK: %[[NORM:.*]] = hone.scalar @scalar.norm(%[[SQUARES]])
// CHECK: hone.check %[[MEAN]], %[[NORM]]
// CHECK: %[[MOST:.*]] = hone.setting "max_grad_norm"
// CHECK: %[[CLIP:.*]] = hone.scalar @scalar.clip(%[[NORM]], %[[MOST]])
// CHECK: %[[STEPRATE:.*]] = hone.scalar @scalar.learning_rate(
// CHECK: %[[STEPDECAY:.*]] = hone.setting "weight_decay"

// ADAMW: %[[B1:.*]] = hone.setting "adam_beta1"
// ADAMW: %[[B2:.*]] = hone.setting "adam_beta2"
// ADAMW: %[[E:.*]] = hone.setting "adam_epsilon"
// ADAMW: %[[K1:.*]] = hone.scalar @scalar.bias_correction(%[[B1]],
// ADAMW: %[[K2:.*]] = hone.scalar @scalar.bias_correction(%[[B2]],
// ADAMW: hone.run @update(%[[CLIP]], %[[STEPRATE]], %[[STEPDECAY]], %[[B1]], %[[B2]], %[[E]], %[[K1]], %[[K2]])
// SGD: hone.run @update(%[[CLIP]], %[[STEPRATE]], %[[STEPDECAY]])
// MOMENTUM: %[[M:.*]] = hone.setting "momentum"
// MOMENTUM: hone.run @update(%[[CLIP]], %[[STEPRATE]], %[[STEPDECAY]], %[[M]])

// CHECK-NEXT: hone.report %[[MEAN]] as "loss"
// CHECK-NEXT: hone.report %[[NORM]] as "gradient_norm"
// CHECK-NEXT: hone.report %[[STEPRATE]] as "learning_rate"
// CHECK-NEXT: }

// Evaluation sums the results of @loss over all batches, and changes nothing.

// CHECK: hone.schedule evaluate
// CHECK: %[[ESUM:.*]] = hone.repeat
// CHECK-NEXT: %[[EBATCH:.*]] = hone.load
// CHECK-NEXT: %[[ELOSS:.*]] = hone.run @loss() on %[[EBATCH]]
// CHECK-NOT: hone.run
// CHECK: %[[ETARGETS:.*]] = hone.setting "targets"
// CHECK-NEXT: %[[EMEAN:.*]] = hone.scalar @scalar.divide(%[[ESUM]], %[[ETARGETS]])
// CHECK-NEXT: hone.report %[[EMEAN]] as "loss"

// Differentiation is a step without its update.

// CHECK: hone.schedule differentiate
// CHECK: hone.run @zero_gradient()
// CHECK: hone.run @gradient(
// CHECK: hone.report %{{.*}} as "loss"
// CHECK: hone.run @gradient_squares()
// CHECK-NOT: hone.run
// CHECK: hone.report %{{.*}} as "gradient_norm"

// Validation changes nothing: the norm of the parameters has to be finite.

// CHECK: hone.schedule validate
// CHECK-NEXT: %[[PSQUARES:.*]] = hone.run @parameter_squares() : () -> tensor<1xf64>
// CHECK-NEXT: %[[PNORM:.*]] = hone.scalar @scalar.norm(%[[PSQUARES]])
// CHECK-NEXT: hone.check %[[PNORM]]
// CHECK-NEXT: hone.report %[[PNORM]] as "parameter_norm"
// CHECK-NEXT: }
module {
  hone.block @head() -> tensor<f64> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "w" trainable init <zero> : tensor<9x4xf32>
    %y = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %y = hone.call @head "" () : () -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry gradient @gradient(%scale: tensor<f64>) -> tensor<f64> {
    %y = hone.call @head "" () : () -> tensor<f64>
    hone.return %y : tensor<f64>
  }
}
