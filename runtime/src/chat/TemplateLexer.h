//===- TemplateLexer.h - A chat template as tokens ------------------------===//
//
// White space as Transformers sets Jinja up: trim_blocks and lstrip_blocks.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

struct TemplateToken {
  enum Kind : uint8_t {
    Text,
    OutputBegin,
    OutputEnd,
    BlockBegin,
    BlockEnd,
    Name,
    String,
    Integer,
    Float,
    Operator,
    End,
  };
  Kind kind;
  uint32_t line;    ///< from 1
  std::string text; ///< of Text and String, unescaped
  int64_t number = 0;
};

class TemplateLexer {
public:
  /// Bytes of a template, and its tokens: they bound the memory of a tree.
  static constexpr size_t LongestTemplate = 64 * 1024;
  static constexpr size_t MostTokens = 16 * 1024;

  /// `place` names the template; messages are about "place:line".
  TemplateLexer(std::string_view source, std::string place);

  /// All tokens, the last of which is End. Errors: BadChatTemplate for text
  /// that is no Jinja, UnsupportedChatTemplate for Jinja beyond the subset.
  Status run(std::vector<TemplateToken> &tokens);

private:
  Status text();
  Status comment();
  bool startsRaw(size_t &bytes) const;
  Status raw(size_t bytes);
  Status inside(TemplateToken::Kind begin, TemplateToken::Kind end);
  bool atEnd(std::string_view closing, bool isBlock);
  Status string();
  Status escape(std::string &out, char quote);
  Status number();
  Status operatorToken();
  void add(TemplateToken::Kind kind, std::string value = {},
           int64_t number = 0);
  void skip(size_t bytes);
  std::string_view beforeTag(std::string_view data, char sign) const;
  size_t spaceAt(size_t position) const;
  Status bad(const std::string &problem) const;
  Status unsupported(const std::string &what) const;

  std::string source, place;
  std::vector<TemplateToken> *out = nullptr;
  std::vector<char> open; // brackets
  size_t at = 0;
  uint32_t line = 1;
  bool lineStarts = true; // the text before `at` ended a line
};

/// Bytes of the white space character of Python's str.isspace at `at`; 0: none.
size_t pythonSpaceAt(std::string_view text, size_t at);

/// As Python's str.strip(): `left` and `right` say where.
std::string_view pythonStrip(std::string_view text, bool left, bool right);

} // namespace hone::rt
