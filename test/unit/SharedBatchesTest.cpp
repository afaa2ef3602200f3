//===- SharedBatchesTest.cpp - Whether ranks may share batches ------------===//

#include "passes/methods/SharedBatches.h"

#include "test/unit/ParsedModule.h"

using namespace hone;

namespace {

/// The problem of a schedule with `body` for each batch; empty: there is none.
std::string problemOf(const std::string &body) {
  ParsedModule module(R"(
    hone.block @head() -> tensor<f64> {
      %x = hone.input "hidden" : tensor<?x4xf32>
      %t = hone.input "targets" : tensor<?xi32>
      %w = hone.parameter "w" trainable init <zero> : tensor<9x4xf32>
      %y = hone.linear_cross_entropy %x, %w, %t : (tensor<?x4xf32>, tensor<9x4xf32>, tensor<?xi32>) -> tensor<f64>
      hone.return %y : tensor<f64>
    }
    hone.block @body() -> tensor<?x4xf32> {
      %x = hone.input "hidden" : tensor<?x4xf32>
      %y = hone.add %x, %x : tensor<?x4xf32>
      hone.return %y : tensor<?x4xf32>
    }
    hone.entry @loss(%scale: tensor<f64>) -> tensor<f64> {
      %y = hone.call @head "" () : () -> tensor<f64>
      hone.return %y : tensor<f64>
    }
    hone.entry @hidden() -> tensor<?x4xf32> {
      %y = hone.call @body "" () : () -> tensor<?x4xf32>
      hone.return %y : tensor<?x4xf32>
    }
    hone.schedule train {
      %batches = hone.setting "batches" : tensor<i64>
      %rate = hone.setting "learning_rate" : tensor<f64>
      %sum = hone.repeat %batches carry (%before = %rate) : tensor<f64> {
        %batch = hone.load
        )" + body + R"(
        hone.yield %loss : tensor<f64>
      }
    }
  )");
  for (ScheduleOp schedule : module.get().getOps<ScheduleOp>())
    if (mlir::succeeded(checkMayShare(schedule)))
      return "";
  return module.messages.empty() ? "no message" : module.messages.front();
}

} // namespace

TEST(SharedBatches, ResultsOfRunsMayBeCarried) {
  EXPECT_EQ(problemOf(R"(
    %loss = hone.run @loss(%rate) on %batch : (tensor<f64>) -> tensor<f64>)"),
            "");
}

TEST(SharedBatches, NoRunFollowsFromAnotherBatch) {
  EXPECT_NE(problemOf(R"(
    %loss = hone.run @loss(%before) on %batch : (tensor<f64>) -> tensor<f64>)")
                .find("expects nothing that depends on the results of a run"),
            std::string::npos);
}

TEST(SharedBatches, RunsGiveNumbers) {
  EXPECT_NE(problemOf(R"(
    %h = hone.run @hidden() on %batch : () -> tensor<?x4xf32>
    %loss = hone.run @loss(%rate) on %batch : (tensor<f64>) -> tensor<f64>)")
                .find("expects a few numbers"),
            std::string::npos);
}

TEST(SharedBatches, NothingOverlaps) {
  EXPECT_NE(problemOf(R"(
    %loss = hone.run @loss(%rate) on %batch stage 1 : (tensor<f64>) -> tensor<f64>)")
                .find("expects no stages"),
            std::string::npos);
}
