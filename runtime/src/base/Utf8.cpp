//===- Utf8.cpp - Well-formed UTF-8 ---------------------------------------===//
//
// Eight ASCII bytes are passed at a time.
//
//===----------------------------------------------------------------------===//

#include "base/Utf8.h"

#include <cstring>

namespace hone::rt {

size_t findInvalidUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight;
    if (text.size() - at >= sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const size_t length = utf8SequenceLength(text, at);
    if (length == 0)
      return at;
    at += length;
  }
  return std::string_view::npos;
}

std::string_view utf8Prefix(std::string_view text, size_t most) {
  if (text.size() <= most)
    return text;
  const size_t start = utf8CharacterStart(text, most);
  // No character has more than three bytes after its first.
  return text.substr(0, most - start <= 3 ? start : most);
}

std::string shortened(std::string_view text, size_t most) {
  const std::string_view prefix = utf8Prefix(text, most);
  return std::string(prefix) + (prefix.size() < text.size() ? "..." : "");
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
