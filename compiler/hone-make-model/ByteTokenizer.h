//===- ByteTokenizer.h - The smallest byte-level tokenizer ----------------===//

#pragma once

#include "base/Status.h"

#include <string>

namespace hone {

/// Bytes and <|endoftext|>.
constexpr int64_t byteTokenizerVocabSize = 257;

/// Writes tokenizer.json and tokenizer_config.json: byte-level BPE without
/// merges, so token b is byte b, and 256 is <|endoftext|>.
/// Errors: CannotCreate, IoError.
Status writeByteTokenizer(const std::string &directory);

} // namespace hone
