//===- TokenizerFuzzer.cpp - Any folder as a tokenizer --------------------===//
//
// libFuzzer target; parts: tokenizer.json, tokenizer_config.json, config.json,
// vocab.json, merges.txt. A table that was built must be one that opens.
//
//===----------------------------------------------------------------------===//

#include "CheckedEncoding.h"
#include "Parts.h"
#include "compiler/text/TokenizerBuilder.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::Folder folder;
  auto parts = fuzz::split({reinterpret_cast<const char *>(data), size});
  parts.resize(5);
  static constexpr const char *Names[] = {
      "tokenizer.json", "tokenizer_config.json", "config.json", "vocab.json",
      "merges.txt"};
  for (size_t i = 0; i < parts.size(); ++i)
    folder.write(Names[i], parts[i]);
  rt::Result<std::string> table = buildTokenizerTable(folder.path);
  if (!table.isOk()) {
    fuzz::requireMessage(table.status());
    return 0;
  }
  if (table.value().empty())
    return 0; // no tokenizer
  rt::Result<rt::Tokenizer> opened = rt::Tokenizer::fromTable(table.value());
  if (!opened.isOk())
    std::abort();
  fuzz::encodeSomeText(opened.value());
  return 0;
}
