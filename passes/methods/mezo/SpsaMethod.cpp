//===- SpsaMethod.cpp - Gradients from differences of losses --------------===//
//
// Simultaneous perturbation (Spall 1992), as in MeZO (Malladi et al. 2023, alg.
// 1): along each of P random directions z_p, two losses give the slope
//   c_p = (L(theta + epsilon z_p) - L(theta - epsilon z_p)) / (2 epsilon P)
// and sum_p c_p z_p is the estimate of the gradient. A step is its seed and the
// c_p: `train` reports them, and `replay` makes the same update of them,
// without data.
//
// One-sided, all directions have the loss at theta in common:
//   c_p = (L(theta + epsilon z_p) - L(theta)) / (epsilon P)
//
//===----------------------------------------------------------------------===//

#include "passes/methods/Methods.h"
#include "passes/methods/directions/DirectionMethod.h"

using namespace mlir;

namespace hone {

namespace {

class SpsaMethod : public DirectionMethod {
public:
  SpsaMethod(StepModel &model, const TrainedPart &part, bool oneSided)
      : DirectionMethod(model, part), oneSided(oneSided) {}

  template <bool oneSided>
  static std::unique_ptr<StepMethod> create(StepModel &model,
                                            const TrainedPart &part) {
    return std::make_unique<SpsaMethod>(model, part, oneSided);
  }

  bool isLossClean() const override { return false; }

private:
  Trials trials() const override {
    return oneSided ? Trials::AndBase : Trials::Pairs;
  }
  FailureOr<EntryOp> createTrial() override {
    std::string name = part.symbol(model.loss.getSymName()) + ".perturbed";
    return model.perturbed.create(
        model.loss, name, [&](StringRef prefix) { return part.has(prefix); });
  }
  void beginTrials(ScheduleBuilder &b) override {
    epsilon = b.realSetting(part.symbol("perturbation_scale"));
  }
  TrialSums runTrial(ScheduleBuilder &b, Value batch, Value number,
                     TrialSums before) override {
    StringRef side = oneSided ? "one_sided_" : "";
    auto formula = [&](StringRef name) { return (side + name).str(); };
    Value key = b.scalar(formula("probe_key"), {seed, step, number}, keyType);
    Value shift = b.scalar(formula("probe_shift"), {epsilon, number});
    Value loss = b.run(trial, {key, shift}, batch).front();
    return {b.scalar(formula("add_difference"), {before.numbers, loss, number},
                     before.numbers.getType()),
            b.scalar("add", {before.loss, loss})};
  }
  Value distance(ScheduleBuilder &b) override {
    return oneSided ? epsilon : b.scalar("add", {epsilon, epsilon});
  }

  bool oneSided;
  Value epsilon;
};

} // namespace

static constexpr KeyExample examples[] = {
    {"train.directions", "train: {method: mezo, directions: 4}\n"},
    {"train.perturbation_scale",
     "train: {method: mezo, perturbation_scale: 1e-3}\n"},
};

Method methods::mezo() {
  Method method{GradientCheck::PerturbedLoss,
                SpsaMethod::create</*oneSided=*/false>};
  method.examples = examples;
  return method;
}

Method methods::mezoOneSided() {
  return {GradientCheck::PerturbedLoss, SpsaMethod::create</*oneSided=*/true>};
}

} // namespace hone
