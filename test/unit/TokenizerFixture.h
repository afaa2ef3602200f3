//===- TokenizerFixture.h - Golden tokenizers, loaded ---------------------===//
//
// Shared by the tokenizer and the dataset tests. HONE_GOLDEN is the folder
// test/reference/golden; the test runner sets it.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "TemporaryFolder.h"

#include "base/Json.h"
#include "compiler/text/TokenizerBuilder.h"
#include "text/Tokenizer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace hone::test {

inline std::string readAll(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline std::string goldenTokenizer(const std::string &name) {
  const char *golden = std::getenv("HONE_GOLDEN");
  return std::string(golden == nullptr ? "test/reference/golden" : golden) +
         "/tokenizers/" + name;
}

/// The lines of a JSONL file.
inline std::vector<rt::Json> readLines(const std::string &path) {
  std::vector<rt::Json> lines;
  std::istringstream in(readAll(path));
  for (std::string line; std::getline(in, line);) {
    rt::Result<rt::Json> parsed = rt::Json::parse(line, path);
    EXPECT_TRUE(parsed.isOk()) << parsed.status().render();
    lines.push_back(parsed.value());
  }
  EXPECT_FALSE(lines.empty()) << path << " is missing or empty";
  return lines;
}

inline std::vector<int32_t> idsOf(const rt::Json *list) {
  std::vector<int32_t> ids;
  for (const rt::Json &id : list->array())
    ids.push_back(int32_t(id.integer()));
  return ids;
}

class IdSink : public rt::TokenSink {
public:
  bool append(const int32_t *more, size_t count) override {
    ids.insert(ids.end(), more, more + count);
    return true;
  }
  std::vector<int32_t> ids;
};

/// A tokenizer with the block that it reads.
struct LoadedTokenizer {
  explicit LoadedTokenizer(const std::string &folder) {
    rt::Result<std::string> built = buildTokenizerTable(folder);
    EXPECT_TRUE(built.isOk()) << built.status().render();
    block = built.value();
    rt::Result<rt::Tokenizer> opened = rt::Tokenizer::fromTable(block);
    EXPECT_TRUE(opened.isOk()) << opened.status().render();
    tokenizer = opened.value();
  }
  LoadedTokenizer(const LoadedTokenizer &) = delete;
  LoadedTokenizer &operator=(const LoadedTokenizer &) = delete;

  std::vector<int32_t> encode(std::string_view text,
                              const rt::SpecialTokens &special = {}) {
    IdSink sink;
    rt::Status status = tokenizer.encode(text, "text", sink, scratch, special);
    EXPECT_TRUE(status.isOk()) << status.render();
    return sink.ids;
  }

  std::string block;
  rt::Tokenizer tokenizer;
  rt::TokenizerScratch scratch;
};

} // namespace hone::test
