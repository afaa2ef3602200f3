//===- NearestName.h - "did you mean ...?" --------------------------------===//
//
// The Levenshtein distance decides; a name that is further away than a third of
// the typed word is not offered, since a wrong hint is worse than none.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <string>
#include <vector>

namespace hone::rt {

/// The first of the nearest names, or "" when none is near.
std::string nearestName(const std::string &typed,
                        const std::vector<std::string> &names);

} // namespace hone::rt
