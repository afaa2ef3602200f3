//===- ModelBlocks.h - The blocks from which a run writes a model ---------===//
//
// Where all of a model trains, the compiled weights say which of the model's
// files had which tensor, and have copies of the small ones, so that the
// program needs nothing but itself and them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/weights/WeightIndex.h"
#include "compiler/weights/WeightWriter.h"

namespace hone {

/// The blocks that rt::ModelLayout describes, of the tensors `trained`, which
/// `source` has. `folder` is a Hugging Face directory, or empty: then there is
/// one file, of the parameters by name. The element type in config.json becomes
/// that of `stored`. Errors: MissingTensor, CannotRead.
Result<std::vector<WeightBlock>>
collectModelBlocks(const WeightIndex &source, llvm::ArrayRef<Parameter> trained,
                   const std::string &folder, mlir::Type stored);

} // namespace hone
