//===- ModulePattern.cpp - Keys of rank_pattern and alpha_pattern ---------===//

#include "compiler/spec/ModulePattern.h"

#include "llvm/ADT/StringExtras.h"

using namespace hone;
using llvm::StringRef;

/// Paths of modules are short. Keys must be, too, since their compiler
/// recurses.
static constexpr size_t longestKey = 256;

static std::string expressionOf(StringRef key) {
  return ("^(.*[.])?(" + key + ")$").str();
}

/// A part of `key` that means another thing, or nothing, to one of the two
/// languages, or ends the text around the key; empty: there is none.
static StringRef findForeign(StringRef key) {
  bool isInBrackets = false;
  int64_t depth = 0;
  for (size_t i = 0; i < key.size(); ++i) {
    const StringRef next = key.substr(i, 2);
    const char c = next.front();
    if (isInBrackets) {
      if (c == '\\' || next == "[:" || next == "[." || next == "[=")
        return next;
      isInBrackets = c != ']';
      continue;
    }
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    bool isEscape = c == '\\';
    if (c == '{' || next == "(?" || depth < 0 ||
        (isEscape && (next.size() < 2 || llvm::isAlnum(next[1]))))
      return next;
    if (isEscape)
      ++i;
    isInBrackets = c == '[';
    // A bracket that comes first is one of the characters.
    if (isInBrackets && key.substr(i + 1).starts_with("^"))
      ++i;
    if (isInBrackets && key.substr(i + 1).starts_with("]"))
      ++i;
  }
  return {};
}

std::string ModulePattern::problemOf(StringRef key) {
  if (key.empty() || key.size() > longestKey)
    return "has " + std::to_string(key.size()) + " characters, not 1 to " +
           std::to_string(longestKey);
  if (StringRef foreign = findForeign(key); !foreign.empty())
    return "has '" + foreign.str() +
           "', which is none of . [] | () * + ? ^ $ and escaped punctuation";
  std::string error;
  if (!llvm::Regex(expressionOf(key)).isValid(error))
    return "is no regular expression: " + error;
  return "";
}

ModulePattern::ModulePattern(StringRef key) : expression(expressionOf(key)) {}

std::string PatternNumbers::problemOf(const rt::ModuleNumbers &numbers) {
  if (numbers.size() <= mostKeys)
    return "";
  return "at most " + std::to_string(mostKeys) + " keys, found " +
         std::to_string(numbers.size());
}

PatternNumbers::PatternNumbers(const rt::ModuleNumbers &numbers) {
  keys.reserve(numbers.size());
  for (const auto &[key, number] : numbers)
    keys.push_back({ModulePattern(key), key, number});
}

size_t PatternNumbers::find(StringRef path, size_t from) const {
  while (from < keys.size() && !keys[from].pattern.names(path))
    ++from;
  return from;
}

double PatternNumbers::numberOf(StringRef path, double standard) const {
  const size_t i = find(path);
  return i < keys.size() ? keys[i].number : standard;
}
