// RUN: hone-opt %s --hone-split-parts="after=1" --hone-separate-parts --hone-verify-exchanges --hone-extract-part="part=lower" | FileCheck %s --enable-var-scope --check-prefix=LOWER
// RUN: hone-opt %s --hone-split-parts="after=1" --hone-separate-parts --hone-verify-exchanges --hone-extract-part="part=upper" | FileCheck %s --enable-var-scope --check-prefix=UPPER
// RUN: hone-opt %s --hone-split-parts="after=1" --hone-extract-part="part=lower" | FileCheck %s --enable-var-scope --check-prefix=LOWER
// RUN: hone-opt %s --hone-split-parts="after=1" --hone-extract-part="part=upper" | FileCheck %s --enable-var-scope --check-prefix=UPPER
// RUN: hone-opt %s --hone-split-parts="after=1,2" --hone-separate-parts --hone-verify-exchanges --hone-extract-part="part=part1" | FileCheck %s --check-prefix=FIRST
// RUN: hone-opt %s --hone-split-parts="after=1,2" --hone-separate-parts --hone-verify-exchanges --hone-extract-part="part=part2" | FileCheck %s --check-prefix=MIDDLE
// RUN: hone-opt %s --hone-split-parts="after=1,2" --hone-separate-parts --hone-verify-exchanges --hone-extract-part="part=part3" | FileCheck %s --check-prefix=LAST
// RUN: not hone-opt %s --hone-split-parts="after=1" --hone-separate-parts --hone-extract-part="part=middle" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not hone-opt %s --hone-split-parts="after=1" --hone-extract-part="part=middle" 2>&1 | FileCheck %s --check-prefix=OTHER

// A value that one part makes and the other reads is sent after the run that
// makes it, waited for before it is read or, by its sender, at the end of the
// body. Both have a value that both read, such as the loss. Norms are of all
// parameters: each part has the sums of its own, in the order of the whole. The
// first part has the data: the other one gets the count of batches, and of each
// the rows and those inputs that it reads.

// LOWER-NOT: hone.entry {{.*}}@upper
// LOWER: hone.entry vector @squares() -> tensor<1xf64>
// LOWER: hone.schedule train
// LOWER: %[[N:.*]] = hone.setting "batches"
// LOWER-NEXT: hone.send %[[N]] to "upper" channel "train.batches"
// LOWER: hone.wait %[[N]]
// LOWER-NEXT: hone.repeat %[[N]]
// LOWER: %[[B:.*]] = hone.load
// LOWER-NEXT: hone.send %[[B]] to "upper" channel "train.batch" inputs {targets = tensor<?xi32>}
// LOWER-NEXT: %[[H:.*]] = hone.run @lower.loss() on %[[B]]
// LOWER-NEXT: hone.send %[[H]] to "upper" channel "train.lower.loss.0" on %[[B]]
// LOWER-NEXT: %[[L:.*]] = hone.receive from "upper" channel "train.upper.loss.0" : tensor<f64>
// LOWER-NEXT: hone.wait %[[L]]
// LOWER-NEXT: hone.scalar @add(%{{.*}}, %[[L]])
// LOWER-NEXT: hone.wait %[[B]]
// LOWER-NEXT: hone.wait %[[H]]
// LOWER-NEXT: hone.yield
// LOWER: %[[THEIRS:.*]] = hone.receive from "upper" channel "train.squares" : tensor<2xf64>
// LOWER-NEXT: %[[OWN:.*]] = hone.run @squares() : () -> tensor<1xf64>
// LOWER-NEXT: hone.send %[[OWN]] to "upper" channel "train.squares"
// LOWER-NEXT: hone.wait %[[THEIRS]]
// LOWER-NEXT: %[[ALL:.*]] = hone.scalar @scalar.gather.squares(%[[OWN]], %[[THEIRS]]) : {{.*}} -> tensor<3xf64>
// LOWER-NEXT: hone.scalar @norm(%[[ALL]])

