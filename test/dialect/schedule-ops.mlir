// RUN: hone-opt %s | hone-opt | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --emit-bytecode | hone-opt | FileCheck %s --enable-var-scope
// RUN: hone-opt %s --mlir-print-op-generic | hone-opt | FileCheck %s --enable-var-scope

// The step as data: entries of all phases, and the items of schedules.

func.func private @zero() -> f64
func.func private @add(f64, f64) -> f64
func.func private @spread(f64, memref<2xf64>)
func.func private @sum(memref<2xf64>) -> f64

hone.block @embed() -> tensor<?x4xf32> {
  %ids = hone.input "input_ids" : tensor<?xi32>
  %table = hone.parameter "embed_tokens.weight" : tensor<9x4xf32>
  %x = hone.embedding %ids, %table
      : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
  hone.return %x : tensor<?x4xf32>
}
hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
  %targets = hone.input "targets" : tensor<?xi32>
  %w = hone.parameter "head.weight" : tensor<9x4xf32>
  %loss = hone.linear_cross_entropy %x, %w, %targets
      : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
  hone.return %loss : tensor<f64>
}
hone.block @gradient() {
  %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
  hone.gradient %a of "a" : tensor<2x4xf32>
  hone.return
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

// CHECK-LABEL: hone.entry of "lower" @lower() -> tensor<?x4xf32> {
hone.entry of "lower" @lower() -> tensor<?x4xf32> {
  %x = hone.call @embed "model." () : () -> tensor<?x4xf32>
  hone.return %x : tensor<?x4xf32>
}

// The phase of an entry is `forward` unless it is said, and not printed then.
// CHECK-LABEL: hone.entry of "upper" @upper(
hone.entry forward of "upper" @upper(%x: tensor<?x4xf32>) -> tensor<f64> {
  %loss = hone.call @head "" (%x) : (tensor<?x4xf32>) -> tensor<f64>
  hone.return %loss : tensor<f64>
}

// CHECK-LABEL: hone.entry tangent @tangent() {
hone.entry tangent @tangent() {
  hone.call @gradient "layers.0." () : () -> ()
}

// CHECK-LABEL: hone.entry gradient @gradients() {
hone.entry gradient @gradients() {
  hone.call @gradient "layers.0." () : () -> ()
}

// CHECK-LABEL: hone.entry backward of "lower" @lower.backward() {
hone.entry backward of "lower" @lower.backward() {
  hone.call @gradient "layers.0." () : () -> ()
}

// CHECK-LABEL: hone.entry update @update(
// CHECK-SAME: %[[G:[^:]*]]: tensor<f64>, %[[L:[^:]*]]: tensor<f64>) {
hone.entry update @update(%g: tensor<f64>, %l: tensor<f64>) {
  // CHECK-NEXT: hone.sgd %[[G]], %[[L]], %[[L]]
  hone.sgd %g, %l, %l
}

// CHECK-LABEL: hone.entry vector @zero_gradient() {
hone.entry vector @zero_gradient() {
  // CHECK-NEXT: hone.zero_gradient{{$}}
  hone.zero_gradient
}

// CHECK-LABEL: hone.entry vector @parameter_squares() -> tensor<1xf64> {
hone.entry vector @parameter_squares() -> tensor<1xf64> {
  // CHECK-NEXT: %[[OFTHETA:.*]] = hone.parameter_squares : tensor<1xf64>
  %squares = hone.parameter_squares : tensor<1xf64>
  // CHECK-NEXT: hone.return %[[OFTHETA]] : tensor<1xf64>
  hone.return %squares : tensor<1xf64>
}

// CHECK-LABEL: hone.entry vector @gradient_squares() -> tensor<1xf64> {
hone.entry vector @gradient_squares() -> tensor<1xf64> {
  // CHECK-NEXT: %[[SQUARES:.*]] = hone.gradient_squares : tensor<1xf64>
  %squares = hone.gradient_squares : tensor<1xf64>
  // CHECK-NEXT: hone.return %[[SQUARES]] : tensor<1xf64>
  hone.return %squares : tensor<1xf64>
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

// CHECK-LABEL: hone.schedule
// CHECK-SAME: {{ *}}train {
hone.schedule train {
  // CHECK-NEXT: %[[RATE:.*]] = hone.setting "learning_rate" : tensor<f64>
  %rate = hone.setting "learning_rate" : tensor<f64>
  // CHECK-NEXT: %[[CHOICE:.*]] = hone.setting "completed" : tensor<i64>
  %choice = hone.setting "completed" : tensor<i64>
  // CHECK-NEXT: %[[BATCH:.*]] = hone.load{{$}}
  %batch = hone.load
  // CHECK-NEXT: hone.run @zero_gradient() : () -> (){{$}}
  hone.run @zero_gradient() : () -> ()
  // CHECK-NEXT: %[[X:.*]] = hone.run @lower() on %[[BATCH]] : () -> tensor<?x4xf32>
  %x = hone.run @lower() on %batch : () -> tensor<?x4xf32>
  // CHECK-NEXT: %[[LOSS:.*]] = hone.run @upper(%[[X]]) on %[[BATCH]] when %[[CHOICE]] else @upper : (tensor<?x4xf32>) -> tensor<f64>
  %loss = hone.run @upper(%x) on %batch when %choice else @upper
      : (tensor<?x4xf32>) -> tensor<f64>
  // CHECK-NEXT: hone.run @gradients() when %[[CHOICE]] : () -> ()
  hone.run @gradients() when %choice : () -> ()
  // CHECK-NEXT: %[[SUM:.*]] = hone.scalar @add(%[[LOSS]], %[[RATE]]) : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %sum = hone.scalar @add(%loss, %rate)
      : (tensor<f64>, tensor<f64>) -> tensor<f64>
  // CHECK-NEXT: %[[BOTH:.*]] = hone.scalar @spread(%[[SUM]]) : (tensor<f64>) -> tensor<2xf64>
  %both = hone.scalar @spread(%sum) : (tensor<f64>) -> tensor<2xf64>
  // CHECK-NEXT: %[[FACTOR:.*]] = hone.scalar @sum(%[[BOTH]]) : (tensor<2xf64>) -> tensor<f64>
  %factor = hone.scalar @sum(%both) : (tensor<2xf64>) -> tensor<f64>
  // CHECK-NEXT: hone.check %[[LOSS]], %[[FACTOR]] : tensor<f64>, tensor<f64>
  hone.check %loss, %factor : tensor<f64>, tensor<f64>
  // CHECK-NEXT: hone.check %[[LOSS]] else "expects as many batches" : tensor<f64>
  hone.check %loss else "expects as many batches" : tensor<f64>
  // CHECK-NEXT: hone.run @update(%[[FACTOR]], %[[RATE]]) : (tensor<f64>, tensor<f64>) -> ()
  hone.run @update(%factor, %rate) : (tensor<f64>, tensor<f64>) -> ()
  // CHECK-NEXT: hone.report %[[LOSS]] as "loss" : tensor<f64>
  hone.report %loss as "loss" : tensor<f64>
  // CHECK-NEXT: }
}

// CHECK-LABEL: hone.schedule
// CHECK-SAME: {{ *}}evaluate {
hone.schedule evaluate {
  // CHECK-NEXT: %[[COUNT:.*]] = hone.setting "batches"
  %count = hone.setting "batches" : tensor<i64>
  // CHECK-NEXT: %[[ZERO:.*]] = hone.scalar @zero()
  %zero = hone.scalar @zero() : () -> tensor<f64>

  // CHECK-NEXT: hone.repeat %[[COUNT]] {
  hone.repeat %count {
    // CHECK-NEXT: hone.repeat %[[COUNT]] {
    hone.repeat %count {
      // CHECK-NEXT: hone.run @zero_gradient()
      hone.run @zero_gradient() : () -> ()
      // CHECK-NEXT: }
    }
    // CHECK-NEXT: }
  }

  // CHECK-NEXT: %[[SUMS:.*]]:2 = hone.repeat %[[COUNT]] carry (%[[A:.*]] = %[[ZERO]], %[[B:.*]] = %[[ZERO]]) : tensor<f64>, tensor<f64> {
  %sums:2 = hone.repeat %count carry (%a = %zero, %b = %zero)
      : tensor<f64>, tensor<f64> {
    // CHECK-NEXT: %[[C:.*]] = hone.scalar @add(%[[A]], %[[B]])
    %c = hone.scalar @add(%a, %b) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    // CHECK-NEXT: %[[D:.*]] = hone.scalar @add(%[[B]], %[[C]])
    %d = hone.scalar @add(%b, %c) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    // CHECK-NEXT: hone.yield %[[D]], %[[C]] : tensor<f64>, tensor<f64>
    hone.yield %d, %c : tensor<f64>, tensor<f64>
    // CHECK-NEXT: }
  }

  // Placement's attributes of a repeat stay with it.
  // CHECK-NEXT: hone.repeat %[[COUNT]] {{.*}}hone.slots = []
  "hone.repeat"(%count) ({
    // CHECK-NEXT: hone.run @zero_gradient()
    hone.run @zero_gradient() : () -> ()
    "hone.yield"() : () -> ()
    // CHECK-NEXT: }
  }) {hone.slots = []} : (tensor<i64>) -> ()

  // CHECK-NEXT: hone.report %[[SUMS]]#1 as "loss" : tensor<f64>
  hone.report %sums#1 as "loss" : tensor<f64>
  // CHECK-NEXT: }
}

// Stages, lanes and exchanges: a pipeline of two parts.
// CHECK-LABEL: hone.schedule
// CHECK-SAME: {{ *}}differentiate {
hone.schedule differentiate {
  // CHECK-NEXT: %[[COUNT:.*]] = hone.setting "batches"
  %count = hone.setting "batches" : tensor<i64>
  // CHECK-NEXT: hone.repeat %[[COUNT]] {
  hone.repeat %count {
    // CHECK-NEXT: %[[EARLY:.*]] = hone.load{{$}}
    %early = hone.load
    // CHECK-NEXT: %[[BATCH:.*]] = hone.load stage 1{{$}}
    %batch = hone.load stage 1
    // CHECK-NEXT: hone.run @zero_gradient() lane 1 : () -> ()
    hone.run @zero_gradient() lane 1 : () -> ()
    // CHECK-NEXT: %[[X:.*]] = hone.receive from "lower" channel "hidden" on %[[BATCH]] stage 1 : tensor<?x4xf32>
    %x = hone.receive from "lower" channel "hidden" on %batch stage 1
        : tensor<?x4xf32>
    // CHECK-NEXT: hone.wait %[[X]] stage 1 : tensor<?x4xf32>
    hone.wait %x stage 1 : tensor<?x4xf32>
    // CHECK-NEXT: %[[LOSS:.*]] = hone.run @upper(%[[X]]) on %[[BATCH]] stage 1 lane 2 : (tensor<?x4xf32>) -> tensor<f64>
    %loss = hone.run @upper(%x) on %batch stage 1 lane 2
        : (tensor<?x4xf32>) -> tensor<f64>
    // CHECK-NEXT: %[[TWICE:.*]] = hone.scalar @add(%[[LOSS]], %[[LOSS]]) stage 1 : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %twice = hone.scalar @add(%loss, %loss) stage 1
        : (tensor<f64>, tensor<f64>) -> tensor<f64>
    // CHECK-NEXT: hone.check %[[TWICE]] stage 1 : tensor<f64>
    hone.check %twice stage 1 : tensor<f64>
    // CHECK-NEXT: hone.send %[[X]] to "lower" channel "cotangent" on %[[BATCH]] stage 2 : tensor<?x4xf32>
    hone.send %x to "lower" channel "cotangent" on %batch stage 2
        : tensor<?x4xf32>
    // CHECK-NEXT: hone.wait %[[X]] stage 2 : tensor<?x4xf32>
    hone.wait %x stage 2 : tensor<?x4xf32>
    // CHECK-NEXT: }
  }
  // CHECK-NEXT: %[[NORM:.*]] = hone.receive from "lower" channel "norm" : tensor<f64>
  %norm = hone.receive from "lower" channel "norm" : tensor<f64>
  // CHECK-NEXT: hone.wait %[[NORM]] : tensor<f64>
  hone.wait %norm : tensor<f64>
  // CHECK-NEXT: hone.send %[[NORM]] to "lower" channel "norm" : tensor<f64>
  hone.send %norm to "lower" channel "norm" : tensor<f64>
  // CHECK-NEXT: hone.wait %[[NORM]] : tensor<f64>
  hone.wait %norm : tensor<f64>
  // CHECK-NEXT: }
}
