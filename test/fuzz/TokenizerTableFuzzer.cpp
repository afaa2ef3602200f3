//===- TokenizerTableFuzzer.cpp - Any bytes as a tokenizer table ----------===//
//
// libFuzzer target. The table comes with the weights file; an accepted table
// must encode any text to ids that it has.
//
//===----------------------------------------------------------------------===//

#include "CheckedEncoding.h"
#include "Parts.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view block(reinterpret_cast<const char *>(data), size);
  rt::Result<rt::Tokenizer> opened = rt::Tokenizer::fromTable(block, "input");
  if (opened.isOk())
    fuzz::encodeSomeText(opened.value());
  else
    fuzz::requireMessage(opened.status());
  return 0;
}