// UPPER-NOT: hone.entry {{.*}}@lower
// UPPER: hone.entry vector @squares() -> tensor<2xf64>
// UPPER: hone.schedule train
// UPPER-NOT: hone.setting "batches"
// UPPER-NOT: hone.load
// UPPER: %[[N:.*]] = hone.receive from "lower" channel "train.batches" : tensor<i64>
// UPPER: hone.wait %[[N]]
// UPPER-NEXT: hone.repeat %[[N]]
// UPPER: %[[B:.*]] = hone.receive from "lower" channel "train.batch" inputs {targets = tensor<?xi32>} : !hone.batch
// UPPER-NEXT: hone.wait %[[B]]
// UPPER-NEXT: %[[H:.*]] = hone.receive from "lower" channel "train.lower.loss.0" on %[[B]] : tensor<?x4xf32>
// UPPER-NEXT: hone.wait %[[H]]
// UPPER-NEXT: %[[L:.*]] = hone.run @upper.loss(%[[H]]) on %[[B]]
// UPPER-NEXT: hone.send %[[L]] to "lower" channel "train.upper.loss.0"
// UPPER-NEXT: hone.scalar @add(%{{.*}}, %[[L]])
// UPPER-NEXT: hone.wait %[[L]]
// UPPER: hone.scalar @scalar.gather.squares(%{{.*}}, %{{.*}}) : (tensor<1xf64>, tensor<2xf64>) -> tensor<3xf64>

// Of three parts each meets its neighbours alone. The one in the middle
// forwards its messages, also those that it reads itself; it sends its own
// norms and those that it received.

// FIRST-NOT: "part3"
// FIRST: hone.schedule train
// FIRST: %[[L:.*]] = hone.receive from "part2" channel "train.part3.loss.0" : tensor<f64>
// FIRST: %[[THEIRS:.*]] = hone.receive from "part2" channel "train.squares" : tensor<2xf64>
// FIRST-NEXT: %[[OWN:.*]] = hone.run @squares() : () -> tensor<1xf64>
// FIRST-NEXT: hone.send %[[OWN]] to "part2" channel "train.squares"
// FIRST-NEXT: hone.wait %[[THEIRS]]
// FIRST-NEXT: %[[ALL:.*]] = hone.scalar @scalar.gather.squares(%[[OWN]], %[[THEIRS]])
// FIRST-NEXT: hone.scalar @norm(%[[ALL]])

// MIDDLE: hone.schedule train
// MIDDLE: %[[N:.*]] = hone.receive from "part1" channel "train.batches" : tensor<i64>
// MIDDLE-NEXT: hone.wait %[[N]]
// MIDDLE-NEXT: hone.send %[[N]] to "part3" channel "train.batches"
// MIDDLE: %[[B:.*]] = hone.receive from "part1" channel "train.batch" inputs {targets = tensor<?xi32>} : !hone.batch
// MIDDLE-NEXT: hone.wait %[[B]]
// MIDDLE-NEXT: hone.send %[[B]] to "part3" channel "train.batch" inputs {targets = tensor<?xi32>} : !hone.batch
// MIDDLE: %[[H:.*]] = hone.run @part2.loss(
// MIDDLE-NEXT: hone.send %[[H]] to "part3" channel "train.part2.loss.0" on %[[B]]
// MIDDLE-NEXT: %[[L:.*]] = hone.receive from "part3" channel "train.part3.loss.0" : tensor<f64>
// MIDDLE-NEXT: hone.wait %[[L]]
// MIDDLE-NEXT: hone.send %[[L]] to "part1" channel "train.part3.loss.0"
// MIDDLE-NEXT: hone.scalar @add(%{{.*}}, %[[L]])
// MIDDLE-NEXT: hone.wait %[[B]]
// MIDDLE-NEXT: hone.wait %[[H]]
// MIDDLE-NEXT: hone.wait %[[L]]
// MIDDLE-NEXT: hone.yield
// MIDDLE: %[[BELOW:.*]] = hone.receive from "part1" channel "train.squares" : tensor<1xf64>
// MIDDLE-NEXT: %[[ABOVE:.*]] = hone.receive from "part3" channel "train.squares" : tensor<1xf64>
// MIDDLE-NEXT: %[[OWN:.*]] = hone.run @squares() : () -> tensor<1xf64>
// MIDDLE-NEXT: hone.wait %[[ABOVE]]
// MIDDLE-NEXT: %[[DOWN:.*]] = hone.scalar @scalar.gather.squares.above(%[[OWN]], %[[ABOVE]]) : {{.*}} -> tensor<2xf64>
// MIDDLE-NEXT: hone.send %[[DOWN]] to "part1" channel "train.squares"
// MIDDLE-NEXT: hone.wait %[[BELOW]]
// MIDDLE-NEXT: %[[UP:.*]] = hone.scalar @scalar.gather.squares.below(%[[BELOW]], %[[OWN]]) : {{.*}} -> tensor<2xf64>
// MIDDLE-NEXT: hone.send %[[UP]] to "part3" channel "train.squares"
// MIDDLE-NEXT: hone.scalar @scalar.gather.squares(%[[BELOW]], %[[OWN]], %[[ABOVE]]) : {{.*}} -> tensor<3xf64>

