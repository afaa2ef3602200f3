//===- Utf8.h - Well-formed UTF-8 -----------------------------------------===//
//
// Table 3-7 of the Unicode standard: overlong forms, surrogates and values
// beyond U+10FFFF are not well formed. Text is checked once, where it enters,
// with findInvalidUtf8; decodeUtf8 checks nothing and must only see such text.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
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

/// The offset of the first byte that begins no well-formed sequence, or npos.
size_t findInvalidUtf8(std::string_view text);

/// Whether `byte` goes on with a character that an earlier one begins.
inline bool isUtf8Continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// Where the character begins that has the byte `at`, an offset in `text`.
inline size_t utf8CharacterStart(std::string_view text, size_t at) {
  while (at > 0 && isUtf8Continuation(text[at]))
    --at;
  return at;
}

/// The whole characters of the first `most` bytes. Text that is not well formed
/// may be cut anywhere.
std::string_view utf8Prefix(std::string_view text, size_t most);

/// For messages: `text`, or its prefix of at most `most` bytes and "...".
std::string shortened(std::string_view text, size_t most);

/// Bytes of the sequence that `lead` begins, 1 to 4. `lead` is a valid lead.
inline size_t utf8Length(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/// The code point at `offset` of checked text; moves `offset` past it.
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
