//===- NearestName.cpp - "did you mean ...?" ------------------------------===//
//
// A name that begins with the typed word also counts as near: people shorten.
//
//===----------------------------------------------------------------------===//

#include "base/NearestName.h"

#include <algorithm>
#include <cstddef>

namespace hone::rt {

/// Insertions, deletions and replacements that turn `a` into `b`.
static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({row[j - 1] + 1, above + 1,
                         diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string nearestName(const std::string &typed,
                        const std::vector<std::string> &names) {
  std::string best;
  size_t limit = std::max<size_t>(2, typed.size() / 3);
  size_t bestDistance = limit + 1;
  for (const std::string &name : names) {
    size_t distance = editDistance(typed, name);
    if (typed.size() >= 3 && name.compare(0, typed.size(), typed) == 0)
      distance = 1;
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

} // namespace hone::rt
