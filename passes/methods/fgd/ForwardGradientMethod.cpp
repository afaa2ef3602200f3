//===- ForwardGradientMethod.cpp - Gradients from derivatives -------------===//
//
// The forward gradient (Baydin et al. 2022; of AsyncFGD, Guo et al. 2023, eq.
// 4, the sequential case): along each of n random directions u_d, forward mode
// gives the derivative j_d of the loss, and sum_d j_d / n u_d is an unbiased
// estimate of the gradient. Directions are seeds, so between blocks there are a
// value and its tangent, and nothing is kept.
//
//===----------------------------------------------------------------------===//

#include "passes/methods/directions/DirectionMethod.h"

using namespace mlir;

namespace hone {

namespace {

class ForwardGradientMethod : public DirectionMethod {
public:
  using DirectionMethod::DirectionMethod;

  bool isLossClean() const override { return true; }

private:
  Trials trials() const override { return Trials::OfEach; }
  FailureOr<EntryOp> createTrial() override {
    std::string name = part.symbol(model.loss.getSymName()) + ".tangent";
    return model.tangents.create(
        model.loss, name, [&](StringRef prefix) { return part.has(prefix); },
        scaled);
  }
  TrialSums runTrial(ScheduleBuilder &b, Value batch, Value number,
                     TrialSums before) override {
    Value key = b.scalar("direction_key", {seed, step, number}, keyType);
    SmallVector<Value> values = {key};
    if (scales)
      values.push_back(scales);
    ResultRange slope = b.run(trial, values, batch);
    return {b.scalar("add_slope", {before.numbers, slope[1], number},
                     before.numbers.getType()),
            b.scalar("add", {before.loss, slope[0]})};
  }
  Value distance(ScheduleBuilder &b) override { return b.scalar("one", {}); }
};

} // namespace

std::unique_ptr<StepMethod>
createForwardGradientMethod(StepModel &model, const TrainedPart &part) {
  return std::make_unique<ForwardGradientMethod>(model, part);
}

} // namespace hone
