//===- Methods.h - The training methods -----------------------------------===//
//
// This is the one list of methods. What they may be told is in StepOptions.h,
// and in runtime/src/module/Settings.h for specs.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PASSES_METHODS_METHODS_H
#define HONE_PASSES_METHODS_METHODS_H

#include "passes/StepOptions.h"
#include "passes/methods/backprop/BackwardMethod.h"

#include "mlir/Pass/PassManager.h"

namespace hone {

/// Whether a method has values to keep from forward to backward.
bool hasBackward(const StepOptions &options);
/// Whether plans choose what each layer keeps; else it is `mesp`, or nothing.
bool choosesResiduals(const StepOptions &options);

/// What a method is told, from the text of options of StepOptions:
/// "method=mezo directions=4". Fails if that is no such text.
mlir::FailureOr<MethodOptions> parseMethodOptions(llvm::StringRef text);
/// The text that is parsed to what `options` tell a method.
std::string printMethodOptions(const StepOptions &options);

/// What a method is told whose gradient is compared with that of `options`.
MethodOptions comparedOptions(MethodOptions options, llvm::StringRef method);

/// The methods of `parts`; those with a backward have one in common. Fails with
/// a diagnostic if there is none of a name.
mlir::FailureOr<llvm::SmallVector<std::unique_ptr<StepMethod>>>
createMethods(StepModel &model, llvm::ArrayRef<TrainedPart> parts,
              const BackwardOptions &options);

/// How many layers of `loss` have a forward and a backward apart. Fails with a
/// diagnostic if parts cannot be cut as `options` say.
mlir::FailureOr<int64_t> countDerivedLayers(EntryOp loss,
                                            const StepOptions &options);

/// Appends the passes that turn a loss into the schedules of a step.
void buildMethods(mlir::OpPassManager &pm, const StepOptions &options);

} // namespace hone

#endif
