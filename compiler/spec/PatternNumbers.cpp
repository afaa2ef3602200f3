//===- PatternNumbers.cpp - rank_pattern or alpha_pattern -----------------===//

#include "compiler/spec/PatternNumbers.h"

using namespace hone;
using llvm::StringRef;

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
