//===- Encode.cpp - The tokenizer as a filter, for the scripts here -------===//
//
// Usage: encode MODEL-FOLDER [parse] [template]. With parse, special tokens
// that a text spells are tokens; with template, the post-processor's tokens are
// there. Standard input holds texts, each a u32 length and its bytes; standard
// output gets a u32 count and i32 ids for each. All numbers are little-endian.
//
//===----------------------------------------------------------------------===//

#include "compiler/text/TokenizerBuilder.h"
#include "text/Tokenizer.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

using namespace hone;
using namespace hone::rt;

namespace {
class Collector : public TokenSink {
public:
  bool append(const int32_t *ids, size_t count) override {
    all.insert(all.end(), ids, ids + count);
    return true;
  }
  std::vector<int32_t> all;
};
} // namespace

static int fail(const Status &status) {
  std::fputs(status.render().c_str(), stderr);
  return int(status.exitCode());
}

int main(int argc, char **argv) {
  SpecialTokens special;
  bool isTemplated = false;
  for (int i = 2; i < argc; ++i) {
    special.parse |= std::strcmp(argv[i], "parse") == 0;
    isTemplated |= std::strcmp(argv[i], "template") == 0;
  }
  if (argc < 2)
    return fail(Status(ErrorCode::MissingOption, "encode", "expects a folder",
                       "encode MODEL-FOLDER"));
  Result<std::string> table = buildTokenizerTable(argv[1]);
  if (!table.isOk())
    return fail(table.status());
  Result<Tokenizer> tokenizer = Tokenizer::fromTable(table.value());
  if (!tokenizer.isOk())
    return fail(tokenizer.status());
  TokenizerScratch scratch;
  std::string text;
  uint32_t length;
  for (size_t i = 0; std::fread(&length, sizeof length, 1, stdin) == 1; ++i) {
    text.resize(length);
    if (std::fread(text.data(), 1, length, stdin) != length)
      return 1;
    Collector ids;
    const TokenizerTable &contents = tokenizer.value().contents();
    for (uint32_t k = 0; isTemplated && k < contents.beforeCount(); ++k)
      ids.all.push_back(int32_t(contents.before(k)));
    Status status = tokenizer.value().encode(text, "text " + std::to_string(i),
                                             ids, scratch, special);
    if (!status.isOk())
      return fail(status);
    for (uint32_t k = 0; isTemplated && k < contents.afterCount(); ++k)
      ids.all.push_back(int32_t(contents.after(k)));
    const uint32_t count = uint32_t(ids.all.size());
    std::fwrite(&count, sizeof count, 1, stdout);
    std::fwrite(ids.all.data(), sizeof(int32_t), count, stdout);
  }
  return 0;
}
