//===- CheckedEncoding.h - A tokenizer that was accepted must work --------===//

#pragma once

#include "text/Tokenizer.h"

#include <cstdlib>
#include <string_view>

namespace hone::fuzz {

inline constexpr std::string_view Text =
    "The the 123 \xE2\x96\x81 caf\xC3\xA9 e\xCC\x81 <s>it's\n\n\t  aaaa";

/// Encodes some text; every id must be a token, and must decode, and their ends
/// go through the text to its own.
inline void encodeSomeText(const rt::Tokenizer &tokenizer) {
  struct Checked : rt::TokenSink {
    bool append(const int32_t *more, size_t count) override {
      for (size_t i = 0; i < count; ++i)
        if (more[i] < 0 || uint32_t(more[i]) >= tokens)
          std::abort();
      ids.insert(ids.end(), more, more + count);
      return true;
    }
    bool wantsEnds() const override { return true; }
    bool appendOne(int32_t id, size_t at) override {
      if (at < end || at > Text.size())
        std::abort();
      end = at;
      return append(&id, 1);
    }
    uint32_t tokens = 0;
    size_t end = 0;
    std::vector<int32_t> ids;
  } sink;
  sink.tokens = tokenizer.vocabularySize();
  rt::TokenizerScratch scratch;
  if (!tokenizer.encode(Text, "text", sink, scratch).isOk())
    std::abort();
  if (sink.end != Text.size())
    std::abort();
  (void)tokenizer.decode(sink.ids.data(), sink.ids.size());
}

} // namespace hone::fuzz
