//===- UnicodeClass.h - Letters, numbers and white space ------------------===//
//
// Follows Unicode 16, as the regular expressions of the Hugging Face
// `tokenizers` library do. Marks (category M) are Other: \p{L} excludes them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>

namespace hone::rt {

/// An inclusive range of code points.
struct CodeRange {
  uint32_t first, last;
};

/// Whether the ascending, disjoint ranges [begin, end) contain `point`.
bool contains(const CodeRange *begin, const CodeRange *end, uint32_t point);

enum class UnicodeClass : uint8_t {
  Other,
  Letter,     ///< \p{L}
  Number,     ///< \p{N}
  WhiteSpace, ///< \s
};

UnicodeClass classify(uint32_t point);

} // namespace hone::rt
