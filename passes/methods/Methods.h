//===- Methods.h - The training methods -----------------------------------===//
//
// Questions of passes about the methods of a step. The list of methods is in
// MethodSettings.h, and a method's description in its folder.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/StepOptions.h"
#include "passes/methods/Method.h"
#include "passes/methods/backprop/BackwardMethod.h"

#include "mlir/Pass/PassManager.h"

namespace hone {

/// The descriptions, which are in the folders.
namespace methods {
#define HONE_METHOD_DESCRIPTION(DESCRIPTION, NAME, KIND) Method DESCRIPTION();
HONE_METHODS(HONE_METHOD_DESCRIPTION)
#undef HONE_METHOD_DESCRIPTION
} // namespace methods

/// Whether a method has values to keep from forward to backward.
bool hasBackward(const rt::Settings &settings);
/// Whether plans choose each layer's policy; else it is `mesp`, or none.
bool choosesResiduals(const rt::Settings &settings);
/// The parts that have a backward, where others have none; empty: all layers.
std::vector<std::string> partsWithBackward(const rt::Settings &settings);

/// The methods of `parts`; those with a backward have one in common.
llvm::SmallVector<std::unique_ptr<StepMethod>>
createMethods(StepModel &model, llvm::ArrayRef<TrainedPart> parts,
              const BackwardOptions &options);

/// How many layers of `loss` have a forward and a backward apart. Fails with a
/// diagnostic if parts cannot be cut as `settings` say.
mlir::FailureOr<int64_t> countDerivedLayers(EntryOp loss,
                                            const rt::Settings &settings);

/// Appends the passes that turn a loss into the schedules of a step.
void buildMethods(mlir::OpPassManager &pm, const StepOptions &options);

} // namespace hone
