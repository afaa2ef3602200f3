//===- Regularization.cpp - What a model does in training alone -----------===//
//
// Random streams are called by the names of Hugging Face modules, so what they
// hold does not depend on how a model is cut into blocks.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/Regularization.h"
#include "dialects/Hone/HoneOps.h"

using namespace hone;
using namespace mlir;

static Value createKey(OpBuilder &builder, Location loc) {
  auto type = RankedTensorType::get(4, builder.getI32Type());
  return InputOp::create(builder, loc, type, InputOp::getRandomKeyName());
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

  /// Whether the model has it; `status` is an error if the spec disagrees.
  bool isThere(Status &status) const {
    for (double number : numbers)
      if (status.isOk() &&
          (number != numbers.front() ||
           (spec.given.count(setting.key()) && number != setting)))
        status = Status(
            ErrorCode::SpecDisagreesWithModel, spec.placeOf(setting.key()),
            "expected one number for all of " + spec.model + ", which has " +
                rt::formatExact(numbers.front()) + ", but found " +
                (number != numbers.front() ? rt::formatExact(number)
                                           : setting.text()),
            "leave " + setting.key() + " out of the spec, or out of the model");
    return !numbers.empty();
  }
};
} // namespace

/// That what `read` says of each `OpTy` is a parameter, whose module the random
/// numbers are of.
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

Status hone::addRegularization(ModuleOp module, const Spec &spec,
                               rt::LoraSettings &lora) {
  Written dropout{spec, spec.lora.lora_dropout};
  Written noise{spec, spec.train.neftune_noise_alpha};
  Written smoothing{spec, spec.train.label_smoothing_factor};
  bool hasAdapters = false;
  module.walk([&](LoraLinearOp op) {
    hasAdapters = true;
    if (op.getDropout())
      dropout.numbers.push_back(op.getDropout()->convertToDouble());
  });
  module.walk([&](EmbeddingNoiseOp op) {
    noise.numbers.push_back(op.getAlpha().convertToDouble());
  });
  module.walk([&](LinearCrossEntropyOp op) {
    if (op.getSmoothing())
      smoothing.numbers.push_back(op.getSmoothing()->convertToDouble());
  });

  if (lora.use_dora && (!dropout.numbers.empty() || spec.lora.lora_dropout > 0))
    return Status(
        ErrorCode::SpecDisagreesWithModel,
        spec.placeOf(spec.lora.lora_dropout.key()),
        "expected no dropout with the DoRA of " + spec.model +
            ", since PEFT then drops inputs of the weight, too, but found some",
        "remove one of the two");
  Status status = Status::ok();
  if (dropout.isThere(status))
    lora.lora_dropout = dropout.numbers.front();
  else if (double p = spec.lora.lora_dropout; p > 0 && !hasAdapters)
    return Status(ErrorCode::SpecDisagreesWithModel,
                  spec.placeOf(spec.lora.lora_dropout.key()),
                  "only adapters read it, and " + spec.model + " has none",
                  "remove " + spec.lora.lora_dropout.key());
  else if (p > 0) {
    status = checkNames<LoraLinearOp>(
        module, spec, spec.lora.lora_dropout,
        [](LoraLinearOp op) -> Value { return op.getA(); });
    HONE_TRY(status);
    module.walk([&](LoraLinearOp op) { setDropout(op, p); });
  }
  if (double alpha = spec.train.neftune_noise_alpha;
      !noise.isThere(status) && alpha > 0) {
    HONE_TRY(checkNames<EmbeddingOp>(
        module, spec, spec.train.neftune_noise_alpha,
        [](EmbeddingOp op) -> Value { return op.getTable(); }));
    module.walk([&](EmbeddingOp op) { addNoise(op, alpha); });
  }
  if (double part = spec.train.label_smoothing_factor;
      !smoothing.isThere(status) && part > 0)
    module.walk([&](LinearCrossEntropyOp op) {
      op.setSmoothingAttr(Builder(op.getContext()).getF64FloatAttr(part));
    });
  return status;
}
