//===- ByteTokenizer.h - The smallest byte-level tokenizer ----------------===//

#ifndef HONE_COMPILER_HONE_MAKE_MODEL_BYTETOKENIZER_H
#define HONE_COMPILER_HONE_MAKE_MODEL_BYTETOKENIZER_H

#include "base/Status.h"

#include <string>

namespace hone {

/// Bytes and <|endoftext|>.
constexpr int64_t byteTokenizerVocabSize = 257;

/// Writes tokenizer.json and tokenizer_config.json: byte-level BPE without
/// merges, so token b is byte b, and 256 is <|endoftext|>.
/// Errors: CannotCreate, IoError.
rt::Status writeByteTokenizer(const std::string &directory);

} // namespace hone

#endif
