//===- TokenizerBuilder.h - From a model folder to a tokenizer table ------===//
//
// Training binaries read the table. The meaning of a folder's files is in
// runtime/README.md, section Data.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <string>

namespace hone {

/// The table (TokenizerTable.h) of the tokenizer in `modelDir`, or an empty
/// string when the folder has no tokenizer. Reads tokenizer.json, or else
/// vocab.json with merges.txt; tokenizer_config.json and config.json complete
/// them. Errors: BadData for a tokenizer that is malformed or not supported.
Result<std::string> buildTokenizerTable(const std::string &modelDir);

} // namespace hone
