//===- Suggestion.h - "did you mean ...?" ---------------------------------===//
//
// Wherever an unknown word is refused, the message offers the nearest known
// one, or all of them when the word is no slip of the hand.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/NearestName.h"

#include "llvm/ADT/StringExtras.h"

#include <string>
#include <vector>

namespace hone {

/// "did you mean 'r'?", or "one of: a, b" when nothing is near.
inline std::string suggest(llvm::StringRef word,
                           const std::vector<std::string> &candidates) {
  std::string nearest = rt::nearestName(word.str(), candidates);
  if (!nearest.empty())
    return "did you mean '" + nearest + "'?";
  return "one of: " + llvm::join(candidates, ", ");
}

} // namespace hone
