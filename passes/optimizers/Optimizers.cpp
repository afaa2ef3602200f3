//===- Optimizers.cpp - The description of each optimizer -----------------===//

#include "passes/optimizers/Optimizer.h"

#include "module/Settings.h"

using namespace mlir;

namespace hone {

static constexpr CountedNumber kCounted[] = {
    {"bias_correction1", "adam_beta1", "bias_correction", "bias_corrections"},
    {"bias_correction2", "adam_beta2", "bias_correction", "bias_corrections"},
    {"second_moment_part", "adafactor_decay_rate", "step_power",
     "step_powers"}};

const CountedNumber *findCounted(StringRef name) {
  const auto *found = llvm::find_if(
      kCounted, [&](const CountedNumber &each) { return each.name == name; });
  return found == std::end(kCounted) ? nullptr : found;
}

bool Optimizer::countsUpdates() const {
  return llvm::any_of(numbers, findCounted);
}

/// Creates an UpdateOp of `numbers`, of its rule's `own` operands, and of
/// `operands`.
template <typename UpdateOp, size_t... I, typename... Own>
static void create(OpBuilder &builder, Location loc, ValueRange numbers,
                   std::index_sequence<I...>, const UpdateOperands &operands,
                   Own... own) {
  UpdateOp::create(builder, loc, numbers[I]..., own..., operands.rateOfB,
                   operands.rounding, operands.gradient, operands.key,
                   operands.coefficients, operands.layers, operands.mask,
                   operands.maskIndex);
}

static UnitAttr narrow(OpBuilder &builder, const Optimizer &optimizer) {
  return optimizer.roundsState ? builder.getUnitAttr() : UnitAttr();
}

namespace optimizers {

static Optimizer sgd(const rt::UpdateSettings &settings) {
  Optimizer optimizer;
  const bool remembers = settings.momentum > 0;
  if (remembers)
    optimizer.numbers = {"momentum"};
  optimizer.roundsState = remembers && settings.momentum_dtype == "bfloat16";
  optimizer.create = [](OpBuilder &b, Location loc, const Optimizer &own,
                        ValueRange numbers, const UpdateOperands &operands) {
    Value momentum = own.numbers.empty() ? Value() : numbers[3];
    hone::create<SgdOp>(b, loc, numbers, std::make_index_sequence<3>(),
                        operands, momentum, narrow(b, own));
  };
  return optimizer;
}

template <typename AdamOp> static Optimizer adam() {
  Optimizer optimizer;
  optimizer.numbers = {"adam_beta1", "adam_beta2", "adam_epsilon",
                       "bias_correction1", "bias_correction2"};
  optimizer.create = [](OpBuilder &b, Location loc, const Optimizer &,
                        ValueRange numbers, const UpdateOperands &operands) {
    hone::create<AdamOp>(b, loc, numbers, std::make_index_sequence<8>(),
                         operands);
  };
  return optimizer;
}

static Optimizer adamw(const rt::UpdateSettings &) { return adam<AdamwOp>(); }

static Optimizer adamw8bit(const rt::UpdateSettings &) {
  return adam<AdamwCodedOp>();
}

static Optimizer lion(const rt::UpdateSettings &settings) {
  Optimizer optimizer;
  optimizer.numbers = {"lion_beta1", "lion_beta2"};
  optimizer.roundsState = settings.momentum_dtype == "bfloat16";
  optimizer.create = [](OpBuilder &b, Location loc, const Optimizer &own,
                        ValueRange numbers, const UpdateOperands &operands) {
    hone::create<LionOp>(b, loc, numbers, std::make_index_sequence<5>(),
                         operands, narrow(b, own));
  };
  return optimizer;
}

static Optimizer adafactor(const rt::UpdateSettings &) {
  Optimizer optimizer;
  optimizer.numbers = {"adafactor_epsilon", "adafactor_clip_threshold",
                       "second_moment_part"};
  optimizer.create = [](OpBuilder &b, Location loc, const Optimizer &,
                        ValueRange numbers, const UpdateOperands &operands) {
    hone::create<AdafactorOp>(b, loc, numbers, std::make_index_sequence<6>(),
                              operands);
  };
  return optimizer;
}

static Optimizer sinkgd(const rt::UpdateSettings &) {
  Optimizer optimizer;
  optimizer.create = [](OpBuilder &b, Location loc, const Optimizer &,
                        ValueRange numbers, const UpdateOperands &operands) {
    hone::create<SinkgdOp>(b, loc, numbers, std::make_index_sequence<3>(),
                           operands);
  };
  return optimizer;
}

} // namespace optimizers

Optimizer describeOptimizer(const rt::UpdateSettings &settings) {
  using namespace optimizers;
  Optimizer optimizer;
#define HONE_DESCRIBE(function, name)                                          \
  if (settings.optimizer == name)                                              \
    optimizer = function(settings);
  HONE_OPTIMIZERS(HONE_DESCRIBE)
#undef HONE_DESCRIBE
  optimizer.hasRateOfB = settings.loraplus_lr_ratio != 1;
  return optimizer;
}

} // namespace hone