// LAST-NOT: "part1"
// LAST: hone.schedule train
// LAST: hone.receive from "part2" channel "train.batches" : tensor<i64>
// LAST: %[[L:.*]] = hone.run @part3.loss(
// LAST-NEXT: hone.send %[[L]] to "part2" channel "train.part3.loss.0"
// LAST: %[[BELOW:.*]] = hone.receive from "part2" channel "train.squares" : tensor<2xf64>
// LAST-NEXT: %[[OWN:.*]] = hone.run @squares() : () -> tensor<1xf64>
// LAST-NEXT: hone.send %[[OWN]] to "part2" channel "train.squares"
// LAST-NEXT: hone.wait %[[BELOW]]
// LAST-NEXT: hone.scalar @scalar.gather.squares(%[[BELOW]], %[[OWN]])

// OTHER: has no part 'middle'; its parts: lower upper
module attributes {hone.max_rows = 8 : i64} {
  func.func private @add(%a: f64, %b: f64) -> f64 {
    %0 = arith.addf %a, %b : f64
    return %0 : f64
  }
  func.func private @zero() -> f64 {
    %0 = arith.constant 0.0 : f64
    return %0 : f64
  }
  func.func private @norm(%squares: memref<3xf64>) -> f64 {
    %at = arith.constant 0 : index
    %0 = memref.load %squares[%at] : memref<3xf64>
    return %0 : f64
  }
  hone.block @embed() -> tensor<?x4xf32> {
    %x = hone.input "hidden" : tensor<?x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = hone.parameter "w" trainable init <zero> : tensor<4x4xf32>
    %y = hone.add %x, %x : tensor<?x4xf32>
    hone.return %y : tensor<?x4xf32>
  }
  hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "head.weight" : tensor<9x4xf32>
    %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %l : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %0 = hone.call @embed "model." () : () -> tensor<?x4xf32>
    %1 = hone.call @layer "layers.0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = hone.call @layer "layers.1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = hone.call @layer "layers.2." (%2) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %4 = hone.call @head "" (%3) : (tensor<?x4xf32>) -> tensor<f64>
    hone.return %4 : tensor<f64>
  }
  hone.entry vector @squares() -> tensor<3xf64> {
    %0 = hone.gradient_squares : tensor<3xf64>
    hone.return %0 : tensor<3xf64>
  }
  hone.schedule train {
    %batches = hone.setting "batches" : tensor<i64>
    %zero = hone.scalar @zero() : () -> tensor<f64>
    %sum = hone.repeat %batches carry (%before = %zero) : tensor<f64> {
      %batch = hone.load
      %loss = hone.run @loss() on %batch : () -> tensor<f64>
      %after = hone.scalar @add(%before, %loss) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      hone.yield %after : tensor<f64>
    }
    %squares = hone.run @squares() : () -> tensor<3xf64>
    %norm = hone.scalar @norm(%squares) : (tensor<3xf64>) -> tensor<f64>
    hone.report %sum as "loss" : tensor<f64>
    hone.report %norm as "gradient_norm" : tensor<f64>
  }
}
