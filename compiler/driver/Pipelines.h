//===- Pipelines.h - The phases of the compiler ---------------------------===//
//
// One build function for each phase that is made of passes. honec and hone-opt
// run the same functions; a phase's contract is in README.md.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/StepOptions.h"
#include "targets/Target.h"

namespace hone {

enum class CompilerPhase {
  Import, ///< hone ops: the model and its loss
  Derive, ///< hone ops: the training step
  Place,  ///< the same, each buffer with an offset and a lifetime
  Lower,  ///< the target's dialect; no hone op is left
  Emit,   ///< files
};

constexpr CompilerPhase allPhases[] = {
    CompilerPhase::Import, CompilerPhase::Derive, CompilerPhase::Place,
    CompilerPhase::Lower, CompilerPhase::Emit};

/// "import", "derive", ...
llvm::StringRef phaseName(CompilerPhase phase);

/// Appends the passes of `phase`. Lower needs `target`; Emit has no passes.
void buildPhase(mlir::OpPassManager &pm, CompilerPhase phase,
                const StepOptions &options, const Target *target);

/// Appends the first passes of phase Lower, after which the module says what
/// a thread and the kernels' tables need.
void buildSizing(mlir::OpPassManager &pm, const Target &target);

/// hone-pipeline-<phase>, for hone-opt.
void registerPipelines();

} // namespace hone
