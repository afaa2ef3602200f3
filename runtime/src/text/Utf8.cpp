//===- Utf8.cpp - Reading UTF-8 -------------------------------------------===//
//
// The second byte's range depends on the lead byte; that one rule excludes
// overlong forms, surrogates and values above U+10FFFF.
//
//===----------------------------------------------------------------------===//

#include "text/Utf8.h"

#include <cstring>

namespace hone::rt {

/// Bytes of the well-formed sequence at `text`, or 0.
static size_t wellFormedLength(const unsigned char *text, size_t left) {
  const unsigned char lead = text[0];
  if (lead < 0x80)
    return 1;
  if (lead < 0xC2 || lead > 0xF4)
    return 0;
  const size_t length = utf8Length(lead);
  if (left < length)
    return 0;
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (text[1] < low || text[1] > high)
    return 0;
  for (size_t i = 2; i < length; ++i)
    if ((text[i] & 0xC0) != 0x80)
      return 0;
  return length;
}

size_t findInvalidUtf8(std::string_view text) {
  const auto *bytes = reinterpret_cast<const unsigned char *>(text.data());
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight;
    if (text.size() - at >= sizeof eight) {
      std::memcpy(&eight, bytes + at, sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const size_t length = wellFormedLength(bytes + at, text.size() - at);
    if (length == 0)
      return at;
    at += length;
  }
  return std::string_view::npos;
}

void appendUtf8(std::string &out, uint32_t point) {
  const auto put = [&](uint32_t byte) { out.push_back(char(byte)); };
  if (point < 0x80) {
    put(point);
    return;
  }
  if (point < 0x800) {
    put(0xC0 | point >> 6);
  } else {
    if (point < 0x10000) {
      put(0xE0 | point >> 12);
    } else {
      put(0xF0 | point >> 18);
      put(0x80 | (point >> 12 & 0x3F));
    }
    put(0x80 | (point >> 6 & 0x3F));
  }
  put(0x80 | (point & 0x3F));
}

} // namespace hone::rt
