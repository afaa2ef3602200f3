//===- Methods.cpp - The training methods ---------------------------------===//

#include "passes/methods/Methods.h"

#include "passes/Passes.h"
#include "passes/derive/ActivityAnalysis.h"
#include "passes/methods/StepSettings.h"

using namespace mlir;

namespace hone {

const Method *findMethod(StringRef name) {
#define HONE_NAMED_METHOD(DESCRIPTION, NAME, KIND)                             \
  {NAME, methods::DESCRIPTION()},
  static const std::pair<StringRef, Method> all[] = {
      HONE_METHODS(HONE_NAMED_METHOD)};
#undef HONE_NAMED_METHOD
  for (const auto &[own, method] : all)
    if (own == name)
      return &method;
  return nullptr;
}

namespace {
struct NamedMethod {
  std::string part; ///< empty: all layers
  const rt::MethodSettings &settings;
  const Method &method;
};
} // namespace

/// The methods of a step, compared ones included.
static std::vector<NamedMethod> methodsOf(const rt::Settings &settings) {
  const rt::TrainSettings &train = settings.train;
  std::vector<NamedMethod> all;
  auto add = [&](StringRef part, const rt::MethodSettings &own,
                 StringRef name) {
    all.push_back({part.str(), own, *findMethod(name)});
  };
  if (settings.hasParts()) {
    for (const auto &part : settings.parts)
      add(part->part, *part, part->method);
    return all;
  }
  add("", train, train.method);
  if (settings.compares())
    add("", train, train.compare);
  return all;
}

bool hasBackward(const rt::Settings &settings) {
  return llvm::any_of(methodsOf(settings), [](const NamedMethod &own) {
    return !own.method.create;
  });
}

bool choosesResiduals(const rt::Settings &settings) {
  bool any = false;
  for (const NamedMethod &own : methodsOf(settings))
    if (own.method.choosesResiduals) {
      if (!own.method.choosesResiduals(own.settings))
        return false;
      any = true;
    }
  return any;
}

std::vector<std::string> partsWithBackward(const rt::Settings &settings) {
  std::vector<std::string> found;
  if (!settings.hasParts())
    return found;
  const std::vector<NamedMethod> all = methodsOf(settings);
  for (const NamedMethod &own : all)
    if (!own.method.create)
      found.push_back(own.part);
  if (found.size() == all.size())
    found.clear();
  return found;
}

SmallVector<std::unique_ptr<StepMethod>>
createMethods(StepModel &model, ArrayRef<TrainedPart> parts,
              const BackwardOptions &options) {
  SmallVector<std::unique_ptr<StepMethod>> methods;
  std::vector<TrainedPart> withBackward;
  for (const TrainedPart &part : parts)
    if (part.method.create)
      methods.push_back(part.method.create(model, part));
    else
      withBackward.push_back(part);
  if (!withBackward.empty())
    methods.push_back(
        std::make_unique<BackwardMethod>(model, withBackward, options));
  return methods;
}

FailureOr<int64_t> countDerivedLayers(EntryOp loss,
                                      const rt::Settings &settings) {
  Value returned = loss.getBodyBlock().getTerminator()->getOperand(0);
  const std::vector<std::string> trained = partsWithBackward(settings);
  FailureOr<LayerParts> parts = cutParts(settings, loss);
  if (failed(parts))
    return failure();
  EntryActivity activity(
      loss, [&](StringRef prefix) { return parts->hasAny(trained, prefix); });
  const Layers layers = Layers::of(loss);
  return llvm::count_if(
      activity.callsBefore(returned.getDefiningOp<CallOp>()),
      [&](CallOp call) { return layers.has(call.getPrefix()); });
}

void buildMethods(OpPassManager &pm, const StepOptions &options) {
  pm.addPass(createDeriveBackward(
      {options.residuals, options.recomputedInputs, options.roundedInputs}));
  // From here on a module whose methods have a backward computes gradients:
  // every value that the backward reads is kept or recomputed, explicitly.
  pm.addPass(createScheduleStep());
}

} // namespace hone
