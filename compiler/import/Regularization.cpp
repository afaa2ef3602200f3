//===- Regularization.cpp - Dropout, noise and label smoothing ------------===//
//
// Random streams are called by the names of Hugging Face modules, so their
// numbers do not depend on how a model is cut into blocks.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/Regularization.h"
#include "dialects/Hone/HoneOps.h"

using namespace hone;
using namespace mlir;

static Value createKey(OpBuilder &builder, Location loc) {
  return InputOp::create(builder, loc, randomKeyType(builder.getContext()),
                         InputOp::getRandomKeyName());
}

static void setDropout(LoraLinearOp op, double p) {
  OpBuilder builder(op);
  op.getKeyMutable().assign(createKey(builder, op.getLoc()));
  op.setDropoutAttr(builder.getF64FloatAttr(p));
  op.setOf(moduleOf(op.getA()));
}

static void addNoise(EmbeddingOp op, double alpha) {
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  Location loc = op.getLoc();
  auto rows = RankedTensorType::get(ShapedType::kDynamic, builder.getI32Type());
  Value starts = InputOp::create(builder, loc, rows, "sequence_starts");
  auto noise = EmbeddingNoiseOp::create(
      builder, loc, op.getType(), op.getY(), starts, createKey(builder, loc),
      builder.getF64FloatAttr(alpha),
      builder.getStringAttr(moduleOf(op.getTable())));
  op.getY().replaceAllUsesExcept(noise.getY(), noise);
}

namespace {
/// One of the three settings, and the numbers that the model has written out.
struct Written {
  const Spec &spec;
  const rt::Real &setting;
  std::vector<double> numbers = {};

  bool isThere() const { return !numbers.empty(); }
  /// That the model has one number, and the spec no other.
  Status check() const {
    for (double number : numbers)
      if (number != numbers.front() ||
          (spec.given.count(setting.key()) && number != setting))
        return Status(
            ErrorCode::SpecDisagreesWithModel, spec.placeOf(setting.key()),
            "expected one number for all of " + spec.model + ", which has " +
                rt::formatExact(numbers.front()) + ", but found " +
                (number != numbers.front() ? rt::formatExact(number)
                                           : setting.text()),
            "leave " + setting.key() + " out of the spec, or out of the model");
    return Status::ok();
  }
};
} // namespace

/// Checks that `read` gives a parameter of each `OpTy`: its module names the
/// random numbers.
template <typename OpTy>
static Status checkNames(ModuleOp module, const Spec &spec,
                         const rt::Setting &setting,
                         llvm::function_ref<Value(OpTy)> read) {
  bool areNamed = true;
  module.walk([&](OpTy op) { areNamed &= !moduleOf(read(op)).empty(); });
  if (areNamed)
    return Status::ok();
  return Status(ErrorCode::SpecDisagreesWithModel, spec.placeOf(setting.key()),
                "expected every " + OpTy::getOperationName().str() + " of " +
                    spec.model +
                    " to read a hone.parameter, whose name selects the random "
                    "numbers, but found something else",
                "remove " + setting.key() + ", or make it a parameter");
}

static Status addDropout(ModuleOp module, const Spec &spec,
                         rt::LoraSettings &lora) {
  const rt::Real &setting = spec.lora.lora_dropout;
  Written written{spec, setting};
  bool hasAdapters = false;
  module.walk([&](LoraLinearOp op) {
    hasAdapters = true;
    if (op.getDropout())
      written.numbers.push_back(op.getDropout()->convertToDouble());
  });
  if (lora.use_dora && (written.isThere() || setting > 0))
    return Status(
        ErrorCode::SpecDisagreesWithModel, spec.placeOf(setting.key()),
        "expected no dropout with the DoRA of " + spec.model +
            ", since PEFT then drops inputs of the weight, too, but found some",
        "remove one of the two");
  HONE_TRY(written.check());
  if (written.isThere()) {
    lora.lora_dropout = written.numbers.front();
    return Status::ok();
  }
  const double p = setting;
  if (!(p > 0))
    return Status::ok();
  if (!hasAdapters)
    return Status(ErrorCode::SpecDisagreesWithModel,
                  spec.placeOf(setting.key()),
                  "only adapters read it, and " + spec.model + " has none",
                  "remove " + setting.key());
  HONE_TRY(checkNames<LoraLinearOp>(
      module, spec, setting,
      [](LoraLinearOp op) -> Value { return op.getA(); }));
  module.walk([&](LoraLinearOp op) { setDropout(op, p); });
  return Status::ok();
}

static Status addNoise(ModuleOp module, const Spec &spec) {
  const rt::Real &setting = spec.train.neftune_noise_alpha;
  Written written{spec, setting};
  module.walk([&](EmbeddingNoiseOp op) {
    written.numbers.push_back(op.getAlpha().convertToDouble());
  });
  HONE_TRY(written.check());
  const double alpha = setting;
  if (written.isThere() || !(alpha > 0))
    return Status::ok();
  HONE_TRY(checkNames<EmbeddingOp>(
      module, spec, setting,
      [](EmbeddingOp op) -> Value { return op.getTable(); }));
  module.walk([&](EmbeddingOp op) { addNoise(op, alpha); });
  return Status::ok();
}

static Status smoothLabels(ModuleOp module, const Spec &spec) {
  const rt::Real &setting = spec.train.label_smoothing_factor;
  Written written{spec, setting};
  module.walk([&](LinearCrossEntropyOp op) {
    if (op.getSmoothing())
      written.numbers.push_back(op.getSmoothing()->convertToDouble());
  });
  HONE_TRY(written.check());
  const double part = setting;
  if (!written.isThere() && part > 0)
    module.walk([&](LinearCrossEntropyOp op) {
      op.setSmoothingAttr(Builder(op.getContext()).getF64FloatAttr(part));
    });
  return Status::ok();
}

Status hone::addRegularization(ModuleOp module, const Spec &spec,
                               rt::LoraSettings &lora) {
  HONE_TRY(addDropout(module, spec, lora));
  HONE_TRY(addNoise(module, spec));
  return smoothLabels(module, spec);
}
