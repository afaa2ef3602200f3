//===- DecoderSizes.h - What config.json says of a decoder's matrices -----===//

#ifndef HONE_COMPILER_HONE_ADAPTER_DECODERSIZES_H
#define HONE_COMPILER_HONE_ADAPTER_DECODERSIZES_H

#include "compiler/hone-adapter/BaseModel.h"

#include "llvm/ADT/StringRef.h"

namespace hone {

/// Of a matrix [out, in]; 0: config.json does not say.
struct MatrixSize {
  int64_t out = 0, in = 0;
};

/// Of `module` of a layer ("self_attn.q_proj") or of the model ("lm_head"), as
/// Llama and its relatives name them; unknown for other names. Errors:
/// BadConfig.
rt::Result<MatrixSize> sizeOf(const BaseModel &model, llvm::StringRef module);

} // namespace hone

#endif
