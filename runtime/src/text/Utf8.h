//===- Utf8.h - Reading UTF-8 ---------------------------------------------===//
//
// Text is checked once, where it enters, with findInvalidUtf8. Everything
// behind that point decodes without checks, and must only see checked text.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_TEXT_UTF8_H
#define HONE_RUNTIME_TEXT_UTF8_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hone::rt {

/// The offset of the first byte that begins no well-formed UTF-8 sequence
/// (Unicode 16, table 3-7: no surrogates, no overlong forms, at most U+10FFFF),
/// or npos.
size_t findInvalidUtf8(std::string_view text);

/// Bytes of the sequence that `lead` begins, 1 to 4. `lead` is a valid lead.
inline size_t utf8Length(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/// The code point at `offset` of checked text; moves `offset` behind it.
inline uint32_t decodeUtf8(std::string_view text, size_t &offset) {
  const auto byte = [&](size_t i) -> uint32_t {
    return static_cast<unsigned char>(text[offset + i]);
  };
  const uint32_t lead = byte(0);
  const size_t length = utf8Length(static_cast<unsigned char>(lead));
  uint32_t point = lead;
  if (length == 2)
    point = (lead & 0x1F) << 6 | (byte(1) & 0x3F);
  else if (length == 3)
    point = (lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  else if (length == 4)
    point = (lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 |
            (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  offset += length;
  return point;
}

/// Appends `point`, a scalar value, to `out`.
void appendUtf8(std::string &out, uint32_t point);

} // namespace hone::rt

#endif
