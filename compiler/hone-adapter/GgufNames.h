//===- GgufNames.h - What llama.cpp calls the parts of a model ------------===//
//
// llama.cpp's gguf-py (tensor_mapping.py) and convert_hf_to_gguf.py are the
// sources. The names are those of Llama and its relatives; which families are
// among them is at the families (compiler/import/families).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_COMPILER_HONE_ADAPTER_GGUFNAMES_H
#define HONE_COMPILER_HONE_ADAPTER_GGUFNAMES_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace hone {

/// "blk.0.attn_q" for "model.layers.0.self_attn.q_proj"; "" if there is no such
/// module.
std::string ggufNameOf(llvm::StringRef module);

/// Where row `row` of a matrix of `rows`, with `heads` heads, goes to.
int64_t interleavedRow(int64_t row, int64_t rows, int64_t heads);

} // namespace hone

#endif
