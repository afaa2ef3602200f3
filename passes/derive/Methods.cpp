//===- Methods.cpp - The training methods ---------------------------------===//

#include "passes/derive/Methods.h"

#include "passes/Passes.h"

#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace hone {

namespace {
struct Method {
  llvm::StringLiteral name;
  void (*build)(OpPassManager &, const StepOptions &);
  bool hasBackward = false;
  /// What plans choose is what each layer keeps, too.
  bool (*choosesResiduals)(const StepOptions &) = nullptr;
};
} // namespace

static void buildBackward(OpPassManager &pm, const StepOptions &options,
                          StringRef selection) {
  pm.addPass(createDeriveBackward(
      {options.residuals, options.recomputedInputs, options.roundedInputs}));
  // From here on the module computes gradients: every value that the backward
  // reads is kept or recomputed, explicitly.
  pm.addPass(createScheduleStep(
      {options.optimizer, llvm::to_vector(options.ranks), options.rank,
       options.optimizerInBackward, selection.str(), options.selectionRatio,
       options.selectionGroups, options.selectionWarmup, options.unselected}));
}

static constexpr Method kMethods[] = {
    {"backprop",
     [](OpPassManager &pm, const StepOptions &options) {
       buildBackward(pm, options, "");
     },
     true, [](const StepOptions &) { return true; }},
    {"lcsb",
     [](OpPassManager &pm, const StepOptions &options) {
       buildBackward(pm, options, options.selection);
     },
     true,
     [](const StepOptions &options) { return options.unselected == "exact"; }},
    {"mezo",
     [](OpPassManager &pm, const StepOptions &options) {
       pm.addPass(createScheduleSpsa(
           {options.optimizer, options.directions, /*oneSided=*/false}));
     }},
    {"mezo-one-sided",
     [](OpPassManager &pm, const StepOptions &options) {
       pm.addPass(createScheduleSpsa(
           {options.optimizer, options.directions, /*oneSided=*/true}));
     }},
    {"fgd",
     [](OpPassManager &pm, const StepOptions &options) {
       pm.addPass(createScheduleForwardGradient(
           {options.optimizer, options.directions}));
     }},
};

static const Method *findMethod(StringRef name) {
  const Method *found = llvm::find_if(
      kMethods, [&](const Method &method) { return method.name == name; });
  return found == std::end(kMethods) ? nullptr : found;
}

bool hasBackward(const StepOptions &options) {
  const Method *found = findMethod(options.method);
  return found && found->hasBackward;
}

bool choosesResiduals(const StepOptions &options) {
  const Method *found = findMethod(options.method);
  return found && found->choosesResiduals && found->choosesResiduals(options);
}

void buildMethod(OpPassManager &pm, const StepOptions &options) {
  const Method *found = findMethod(options.method);
  if (!found)
    llvm::reportFatalUsageError(llvm::Twine("there is no training method '") +
                                options.method + "'");
  found->build(pm, options);
}

} // namespace hone
