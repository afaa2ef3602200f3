//===- Counted.h - A number and its noun ----------------------------------===//

#pragma once

#include <cstdint>
#include <string>

namespace hone::rt {

/// `one` of one, `many` of any other number: "is" and "are".
inline std::string plural(uint64_t count, const std::string &one,
                          const std::string &many) {
  return count == 1 ? one : many;
}
/// "sample" of one, "samples" of any other number.
inline std::string plural(uint64_t count, const std::string &noun) {
  return plural(count, noun, noun + "s");
}

/// "1 sample", "2 samples".
inline std::string counted(uint64_t count, const std::string &noun) {
  return std::to_string(count) + " " + plural(count, noun);
}

/// "1 of 1 sample", "1 of 2 samples".
inline std::string countedOf(uint64_t part, uint64_t all,
                             const std::string &noun) {
  return std::to_string(part) + " of " + counted(all, noun);
}

} // namespace hone::rt
