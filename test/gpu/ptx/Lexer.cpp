//===- Lexer.cpp - Words of PTX text --------------------------------------===//

#include "Lexer.h"

namespace hone::ptx {

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isNamePart(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         c == '_' || c == '$' || c == '%' || c == '.';
}

bool tokenize(std::string_view text, std::vector<Token> &tokens,
              std::string &error) {
  uint32_t line = 1;
  size_t at = 0;
  auto starts = [&](std::string_view what) {
    return text.substr(at, what.size()) == what;
  };
  while (at < text.size()) {
    const char c = text[at];
    if (c == '\n') {
      ++line;
      ++at;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\0') {
      ++at;
    } else if (starts("//")) {
      while (at < text.size() && text[at] != '\n')
        ++at;
    } else if (starts("/*")) {
      const uint32_t first = line;
      for (at += 2; at < text.size() && !starts("*/"); ++at)
        line += text[at] == '\n';
      if (at >= text.size()) {
        error = "line " + std::to_string(first) + ": this comment has no end";
        return false;
      }
      at += 2;
    } else if (c == '"') {
      const size_t begin = ++at;
      while (at < text.size() && text[at] != '"' && text[at] != '\n')
        ++at;
      if (at >= text.size() || text[at] != '"') {
        error = "line " + std::to_string(line) + ": this string has no end";
        return false;
      }
      tokens.push_back({Token::String, text.substr(begin, at - begin), line});
      ++at;
    } else if (isNamePart(c)) {
      const size_t begin = at;
      // `shared::cta` is one word.
      while (at < text.size() &&
             (isNamePart(text[at]) || (starts("::") && at + 2 < text.size() &&
                                       isNamePart(text[at + 2]))))
        at += starts("::") ? 2 : 1;
      tokens.push_back({isDigit(c) ? Token::Number : Token::Name,
                        text.substr(begin, at - begin), line});
    } else {
      tokens.push_back({Token::Character, text.substr(at, 1), line});
      ++at;
    }
  }
  tokens.push_back({Token::End, "the end", line});
  return true;
}

} // namespace hone::ptx
