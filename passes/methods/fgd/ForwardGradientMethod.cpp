//===- ForwardGradientMethod.cpp - Gradients from derivatives -------------===//
//
// The forward gradient (Baydin et al. 2022; of AsyncFGD, Guo et al. 2023, eq.
// 4, the sequential case): along each of n random directions u_d, forward mode
// gives the derivative j_d of the loss, and sum_d j_d / n u_d is an unbiased
// estimate of the gradient. Directions are seeds, so between blocks there are a
// value and its tangent, and nothing is kept.
//
//===----------------------------------------------------------------------===//

#include "passes/methods/Methods.h"
#include "passes/methods/StepSettings.h"
#include "passes/methods/directions/DirectionMethod.h"
#include "passes/methods/directions/DirectionScales.h"

using namespace mlir;

namespace hone {

namespace {

class ForwardGradientMethod : public DirectionMethod {
public:
  using DirectionMethod::DirectionMethod;

  static std::unique_ptr<StepMethod> create(StepModel &model,
                                            const TrainedPart &part) {
    return std::make_unique<ForwardGradientMethod>(model, part);
  }

  bool isLossClean() const override { return true; }

private:
  Trials trials() const override { return Trials::OfEach; }
  SmallVector<DirectionScale> directionScales() const override {
    std::string problem; // the rules have checked that there is none
    return parseDirectionScales(part.settings.direction_scales.text(), problem);
  }
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

static std::optional<Problem> findUnread(const rt::MethodSettings &own,
                                         const rt::Setting &setting) {
  if (&setting != &own.direction_scale_steps || !own.direction_scales.empty())
    return std::nullopt;
  return Problem{
      setting,
      "only " + own.direction_scales.key() + " rise, but there are none",
      "remove " + setting.key() + ", or add " + own.direction_scales.key()};
}

/// The layers whose scales may be said: of the part, and of all that have the
/// same scales.
static LayerRange scaledLayers(const MethodFacts &facts) {
  const rt::Settings &settings = facts.settings;
  const int64_t count = facts.layers->model;
  if (!settings.hasParts())
    return {0, count - 1};
  auto has = [&](const rt::PartSettings &part) {
    return &part == &facts.own ||
           (part.direction_scales.isReadBy(part.method) &&
            part.direction_scales.text() == facts.own.direction_scales.text());
  };
  LayerRange range = {count, -1};
  int64_t first = 0;
  std::vector<int64_t> ends = cutsOf(settings);
  ends.push_back(count);
  for (auto [part, end] : llvm::zip_equal(settings.parts, ends)) {
    if (has(*part))
      range = {std::min(range.first, first), end - 1};
    first = end;
  }
  return range;
}

/// Rules of direction_scales.
static std::optional<Problem> findProblem(const MethodFacts &facts) {
  const rt::MethodSettings &own = facts.own;
  std::string problem;
  SmallVector<DirectionScale> scales =
      parseDirectionScales(own.direction_scales.text(), problem);
  if (!problem.empty())
    return Problem{own.direction_scales, problem,
                   "write layers in their order, counted from 0",
                   ErrorCode::BadSpecValue};
  if (!facts.layers)
    return std::nullopt;
  const LayerRange range = scaledLayers(facts);
  for (const DirectionScale &scale : scales)
    if (scale.layers.first < range.first || scale.layers.last > range.last)
      return Problem{
          own.direction_scales,
          (range.first > 0 ? "expected layers from " +
                                 std::to_string(range.first) + " up to "
                           : "expected layers up to ") +
              std::to_string(range.last) + ", the last that method " +
              own.method + " trains, but found " +
              std::to_string(scale.layers.last > range.last
                                 ? scale.layers.last
                                 : scale.layers.first),
          "give scales of layers that it trains", ErrorCode::BadSpecValue};
  return std::nullopt;
}

static constexpr KeyExample examples[] = {
    {"train.direction_scales",
     "train: {method: fgd, direction_scales: [0-19=0, 20-22=0.15]}\n"},
    {"train.direction_scale_steps",
     "train: {method: fgd, direction_scales: [0-19=0.1],\n"
     "        direction_scale_steps: 100}\n"},
};

Method methods::forwardGradient() {
  Method method{GradientCheck::Tangent, ForwardGradientMethod::create};
  method.findUnread = findUnread;
  method.findProblem = findProblem;
  method.examples = examples;
  return method;
}

} // namespace hone
