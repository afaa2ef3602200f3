//===- Utf8.h - Well-formed UTF-8 -----------------------------------------===//
//
// Table 3-7 of the Unicode standard: overlong forms, surrogates and values
// beyond U+10FFFF are not well formed.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_BASE_UTF8_H
#define HONE_RUNTIME_BASE_UTF8_H

#include <cstddef>
#include <string_view>

namespace hone::rt {

/// Bytes of the character that starts at `at`, 1 to 4; 0 when none that is
/// well formed does.
inline size_t utf8SequenceLength(std::string_view text, size_t at) {
  auto byte = [&](size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  if (at >= text.size())
    return 0;
  unsigned lead = byte(0);
  if (lead < 0x80)
    return 1;
  unsigned lowest = 0x80, highest = 0xBF;
  size_t trail = 0;
  if (lead >= 0xC2 && lead <= 0xDF)
    trail = 1;
  else if (lead >= 0xE0 && lead <= 0xEF)
    trail = 2;
  else if (lead >= 0xF0 && lead <= 0xF4)
    trail = 3;
  if (lead == 0xE0)
    lowest = 0xA0; // shorter forms exist below
  else if (lead == 0xED)
    highest = 0x9F; // surrogates above
  else if (lead == 0xF0)
    lowest = 0x90;
  else if (lead == 0xF4)
    highest = 0x8F; // beyond U+10FFFF above
  bool good = trail > 0 && byte(1) >= lowest && byte(1) <= highest;
  for (size_t i = 2; i <= trail; ++i)
    good = good && byte(i) >= 0x80 && byte(i) <= 0xBF;
  return good ? trail + 1 : 0;
}

} // namespace hone::rt

#endif
