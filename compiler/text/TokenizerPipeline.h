//===- TokenizerPipeline.h - The stages around BPE in tokenizer.json ------===//
//
// Normalizer, pre-tokenizer and post-processor. Each is recognised exactly or
// refused by name: a stage that is nearly right gives a model ids that it was
// never trained on, and nothing would tell.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Json.h"
#include "text/TokenizerTable.h"

#include <string>

namespace hone {

/// Whether the vocabulary spells bytes with GPT-2's printable alphabet.
struct PipelineStages {
  bool byteLevel = false;
};

/// Reads the three stages of `root`, the content of the file `path`, into
/// `definition`. Errors: BadData for a stage that is not supported.
Status readPipeline(const rt::Json &root, const std::string &path,
                    rt::TokenizerDefinition &definition,
                    PipelineStages &stages);

/// BadData: "expected <expected> but found <found>" at `where` in `path`.
Status unsupportedTokenizer(const std::string &path, const rt::Json *where,
                            const std::string &problem);

} // namespace hone
