//===- WeightWriter.h - The weights that the training binary maps ---------===//
//
// Streams the model's tensors into one safetensors file, in the element type
// and layout that the kernels read. No tensor is ever in memory as a whole.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_COMPILER_WEIGHTWRITER_H
#define HONE_COMPILER_WEIGHTWRITER_H

#include "compiler/import/WeightIndex.h"
#include "targets/ModuleDescription.h"

namespace hone {

/// Writes `path` whole or not at all: every tensor of `weights` from `source`,
/// and `tokenizer` as the tensor hone.tokenizer unless it is empty. Metadata:
/// format "hone", layout, source_hash. Errors: CannotCreate, IoError.
rt::Status writeWeights(const std::string &path,
                        const std::vector<WeightDescription> &weights,
                        const WeightIndex &source, const std::string &tokenizer,
                        const char *layout, const std::string &sourceHash);

} // namespace hone

#endif
