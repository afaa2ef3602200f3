// RUN: hone-opt %s --split-input-file --hone-place --hone-verify-placement | FileCheck %s --enable-var-scope

// Methods as schedules: each is data, and how many iterations hold a value at
// once follows from the stages at which it is made and read. The computations
// of entries are not of interest here; they have the arguments and results that
// the method needs, and are otherwise as small as they can be.

// The gradient is summed over micro-batches, clipped and applied. One micro-batch
// is in memory at a time.
// CHECK-LABEL: module @plain
// CHECK: hone.schedule train
// CHECK: hone.load {hone.slots = [#hone.slot<{{[^>]*}}last = {{[0-9]+}}>]}
// CHECK: hone.run @gradient
// CHECK: hone.run @squares
// CHECK: hone.check
// CHECK: hone.run @update
module @plain attributes {hone.max_rows = 16 : i64} {
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
  hone.entry gradient @gradient() -> tensor<f64> {
    %x = hone.call @embed "model." () : () -> tensor<?x4xf32>
    %y = hone.call @head "" (%x) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry vector @clear() {
    hone.zero_gradient
  }
  hone.entry vector @squares() -> tensor<1xf64> {
    %0 = hone.gradient_squares : tensor<1xf64>
    hone.return %0 : tensor<1xf64>
  }
  hone.entry update @update(%rate: tensor<f64>, %clip: tensor<f64>) {
    hone.sgd %clip, %rate, %rate
  }
  func.func private @zero() -> f64 {
    %0 = arith.constant 0.0 : f64
    return %0 : f64
  }
  func.func private @add(%a: f64, %b: f64) -> f64 {
    %0 = arith.addf %a, %b : f64
    return %0 : f64
  }
  func.func private @norm(%squares: memref<1xf64>) -> f64 {
    %at = arith.constant 0 : index
    %0 = memref.load %squares[%at] : memref<1xf64>
    %1 = math.sqrt %0 : f64
    return %1 : f64
  }
  func.func private @clip(%norm: f64, %most: f64) -> f64 {
    %0 = arith.divf %most, %norm : f64
    %one = arith.constant 1.0 : f64
    %1 = arith.minnumf %0, %one : f64
    return %1 : f64
  }
  hone.schedule train {
    %batches = hone.setting "batches" : tensor<i64>
    %rate = hone.setting "learning_rate" : tensor<f64>
    %most = hone.setting "max_grad_norm" : tensor<f64>
    hone.run @clear() : () -> ()
    %none = hone.scalar @zero() : () -> tensor<f64>
    %loss = hone.repeat %batches carry (%before = %none) : tensor<f64> {
      %batch = hone.load
      %one = hone.run @gradient() on %batch : () -> tensor<f64>
      %after = hone.scalar @add(%before, %one) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      hone.yield %after : tensor<f64>
    }
    %squares = hone.run @squares() : () -> tensor<1xf64>
    %norm = hone.scalar @norm(%squares) : (tensor<1xf64>) -> tensor<f64>
    hone.check %loss, %norm : tensor<f64>, tensor<f64>
    %clip = hone.scalar @clip(%norm, %most) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    hone.run @update(%rate, %clip) : (tensor<f64>, tensor<f64>) -> ()
  }
}

// -----

// MeZO: 2P forwards of one batch, two for a direction; the update needs the
// differences of their losses and nothing else. Probes follow one another, so
// nothing is held twice.
// CHECK-LABEL: module @mezo
// CHECK: hone.schedule train
// CHECK-NOT: count =
// CHECK: hone.load {hone.slots = [#hone.slot<{{[^>]*}}last = {{[0-9]+}}>]}
// CHECK: hone.repeat
// CHECK-NOT: count =
// CHECK: hone.run @probe
// CHECK-NOT: count =
// CHECK: hone.run @update
module @mezo attributes {hone.max_rows = 16 : i64} {
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
  hone.entry @probe(%key: tensor<4xi32>, %shift: tensor<f64>) -> tensor<f64> {
    %x = hone.call @embed "model." () : () -> tensor<?x4xf32>
    %y = hone.call @head "" (%x) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry update @update(%rate: tensor<f64>, %step: tensor<i64>, %coefficients: tensor<10xf64>) {
    hone.sgd %rate, %rate, %rate
  }
  func.func private @first() -> i64 {
    %0 = arith.constant 0 : i64
    return %0 : i64
  }
  func.func private @next(%i: i64) -> i64 {
    %one = arith.constant 1 : i64
    %0 = arith.addi %i, %one : i64
    return %0 : i64
  }
  // Two probes have one direction.
  func.func private @pair(%q: i64) -> i64 {
    %one = arith.constant 1 : i64
    %0 = arith.shrui %q, %one : i64
    return %0 : i64
  }
  // Of a probe: the step and the probe's number.
  func.func private @key(%step: i64, %probe: i64, %key: memref<4xi32>) {
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %0 = arith.trunci %step : i64 to i32
    %1 = arith.trunci %probe : i64 to i32
    memref.store %0, %key[%i0] : memref<4xi32>
    memref.store %1, %key[%i1] : memref<4xi32>
    return
  }
  // +epsilon for even probes, -epsilon for odd ones.
  func.func private @signed(%epsilon: f64, %q: i64) -> f64 {
    %one = arith.constant 1 : i64
    %zero = arith.constant 0 : i64
    %bit = arith.andi %q, %one : i64
    %is_even = arith.cmpi eq, %bit, %zero : i64
    %minus = arith.negf %epsilon : f64
    %0 = arith.select %is_even, %epsilon, %minus : f64
    return %0 : f64
  }
  func.func private @nothing(%losses: memref<20xf64>) {
    %none = arith.constant 0.0 : f64
    %from = arith.constant 0 : index
    %one = arith.constant 1 : index
    %to = arith.constant 20 : index
    scf.for %i = %from to %to step %one {
      memref.store %none, %losses[%i] : memref<20xf64>
    }
    return
  }
  // What `before` has, with `x` at `i`.
  func.func private @put(%x: f64, %i: i64, %before: memref<20xf64>, %after: memref<20xf64>) {
    memref.copy %before, %after : memref<20xf64> to memref<20xf64>
    %at = arith.index_cast %i : i64 to index
    memref.store %x, %after[%at] : memref<20xf64>
    return
  }
  // (loss 2p - loss 2p + 1) / (2 P epsilon)
  func.func private @coefficients(%losses: memref<20xf64>, %epsilon: f64, %coefficients: memref<10xf64>) {
    %from = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %to = arith.constant 10 : index
    %pairs = arith.constant 20.0 : f64
    %scale = arith.mulf %pairs, %epsilon : f64
    scf.for %p = %from to %to step %one {
      %plus_at = arith.muli %p, %two : index
      %minus_at = arith.addi %plus_at, %one : index
      %plus = memref.load %losses[%plus_at] : memref<20xf64>
      %minus = memref.load %losses[%minus_at] : memref<20xf64>
      %difference = arith.subf %plus, %minus : f64
      %c = arith.divf %difference, %scale : f64
      memref.store %c, %coefficients[%p] : memref<10xf64>
    }
    return
  }
  hone.schedule train {
    %probes = hone.setting "probes" : tensor<i64>
    %step = hone.setting "completed" : tensor<i64>
    %rate = hone.setting "learning_rate" : tensor<f64>
    %epsilon = hone.setting "epsilon" : tensor<f64>
    %batch = hone.load
    %first = hone.scalar @first() : () -> tensor<i64>
    %none = hone.scalar @nothing() : () -> tensor<20xf64>
    %end, %losses = hone.repeat %probes carry (%q = %first, %before = %none) : tensor<i64>, tensor<20xf64> {
      %pair = hone.scalar @pair(%q) : (tensor<i64>) -> tensor<i64>
      %key = hone.scalar @key(%step, %pair) : (tensor<i64>, tensor<i64>) -> tensor<4xi32>
      %shift = hone.scalar @signed(%epsilon, %q) : (tensor<f64>, tensor<i64>) -> tensor<f64>
      %loss = hone.run @probe(%key, %shift) on %batch : (tensor<4xi32>, tensor<f64>) -> tensor<f64>
      %after = hone.scalar @put(%loss, %q, %before) : (tensor<f64>, tensor<i64>, tensor<20xf64>) -> tensor<20xf64>
      %next = hone.scalar @next(%q) : (tensor<i64>) -> tensor<i64>
      hone.yield %next, %after : tensor<i64>, tensor<20xf64>
    }
    %coefficients = hone.scalar @coefficients(%losses, %epsilon) : (tensor<20xf64>, tensor<f64>) -> tensor<10xf64>
    hone.run @update(%rate, %step, %coefficients) : (tensor<f64>, tensor<i64>, tensor<10xf64>) -> ()
  }
}

// -----

// FGD: a derivative along each direction; the update is their sum.
// CHECK-LABEL: module @fgd
// CHECK: hone.schedule train
// CHECK-NOT: count =
// CHECK: hone.repeat
// CHECK-NOT: count =
// CHECK: hone.run @tangent
// CHECK-NOT: count =
// CHECK: hone.run @update
module @fgd attributes {hone.max_rows = 16 : i64} {
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
  hone.entry tangent @tangent(%key: tensor<4xi32>) -> tensor<f64> {
    %x = hone.call @embed "model." () : () -> tensor<?x4xf32>
    %y = hone.call @head "" (%x) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry update @update(%rate: tensor<f64>, %step: tensor<i64>, %derivatives: tensor<20xf64>) {
    hone.sgd %rate, %rate, %rate
  }
  func.func private @first() -> i64 {
    %0 = arith.constant 0 : i64
    return %0 : i64
  }
  func.func private @next(%i: i64) -> i64 {
    %one = arith.constant 1 : i64
    %0 = arith.addi %i, %one : i64
    return %0 : i64
  }
  // Of a probe: the step and the probe's number.
  func.func private @key(%step: i64, %probe: i64, %key: memref<4xi32>) {
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %0 = arith.trunci %step : i64 to i32
    %1 = arith.trunci %probe : i64 to i32
    memref.store %0, %key[%i0] : memref<4xi32>
    memref.store %1, %key[%i1] : memref<4xi32>
    return
  }
  func.func private @nothing(%losses: memref<20xf64>) {
    %none = arith.constant 0.0 : f64
    %from = arith.constant 0 : index
    %one = arith.constant 1 : index
    %to = arith.constant 20 : index
    scf.for %i = %from to %to step %one {
      memref.store %none, %losses[%i] : memref<20xf64>
    }
    return
  }
  // What `before` has, with `x` at `i`.
  func.func private @put(%x: f64, %i: i64, %before: memref<20xf64>, %after: memref<20xf64>) {
    memref.copy %before, %after : memref<20xf64> to memref<20xf64>
    %at = arith.index_cast %i : i64 to index
    memref.store %x, %after[%at] : memref<20xf64>
    return
  }
  hone.schedule train {
    %directions = hone.setting "directions" : tensor<i64>
    %step = hone.setting "completed" : tensor<i64>
    %rate = hone.setting "learning_rate" : tensor<f64>
    %batch = hone.load
    %first = hone.scalar @first() : () -> tensor<i64>
    %none = hone.scalar @nothing() : () -> tensor<20xf64>
    %end, %derivatives = hone.repeat %directions carry (%d = %first, %before = %none) : tensor<i64>, tensor<20xf64> {
      %key = hone.scalar @key(%step, %d) : (tensor<i64>, tensor<i64>) -> tensor<4xi32>
      %j = hone.run @tangent(%key) on %batch : (tensor<4xi32>) -> tensor<f64>
      %after = hone.scalar @put(%j, %d, %before) : (tensor<f64>, tensor<i64>, tensor<20xf64>) -> tensor<20xf64>
      %next = hone.scalar @next(%d) : (tensor<i64>) -> tensor<i64>
      hone.yield %next, %after : tensor<i64>, tensor<20xf64>
    }
    hone.run @update(%rate, %step, %derivatives) : (tensor<f64>, tensor<i64>, tensor<20xf64>) -> ()
  }
}

// -----

// HOSL's client: a probe's message travels while the next probe runs, so two
// hidden states are held. The unperturbed one comes last. It updates only if
// the server says that all losses are finite.
// CHECK-LABEL: module @hosl_client
// CHECK: hone.schedule train
// CHECK: hone.repeat
// CHECK: %[[H:.*]] = hone.run @lower.probe({{.*}}hone.slots = [#hone.slot<{{[^>]*}}count = 2>]
// CHECK: hone.send %[[H]] to "upper" channel "hidden"
// CHECK: hone.wait %[[H]] stage 1
// CHECK: %[[LAST:.*]] = hone.run @lower.forward({{.*}}hone.slots = [#hone.slot<{{[^>]*}}last = {{[0-9]+}}>]
// CHECK: hone.send %[[LAST]] to "upper" channel "hidden"
// CHECK: hone.run @lower.update({{.*}} when
module @hosl_client attributes {hone.max_rows = 16 : i64} {
  hone.block @embed() -> tensor<?x4xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "embed_tokens.weight" : tensor<9x4xf32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    hone.return %x : tensor<?x4xf32>
  }
  hone.entry of "lower" @lower.probe(%key: tensor<4xi32>, %shift: tensor<f64>) -> tensor<?x4xf32> {
    %x = hone.call @embed "model." () : () -> tensor<?x4xf32>
    hone.return %x : tensor<?x4xf32>
  }
  hone.entry of "lower" @lower.forward() -> tensor<?x4xf32> {
    %x = hone.call @embed "model." () : () -> tensor<?x4xf32>
    hone.return %x : tensor<?x4xf32>
  }
  hone.entry update of "lower" @lower.update(%rate: tensor<f64>, %step: tensor<i64>, %coefficients: tensor<10xf64>) {
    hone.sgd %rate, %rate, %rate
  }
  func.func private @first() -> i64 {
    %0 = arith.constant 0 : i64
    return %0 : i64
  }
  func.func private @next(%i: i64) -> i64 {
    %one = arith.constant 1 : i64
    %0 = arith.addi %i, %one : i64
    return %0 : i64
  }
  // Two probes have one direction.
  func.func private @pair(%q: i64) -> i64 {
    %one = arith.constant 1 : i64
    %0 = arith.shrui %q, %one : i64
    return %0 : i64
  }
  // Of a probe: the step and the probe's number.
  func.func private @key(%step: i64, %probe: i64, %key: memref<4xi32>) {
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %0 = arith.trunci %step : i64 to i32
    %1 = arith.trunci %probe : i64 to i32
    memref.store %0, %key[%i0] : memref<4xi32>
    memref.store %1, %key[%i1] : memref<4xi32>
    return
  }
  // +epsilon for even probes, -epsilon for odd ones.
  func.func private @signed(%epsilon: f64, %q: i64) -> f64 {
    %one = arith.constant 1 : i64
    %zero = arith.constant 0 : i64
    %bit = arith.andi %q, %one : i64
    %is_even = arith.cmpi eq, %bit, %zero : i64
    %minus = arith.negf %epsilon : f64
    %0 = arith.select %is_even, %epsilon, %minus : f64
    return %0 : f64
  }
  // (loss 2p - loss 2p + 1) / (2 P epsilon)
  func.func private @coefficients(%losses: memref<20xf64>, %epsilon: f64, %coefficients: memref<10xf64>) {
    %from = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %to = arith.constant 10 : index
    %pairs = arith.constant 20.0 : f64
    %scale = arith.mulf %pairs, %epsilon : f64
    scf.for %p = %from to %to step %one {
      %plus_at = arith.muli %p, %two : index
      %minus_at = arith.addi %plus_at, %one : index
      %plus = memref.load %losses[%plus_at] : memref<20xf64>
      %minus = memref.load %losses[%minus_at] : memref<20xf64>
      %difference = arith.subf %plus, %minus : f64
      %c = arith.divf %difference, %scale : f64
      memref.store %c, %coefficients[%p] : memref<10xf64>
    }
    return
  }
  hone.schedule train {
    %probes = hone.setting "probes" : tensor<i64>
    %step = hone.setting "completed" : tensor<i64>
    %rate = hone.setting "learning_rate" : tensor<f64>
    %epsilon = hone.setting "epsilon" : tensor<f64>
    %batch = hone.load
    %first = hone.scalar @first() : () -> tensor<i64>
    %end = hone.repeat %probes carry (%q = %first) : tensor<i64> {
      %pair = hone.scalar @pair(%q) : (tensor<i64>) -> tensor<i64>
      %key = hone.scalar @key(%step, %pair) : (tensor<i64>, tensor<i64>) -> tensor<4xi32>
      %shift = hone.scalar @signed(%epsilon, %q) : (tensor<f64>, tensor<i64>) -> tensor<f64>
      %h = hone.run @lower.probe(%key, %shift) on %batch : (tensor<4xi32>, tensor<f64>) -> tensor<?x4xf32>
      hone.send %h to "upper" channel "hidden" on %batch : tensor<?x4xf32>
      hone.wait %h stage 1 : tensor<?x4xf32>
      %next = hone.scalar @next(%q) : (tensor<i64>) -> tensor<i64>
      hone.yield %next : tensor<i64>
    }
    %last = hone.run @lower.forward() on %batch : () -> tensor<?x4xf32>
    hone.send %last to "upper" channel "hidden" on %batch : tensor<?x4xf32>
    %losses = hone.receive from "upper" channel "losses" : tensor<20xf64>
    %are_finite = hone.receive from "upper" channel "are_finite" : tensor<i64>
    hone.wait %last : tensor<?x4xf32>
    hone.wait %losses : tensor<20xf64>
    hone.wait %are_finite : tensor<i64>
    %coefficients = hone.scalar @coefficients(%losses, %epsilon) : (tensor<20xf64>, tensor<f64>) -> tensor<10xf64>
    hone.run @lower.update(%rate, %step, %coefficients) when %are_finite : (tensor<f64>, tensor<i64>, tensor<10xf64>) -> ()
  }
}

// -----

// HOSL's server: the next hidden state arrives while a probe runs, so two are
// held. The gradient is at the unperturbed one, and updates stand after the
// numbers that both parts agree on.
// CHECK-LABEL: module @hosl_server
// CHECK: hone.schedule train
// CHECK: hone.repeat
// CHECK: %[[H:.*]] = hone.receive from "lower" channel "hidden"{{.*}}hone.slots = [#hone.slot<{{[^>]*}}count = 2>]
// CHECK: hone.wait %[[H]] stage 1
// CHECK: hone.run @upper.forward(%[[H]])
// CHECK: %[[LAST:.*]] = hone.receive from "lower" channel "hidden"{{.*}}hone.slots = [#hone.slot<{{[^>]*}}last = {{[0-9]+}}>]
// CHECK: hone.run @upper.gradient(%[[LAST]])
// CHECK: hone.send %{{.*}} to "lower" channel "losses"
// CHECK: hone.run @upper.update({{.*}} when
module @hosl_server attributes {hone.max_rows = 16 : i64} {
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" trainable init <zero> : tensor<9x4xf32>
    %y = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry of "upper" @upper.forward(%h: tensor<?x4xf32>) -> tensor<f64> {
    %y = hone.call @head "" (%h) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry gradient of "upper" @upper.gradient(%h: tensor<?x4xf32>) -> tensor<f64> {
    %y = hone.call @head "" (%h) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry vector of "upper" @upper.clear() {
    hone.zero_gradient
  }
  hone.entry update of "upper" @upper.update(%rate: tensor<f64>) {
    hone.sgd %rate, %rate, %rate
  }
  func.func private @first() -> i64 {
    %0 = arith.constant 0 : i64
    return %0 : i64
  }
  func.func private @next(%i: i64) -> i64 {
    %one = arith.constant 1 : i64
    %0 = arith.addi %i, %one : i64
    return %0 : i64
  }
  func.func private @nothing(%losses: memref<20xf64>) {
    %none = arith.constant 0.0 : f64
    %from = arith.constant 0 : index
    %one = arith.constant 1 : index
    %to = arith.constant 20 : index
    scf.for %i = %from to %to step %one {
      memref.store %none, %losses[%i] : memref<20xf64>
    }
    return
  }
  // What `before` has, with `x` at `i`.
  func.func private @put(%x: f64, %i: i64, %before: memref<20xf64>, %after: memref<20xf64>) {
    memref.copy %before, %after : memref<20xf64> to memref<20xf64>
    %at = arith.index_cast %i : i64 to index
    memref.store %x, %after[%at] : memref<20xf64>
    return
  }
  func.func private @are_finite(%losses: memref<20xf64>) -> i64 {
    %no = arith.constant 0 : i64
    %yes = arith.constant 1 : i64
    %none = arith.constant 0.0 : f64
    %from = arith.constant 0 : index
    %one = arith.constant 1 : index
    %to = arith.constant 20 : index
    %all = scf.for %i = %from to %to step %one iter_args(%before = %yes) -> i64 {
      %loss = memref.load %losses[%i] : memref<20xf64>
      %difference = arith.subf %loss, %loss : f64
      %is_finite = arith.cmpf oeq, %difference, %none : f64
      %after = arith.select %is_finite, %before, %no : i64
      scf.yield %after : i64
    }
    return %all : i64
  }
  hone.schedule train {
    %probes = hone.setting "probes" : tensor<i64>
    %rate = hone.setting "learning_rate" : tensor<f64>
    %batch = hone.load
    %first = hone.scalar @first() : () -> tensor<i64>
    %none = hone.scalar @nothing() : () -> tensor<20xf64>
    %end, %losses = hone.repeat %probes carry (%q = %first, %before = %none) : tensor<i64>, tensor<20xf64> {
      %h = hone.receive from "lower" channel "hidden" on %batch : tensor<?x4xf32>
      hone.wait %h stage 1 : tensor<?x4xf32>
      %probed = hone.run @upper.forward(%h) on %batch stage 1 : (tensor<?x4xf32>) -> tensor<f64>
      %after = hone.scalar @put(%probed, %q, %before) stage 1 : (tensor<f64>, tensor<i64>, tensor<20xf64>) -> tensor<20xf64>
      %next = hone.scalar @next(%q) stage 1 : (tensor<i64>) -> tensor<i64>
      hone.yield %next, %after : tensor<i64>, tensor<20xf64>
    }
    %last = hone.receive from "lower" channel "hidden" on %batch : tensor<?x4xf32>
    hone.run @upper.clear() : () -> ()
    hone.wait %last : tensor<?x4xf32>
    %loss = hone.run @upper.gradient(%last) on %batch : (tensor<?x4xf32>) -> tensor<f64>
    %are_finite = hone.scalar @are_finite(%losses) : (tensor<20xf64>) -> tensor<i64>
    hone.send %losses to "lower" channel "losses" : tensor<20xf64>
    hone.send %are_finite to "lower" channel "are_finite" : tensor<i64>
    hone.run @upper.update(%rate) when %are_finite : (tensor<f64>) -> ()
    hone.wait %losses : tensor<20xf64>
    hone.wait %are_finite : tensor<i64>
    hone.report %loss as "loss" : tensor<f64>
  }
}

// -----

// AsyncFGD of three modules. Iteration i passes module k at tick i + k as a hidden
// state and its tangent; then all update along the directions of the iteration
// that has its derivative. Three batches and three keys are in flight, two hidden
// states and tangents at each of the two boundaries, one derivative. Modules run
// at the same time, so each has a working set of its own.
// CHECK-LABEL: module @async_fgd
// CHECK: hone.schedule train
// CHECK: hone.repeat
// CHECK: %[[BATCH:.*]] = hone.load {hone.slots = [#hone.slot<{{[^>]*}}count = 3>]}
// CHECK: %[[KEY:.*]] = hone.scalar @key({{.*}}hone.slots = [#hone.slot<{{[^>]*}}count = 3>]
// CHECK: %[[X:.*]]:2 = hone.run @first.tangent(%[[KEY]]) on %[[BATCH]]{{.*}}hone.scratch = #hone.slot<offset = [[FIRST:[0-9]+]],{{.*}}hone.slots = [#hone.slot<{{[^>]*}}count = 2>, #hone.slot<{{[^>]*}}count = 2>]
// CHECK: %[[Y:.*]]:2 = hone.run @second.tangent(%[[X]]#0, %[[X]]#1, %[[KEY]]) on %[[BATCH]] stage 1 lane 1{{.*}}hone.scratch = #hone.slot<offset = [[SECOND:[0-9]+]],{{.*}}hone.slots = [#hone.slot<{{[^>]*}}count = 2>, #hone.slot<{{[^>]*}}count = 2>]
// CHECK: %[[J:.*]] = hone.run @third.tangent(%[[Y]]#0, %[[Y]]#1, %[[KEY]]) on %[[BATCH]] stage 2 lane 2{{.*}}hone.scratch = #hone.slot<offset = [[THIRD:[0-9]+]],{{.*}}hone.slots = [#hone.slot<{{[^>]*}}last = {{[0-9]+}}>]
// CHECK: hone.run @first.update(%{{.*}}, %[[J]], %[[KEY]]) stage 2 {{.*}}hone.scratch = #hone.slot<offset = [[FIRST]],
// CHECK: hone.run @second.update(%{{.*}}, %[[J]], %[[KEY]]) stage 2 lane 1{{.*}}hone.scratch = #hone.slot<offset = [[SECOND]],
// CHECK: hone.run @third.update(%{{.*}}, %[[J]], %[[KEY]]) stage 2 lane 2{{.*}}hone.scratch = #hone.slot<offset = [[THIRD]],
module @async_fgd attributes {hone.max_rows = 16 : i64} {
  hone.block @embed() -> (tensor<?x4xf32>, tensor<?x4xf32>) {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "embed_tokens.weight" : tensor<9x4xf32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    %tx = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    hone.return %x, %tx : tensor<?x4xf32>, tensor<?x4xf32>
  }
  hone.block @decoder(%x: tensor<?x4xf32>, %tx: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
    %w = hone.parameter "w" trainable init <zero> : tensor<4x4xf32>
    %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %ty = hone.linear %tx, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    hone.return %y, %ty : tensor<?x4xf32>, tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" trainable init <zero> : tensor<9x4xf32>
    %y = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %y : tensor<f64>
  }
  hone.entry tangent of "first" @first.tangent(%key: tensor<4xi32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
    %0:2 = hone.call @embed "model." () : () -> (tensor<?x4xf32>, tensor<?x4xf32>)
    %1:2 = hone.call @decoder "model.layers.0." (%0#0, %0#1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
    hone.return %1#0, %1#1 : tensor<?x4xf32>, tensor<?x4xf32>
  }
  hone.entry tangent of "second" @second.tangent(%h: tensor<?x4xf32>, %th: tensor<?x4xf32>, %key: tensor<4xi32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
    %0:2 = hone.call @decoder "model.layers.1." (%h, %th) : (tensor<?x4xf32>, tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
    %1:2 = hone.call @decoder "model.layers.2." (%0#0, %0#1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
    hone.return %1#0, %1#1 : tensor<?x4xf32>, tensor<?x4xf32>
  }
  hone.entry tangent of "third" @third.tangent(%h: tensor<?x4xf32>, %th: tensor<?x4xf32>, %key: tensor<4xi32>) -> tensor<f64> {
    %0:2 = hone.call @decoder "model.layers.3." (%h, %th) : (tensor<?x4xf32>, tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
    %1 = hone.call @head "" (%0#0) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %1 : tensor<f64>
  }
  hone.entry update of "first" @first.update(%rate: tensor<f64>, %j: tensor<f64>, %key: tensor<4xi32>) {
    hone.sgd %rate, %rate, %rate
  }
  hone.entry update of "second" @second.update(%rate: tensor<f64>, %j: tensor<f64>, %key: tensor<4xi32>) {
    hone.sgd %rate, %rate, %rate
  }
  hone.entry update of "third" @third.update(%rate: tensor<f64>, %j: tensor<f64>, %key: tensor<4xi32>) {
    hone.sgd %rate, %rate, %rate
  }
  func.func private @start() -> i64 {
    %0 = arith.constant 0 : i64
    return %0 : i64
  }
  func.func private @next(%i: i64) -> i64 {
    %one = arith.constant 1 : i64
    %0 = arith.addi %i, %one : i64
    return %0 : i64
  }
  // Of a probe: the step and the probe's number.
  func.func private @key(%step: i64, %probe: i64, %key: memref<4xi32>) {
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %0 = arith.trunci %step : i64 to i32
    %1 = arith.trunci %probe : i64 to i32
    memref.store %0, %key[%i0] : memref<4xi32>
    memref.store %1, %key[%i1] : memref<4xi32>
    return
  }
  hone.schedule train {
    %iterations = hone.setting "batches" : tensor<i64>
    %step = hone.setting "completed" : tensor<i64>
    %rate = hone.setting "learning_rate" : tensor<f64>
    %start = hone.scalar @start() : () -> tensor<i64>
    %end = hone.repeat %iterations carry (%i = %start) : tensor<i64> {
      %batch = hone.load
      %key = hone.scalar @key(%step, %i) : (tensor<i64>, tensor<i64>) -> tensor<4xi32>
      %next = hone.scalar @next(%i) : (tensor<i64>) -> tensor<i64>
      %x, %tx = hone.run @first.tangent(%key) on %batch : (tensor<4xi32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
      %y, %ty = hone.run @second.tangent(%x, %tx, %key) on %batch stage 1 lane 1 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xi32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
      %j = hone.run @third.tangent(%y, %ty, %key) on %batch stage 2 lane 2 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xi32>) -> tensor<f64>
      hone.run @first.update(%rate, %j, %key) stage 2 : (tensor<f64>, tensor<f64>, tensor<4xi32>) -> ()
      hone.run @second.update(%rate, %j, %key) stage 2 lane 1 : (tensor<f64>, tensor<f64>, tensor<4xi32>) -> ()
      hone.run @third.update(%rate, %j, %key) stage 2 lane 2 : (tensor<f64>, tensor<f64>, tensor<4xi32>) -> ()
      hone.yield %next : tensor<i64>
    }
  }
}

// -----

// Data parallel, the owner's side of one layer: gradients of micro-batches arrive
// from another rank and are folded in their order. The next one travels while one
// is folded, so two are held, and one sum. The norm is of both ranks' tensors.
// CHECK-LABEL: module @data_parallel_owner
// CHECK: hone.schedule train
// CHECK: %[[G:.*]] = hone.repeat {{.*}}hone.slots = [#hone.slot<{{[^>]*}}last = {{[0-9]+}}>]
// CHECK: %[[PART:.*]] = hone.receive from "rank1" channel "layers.0."{{.*}}hone.slots = [#hone.slot<{{[^>]*}}count = 2>]
// CHECK: hone.wait %[[PART]] stage 1
// CHECK: hone.run @fold(%{{.*}}, %[[PART]]) stage 1 {{.*}}hone.slots = [#hone.slot<{{[^>]*}}last = {{[0-9]+}}>]
// CHECK: %[[SQUARE:.*]] = hone.run @square(%[[G]])
// CHECK: hone.send %[[SQUARE]] to "rank1" channel "squares"
// CHECK: hone.run @update
module @data_parallel_owner attributes {hone.max_rows = 16 : i64} {
  hone.block @sum(%a: tensor<5x5xf32>, %b: tensor<5x5xf32>) -> tensor<5x5xf32> {
    %0 = hone.add %a, %b : tensor<5x5xf32>
    hone.return %0 : tensor<5x5xf32>
  }
  hone.block @begin() -> tensor<5x5xf32> {
    %w = hone.parameter "w" trainable init <zero> : tensor<5x5xf32>
    %0 = hone.add %w, %w : tensor<5x5xf32>
    hone.return %0 : tensor<5x5xf32>
  }
  hone.block @product(%a: tensor<5x5xf32>) -> tensor<f64> {
    %0 = hone.dot %a, %a : tensor<5x5xf32>
    hone.return %0 : tensor<f64>
  }
  hone.entry vector @start() -> tensor<5x5xf32> {
    %0 = hone.call @begin "layers.0." () : () -> tensor<5x5xf32>
    hone.return %0 : tensor<5x5xf32>
  }
  hone.entry vector @fold(%sum: tensor<5x5xf32>, %part: tensor<5x5xf32>) -> tensor<5x5xf32> {
    %0 = hone.call @sum "" (%sum, %part) : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
    hone.return %0 : tensor<5x5xf32>
  }
  hone.entry vector @square(%gradient: tensor<5x5xf32>) -> tensor<f64> {
    %0 = hone.call @product "" (%gradient) : (tensor<5x5xf32>) -> tensor<f64>
    hone.return %0 : tensor<f64>
  }
  hone.entry update @update(%rate: tensor<f64>, %clip: tensor<f64>, %gradient: tensor<5x5xf32>) {
    hone.sgd %clip, %rate, %rate
  }
  func.func private @add(%a: f64, %b: f64) -> f64 {
    %0 = arith.addf %a, %b : f64
    return %0 : f64
  }
  func.func private @length(%squares: f64) -> f64 {
    %0 = math.sqrt %squares : f64
    return %0 : f64
  }
  func.func private @clip(%norm: f64, %most: f64) -> f64 {
    %0 = arith.divf %most, %norm : f64
    %one = arith.constant 1.0 : f64
    %1 = arith.minnumf %0, %one : f64
    return %1 : f64
  }
  hone.schedule train {
    %batches = hone.setting "batches" : tensor<i64>
    %rate = hone.setting "learning_rate" : tensor<f64>
    %most = hone.setting "max_grad_norm" : tensor<f64>
    %none = hone.run @start() : () -> tensor<5x5xf32>
    %gradient = hone.repeat %batches carry (%before = %none) : tensor<5x5xf32> {
      %part = hone.receive from "rank1" channel "layers.0." : tensor<5x5xf32>
      hone.wait %part stage 1 : tensor<5x5xf32>
      %after = hone.run @fold(%before, %part) stage 1 : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
      hone.yield %after : tensor<5x5xf32>
    }
    %square = hone.run @square(%gradient) : (tensor<5x5xf32>) -> tensor<f64>
    hone.send %square to "rank1" channel "squares" : tensor<f64>
    %other = hone.receive from "rank1" channel "squares" : tensor<f64>
    hone.wait %square : tensor<f64>
    hone.wait %other : tensor<f64>
    %squares = hone.scalar @add(%square, %other) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %norm = hone.scalar @length(%squares) : (tensor<f64>) -> tensor<f64>
    hone.check %norm : tensor<f64>
    %clip = hone.scalar @clip(%norm, %most) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    hone.run @update(%rate, %clip, %gradient) : (tensor<f64>, tensor<f64>, tensor<5x5xf32>) -> ()
  }
}

// -----

// LCSB: which layers train follows from seed and step, and the order of each
// within the selection from that. Inputs of the selected are kept in a pool of as
// many slots as are ever selected; of the others the cotangent goes on. All
// parameters are updated: gradients of the others are zero.
// CHECK-LABEL: module @lcsb
// CHECK: hone.pool {hone.slots = [#hone.slot<offset = {{[0-9]+}}, bytes = 2048, first = 1, last = 14>]}
// CHECK: hone.schedule train
// CHECK: %[[MASK:.*]] = hone.scalar @select
// CHECK: %[[SLOTS:.*]] = hone.scalar @order(%[[MASK]])
// CHECK: hone.run @gradient(%[[MASK]], %[[SLOTS]])
// CHECK: hone.run @update
module @lcsb attributes {hone.max_rows = 16 : i64} {
  hone.block @embed() -> tensor<?x4xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %t = hone.parameter "embed_tokens.weight" : tensor<9x4xf32>
    %x = hone.embedding %ids, %t : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    hone.return %x : tensor<?x4xf32>
  }
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @layer.backward(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %a = hone.parameter "a" trainable init <zero> : tensor<5x5xf32>
    hone.gradient %a of "a" : tensor<5x5xf32>
    %dx = hone.add %x, %dy : tensor<?x4xf32>
    hone.return %dx : tensor<?x4xf32>
  }
  hone.block @pass_through(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %dx = hone.convert %dy : tensor<?x4xf32> to tensor<?x4xf32>
    hone.return %dx : tensor<?x4xf32>
  }
  hone.block @head.gradient(%x: tensor<?x4xf32>) -> (tensor<f64>, tensor<?x4xf32>) {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "lm_head.weight" : tensor<9x4xf32>
    %l, %dx = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> (tensor<f64>, tensor<?x4xf32>)
    hone.return %l, %dx : tensor<f64>, tensor<?x4xf32>
  }
  hone.entry gradient @gradient(%mask: tensor<3xi32>, %slots: tensor<3xi32>) -> tensor<f64> {
    %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
    %pool = hone.pool : tensor<2x?x4xf32>
    hone.keep %0 in %pool at %slots[0] when %mask[0] : tensor<2x?x4xf32>, tensor<3xi32>, tensor<3xi32>
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    hone.keep %1 in %pool at %slots[1] when %mask[1] : tensor<2x?x4xf32>, tensor<3xi32>, tensor<3xi32>
    %2 = hone.call @layer "layers.1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    hone.keep %2 in %pool at %slots[2] when %mask[2] : tensor<2x?x4xf32>, tensor<3xi32>, tensor<3xi32>
    %3 = hone.call @layer "layers.2." (%2) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %loss, %d3 = hone.call @head.gradient "" (%3) : (tensor<?x4xf32>) -> (tensor<f64>, tensor<?x4xf32>)
    %k2 = hone.kept %pool at %slots[2] : tensor<2x?x4xf32>, tensor<3xi32>
    %d2 = hone.call @layer.backward "layers.2." (%k2, %d3) when %mask[2] : tensor<3xi32> else @pass_through : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %k1 = hone.kept %pool at %slots[1] : tensor<2x?x4xf32>, tensor<3xi32>
    %d1 = hone.call @layer.backward "layers.1." (%k1, %d2) when %mask[1] : tensor<3xi32> else @pass_through : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %k0 = hone.kept %pool at %slots[0] : tensor<2x?x4xf32>, tensor<3xi32>
    %d0 = hone.call @layer.backward "layers.0." (%k0, %d1) when %mask[0] : tensor<3xi32> else @pass_through : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    hone.return %loss : tensor<f64>
  }
  hone.entry vector @clear() {
    hone.zero_gradient
  }
  hone.entry update @update(%rate: tensor<f64>) {
    hone.sgd %rate, %rate, %rate
  }
  // Layers i with (i + seed + step) mod 3 > 0: two of the three.
  func.func private @select(%seed: i64, %step: i64, %mask: memref<3xi32>) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %three = arith.constant 3 : index
    %first = arith.addi %seed, %step : i64
    %from = arith.index_cast %first : i64 to index
    scf.for %i = %zero to %three step %one {
      %at = arith.addi %from, %i : index
      %left = arith.remui %at, %three : index
      %is_set = arith.cmpi ne, %left, %zero : index
      %number = arith.extui %is_set : i1 to i32
      memref.store %number, %mask[%i] : memref<3xi32>
    }
    return
  }
  // How many layers before each are selected.
  func.func private @order(%mask: memref<3xi32>, %slots: memref<3xi32>) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %three = arith.constant 3 : index
    %none = arith.constant 0 : i32
    %all = scf.for %i = %zero to %three step %one iter_args(%before = %none) -> i32 {
      memref.store %before, %slots[%i] : memref<3xi32>
      %own = memref.load %mask[%i] : memref<3xi32>
      %after = arith.addi %before, %own : i32
      scf.yield %after : i32
    }
    return
  }
  hone.schedule train {
    %seed = hone.setting "seed" : tensor<i64>
    %step = hone.setting "completed" : tensor<i64>
    %rate = hone.setting "learning_rate" : tensor<f64>
    %mask = hone.scalar @select(%seed, %step) : (tensor<i64>, tensor<i64>) -> tensor<3xi32>
    %slots = hone.scalar @order(%mask) : (tensor<3xi32>) -> tensor<3xi32>
    hone.run @clear() : () -> ()
    %batch = hone.load
    %loss = hone.run @gradient(%mask, %slots) on %batch : (tensor<3xi32>, tensor<3xi32>) -> tensor<f64>
    hone.check %loss : tensor<f64>
    hone.run @update(%rate) : (tensor<f64>) -> ()
    hone.report %loss as "loss" : tensor<f64>
  }
}
