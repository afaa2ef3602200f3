//===- Methods.cpp - The training methods ---------------------------------===//

#include "passes/methods/Methods.h"

#include "passes/Passes.h"
#include "passes/derive/ActivityAnalysis.h"
#include "passes/methods/directions/DirectionMethod.h"
#include "runtime/src/module/Setting.h"

using namespace mlir;

namespace hone {

namespace {
struct Method {
  llvm::StringLiteral name;
  /// Null: it has a backward.
  std::unique_ptr<StepMethod> (*create)(StepModel &, const TrainedPart &);
  /// What plans choose is what each layer keeps, too.
  bool (*choosesResiduals)(const MethodOptions &) = nullptr;
  bool selects = false;
};
} // namespace

static constexpr Method kMethods[] = {
    {"backprop", nullptr, [](const MethodOptions &) { return true; }},
    {"lcsb", nullptr,
     [](const MethodOptions &options) { return options.unselected == "exact"; },
     /*selects=*/true},
    {"mezo",
     [](StepModel &model, const TrainedPart &part) {
       return createSpsaMethod(model, part, /*oneSided=*/false);
     }},
    {"mezo-one-sided",
     [](StepModel &model, const TrainedPart &part) {
       return createSpsaMethod(model, part, /*oneSided=*/true);
     }},
    {"fgd", createForwardGradientMethod},
};

static const Method *findMethod(StringRef name) {
  const Method *found = llvm::find_if(
      kMethods, [&](const Method &method) { return method.name == name; });
  return found == std::end(kMethods) ? nullptr : found;
}

FailureOr<MethodOptions> parseMethodOptions(StringRef text) {
  StepOptions options;
  if (failed(options.parseFromString(text)))
    return failure();
  return MethodOptions::of(options);
}

std::string printMethodOptions(const StepOptions &options) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // An option is a cl::opt, and knows its name.
  auto print = [&](const auto &option, const std::string &value) {
    stream << (text.empty() ? "" : " ") << option.ArgStr << "=" << value;
  };
  print(options.method, options.method);
  print(options.optimizer, options.optimizer);
  print(options.rateOfB, options.rateOfB ? "true" : "false");
  print(options.directions, std::to_string(options.directions));
  if (!options.directionScales.empty())
    print(options.directionScales, options.directionScales);
  print(options.selection, options.selection);
  print(options.selectionRatio, rt::formatExact(options.selectionRatio));
  print(options.selectionRatioEnd, rt::formatExact(options.selectionRatioEnd));
  print(options.selectionSchedule, options.selectionSchedule);
  print(options.selectionGroups, std::to_string(options.selectionGroups));
  print(options.selectionWarmup, std::to_string(options.selectionWarmup));
  print(options.selectionPeriod, std::to_string(options.selectionPeriod));
  print(options.unselected, options.unselected);
  print(options.unselectedUpdate, options.unselectedUpdate);
  return text;
}

namespace {
struct NamedOptions {
  std::string part; ///< empty: all layers
  MethodOptions options;
};
} // namespace

MethodOptions comparedOptions(MethodOptions options, StringRef method) {
  options.method = method.str();
  if (method != "fgd") // which alone reads them
    options.directionScales.clear();
  return options;
}

/// The methods of a step; none of what cannot be parsed.
static std::vector<NamedOptions> methodsOf(const StepOptions &options) {
  std::vector<NamedOptions> parts;
  if (options.lower.empty() && options.upper.empty()) {
    parts.push_back({"", MethodOptions::of(options)});
    if (!options.compare.empty())
      parts.push_back(
          {"", comparedOptions(parts.front().options, options.compare)});
    return parts;
  }
  for (auto [name, text] :
       {std::pair(LayerParts::lower, options.lower.getValue()),
        std::pair(LayerParts::upper, options.upper.getValue())})
    if (FailureOr<MethodOptions> own = parseMethodOptions(text); succeeded(own))
      parts.push_back({name.str(), *own});
  return parts;
}

static bool hasBackward(const MethodOptions &options) {
  const Method *found = findMethod(options.method);
  return found && !found->create;
}

bool hasBackward(const StepOptions &options) {
  return llvm::any_of(methodsOf(options), [](const NamedOptions &part) {
    return hasBackward(part.options);
  });
}

bool choosesResiduals(const StepOptions &options) {
  // Inputs in slots are all that a selected layer may keep.
  bool any = false;
  for (const NamedOptions &part : methodsOf(options))
    if (const Method *found = findMethod(part.options.method);
        found && found->choosesResiduals) {
      if (!found->choosesResiduals(part.options))
        return false;
      any = true;
    }
  return any;
}

FailureOr<SmallVector<std::unique_ptr<StepMethod>>>
createMethods(StepModel &model, ArrayRef<TrainedPart> parts,
              const BackwardOptions &options) {
  SmallVector<std::unique_ptr<StepMethod>> methods;
  std::vector<TrainedPart> withBackward;
  for (const TrainedPart &part : parts) {
    const Method *found = findMethod(part.options.method);
    if (!found)
      return model.module.emitError("expects a training method but got '")
             << part.options.method << "'";
    if (found->create) {
      methods.push_back(found->create(model, part));
      continue;
    }
    withBackward.push_back(part);
    if (!found->selects)
      withBackward.back().options.selection.clear();
  }
  if (!withBackward.empty())
    methods.push_back(
        std::make_unique<BackwardMethod>(model, withBackward, options));
  return methods;
}

/// The part that has a backward; empty: all layers.
static std::string partWithBackward(const StepOptions &options) {
  std::string found;
  for (const NamedOptions &part : methodsOf(options))
    if (hasBackward(part.options)) {
      if (!found.empty())
        return "";
      found = part.part;
    }
  return found;
}

FailureOr<int64_t> countDerivedLayers(EntryOp loss,
                                      const StepOptions &options) {
  Value returned = loss.getBodyBlock().getTerminator()->getOperand(0);
  std::string part = partWithBackward(options);
  FailureOr<LayerParts> parts =
      LayerParts::cutFor(part, loss, options.lowerLayers);
  if (failed(parts))
    return failure();
  EntryActivity activity(
      loss, [&](StringRef prefix) { return parts->has(part, prefix); });
  const Layers layers = Layers::of(loss);
  return llvm::count_if(
      activity.callsBefore(returned.getDefiningOp<CallOp>()),
      [&](CallOp call) { return layers.has(call.getPrefix()); });
}

void buildMethods(OpPassManager &pm, const StepOptions &options) {
  if (hasBackward(options))
    pm.addPass(createDeriveBackward(
        {options.residuals, options.recomputedInputs, options.roundedInputs,
         options.lowerLayers, partWithBackward(options)}));
  // From here on the module computes gradients: every value that the backward
  // reads is kept or recomputed, explicitly.
  pm.addPass(createScheduleStep({options.method,
                                 options.optimizer,
                                 options.rateOfB,
                                 options.directions,
                                 options.directionScales,
                                 options.selection,
                                 options.selectionRatio,
                                 options.selectionRatioEnd,
                                 options.selectionSchedule,
                                 options.selectionGroups,
                                 options.selectionWarmup,
                                 options.selectionPeriod,
                                 options.unselected,
                                 options.unselectedUpdate,
                                 options.compare,
                                 options.lowerLayers,
                                 options.lower,
                                 options.upper,
                                 llvm::to_vector(options.ranks),
                                 options.rank,
                                 options.optimizerInBackward}));
}

} // namespace hone
