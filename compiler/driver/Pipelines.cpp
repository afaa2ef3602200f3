//===- Pipelines.cpp - The phases of the compiler -------------------------===//
//
// Comments between groups of passes say what holds from there on. Derive, Place
// and the part of Lower that is every target's end in a pass that verifies it.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Pipelines.h"
#include "passes/Passes.h"
#include "passes/methods/Methods.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace hone;
using namespace mlir;

llvm::StringRef hone::phaseName(CompilerPhase phase) {
  switch (phase) {
  case CompilerPhase::Import:
    return "import";
  case CompilerPhase::Derive:
    return "derive";
  case CompilerPhase::Place:
    return "place";
  case CompilerPhase::Lower:
    return "lower";
  case CompilerPhase::Emit:
    return "emit";
  }
  return "";
}

static void buildImport(OpPassManager &pm) {
  // A person may write one parameter or input twice in a block.
  pm.addPass(createCSEPass());
}

static void buildStreaming(OpPassManager &pm, const StepOptions &options,
                           const Target *target) {
  // Kernels of a device read a copy of the weights.
  if (options.streamWeights)
    pm.addPass(createStreamWeights());
  else if (target && target->hasHostKernels())
    pm.addPass(createStreamWeights({/*tables=*/true}));
}

static void buildDerive(OpPassManager &pm, const StepOptions &options,
                        const Target *target) {
  if (options.generationRows > 0) {
    pm.addPass(createDeriveGeneration(
        {options.generationRows, options.generationPositions}));
    buildStreaming(pm, options, target);
    return;
  }
  buildMethods(pm, options);
  // From here on the schedules say what runs when.
  if (!options.splitAfter.empty())
    pm.addPass(createSplitParts({llvm::to_vector(options.splitAfter),
                                 llvm::to_vector(options.parts),
                                 options.exchangeDtype, options.inFlight}));
  if (!options.part.empty()) {
    if (options.verifies && options.verifiesExchanges) {
      pm.addPass(createSeparateParts());
      // From here on each part is a module, and knows the others by messages.
      pm.addPass(createVerifyExchanges());
    }
    pm.addPass(createExtractPart({options.part}));
  }
  pm.addPass(createEraseUnused());
  if (options.verifies)
    pm.addPass(createVerifyStep());
  if (options.offloadedInputs > 0)
    pm.addPass(createOffloadInputs({options.offloadedInputs}));
  buildStreaming(pm, options, target);
}

static void buildPlace(OpPassManager &pm, const StepOptions &options,
                       const Target *target) {
  if (options.rematerialize)
    pm.addPass(createRematerialize());
  pm.addPass(createTileRows({options.tileRows, options.forwardTileRows}));
  // CSE and canonicalisation must not run from here on: they would move ops
  // across lifetimes that are already decided.
  pm.addPass(createPlace({options.accumulates, options.halvings,
                          target ? target->blocks().apartColumns : 0}));
  // From here on every buffer has an offset, and the peak is a constant.
  if (options.verifies)
    pm.addPass(createVerifyPlacement());
}

static void buildLower(OpPassManager &pm, const Target &target) {
  pm.addPass(createConvertToTiles(target.blocks(), target.kernels()));
  pm.addPass(createVerifyTiles(target.hasFloat64(), target.kernels()));
  // From here on there are functions of tile ops on memory, for any target.
  target.buildLoweringPipeline(pm);
  // From here on the module is in the LLVM dialect and calls nothing but the
  // runtime's symbols.
}

void hone::buildSizing(OpPassManager &pm, const Target &target) {
  pm.addPass(createConvertToTiles(target.blocks(), target.kernels()));
  target.buildSizingPipeline(pm);
}

void hone::buildPhase(OpPassManager &pm, CompilerPhase phase,
                      const StepOptions &options, const Target *target) {
  switch (phase) {
  case CompilerPhase::Import:
    return buildImport(pm);
  case CompilerPhase::Derive:
    return buildDerive(pm, options, target);
  case CompilerPhase::Place:
    return buildPlace(pm, options, target);
  case CompilerPhase::Lower:
    return buildLower(pm, *target);
  case CompilerPhase::Emit:
    return;
  }
}

void hone::registerPipelines() {
  static constexpr std::pair<CompilerPhase, const char *> pipelines[] = {
      {CompilerPhase::Import, "hone-pipeline-import"},
      {CompilerPhase::Derive, "hone-pipeline-derive"},
      {CompilerPhase::Place, "hone-pipeline-place"}};
  for (auto [phase, flag] : pipelines)
    PassPipelineRegistration<StepOptions>(
        flag, "the passes of honec's phase " + phaseName(phase).str(),
        [phase = phase](OpPassManager &pm, const StepOptions &options) {
          buildPhase(pm, phase, options, /*target=*/nullptr);
        });
}
