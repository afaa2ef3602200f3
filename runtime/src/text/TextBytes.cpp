//===- TextBytes.cpp - Bytes that are UTF-8 text --------------------------===//

#include "text/TextBytes.h"

#include "base/Utf8.h"

#include <algorithm>

namespace hone::rt {

size_t findNoText(std::string_view text) {
  const size_t zero = text.find('\0');
  const size_t invalid = findInvalidUtf8(text.substr(0, zero));
  return std::min(zero, invalid);
}

static Status notUtf8(const std::string &place, const std::string &found,
                      const std::string &remedy) {
  return Status(ErrorCode::DataNotUtf8, place,
                "expected UTF-8 text but " + found, remedy);
}

std::string utf8Remedy(const std::string &encoding) {
  return "convert the file, for example with iconv" +
         (encoding.empty() ? "" : " -f " + encoding) + " -t UTF-8";
}

Status noTextAt(const std::string &place, char byte, uint64_t offset) {
  const std::string found = "byte " + std::to_string(offset) + " of the file ";
  if (byte != '\0')
    return notUtf8(place, found + "begins no valid character", utf8Remedy());
  // Most letters have a zero beside their own byte.
  return notUtf8(place, found + "is zero, as in UTF-16",
                 utf8Remedy(offset % 2 == 0 ? "UTF-16BE" : "UTF-16LE"));
}

Status checkBeginning(const std::string &path, std::string_view content) {
  constexpr size_t lookedAt = 4096;
  const std::string_view begin = content.substr(0, lookedAt);
  const std::string_view mark = begin.substr(0, 2);
  if (mark == "\xFF\xFE" || mark == "\xFE\xFF")
    return notUtf8(path + ":1", "the file begins with the mark of UTF-16",
                   utf8Remedy("UTF-16"));
  const size_t zero = begin.find('\0');
  if (zero == std::string_view::npos)
    return Status::ok();
  const auto lines = std::count(begin.begin(), begin.begin() + zero, '\n');
  return noTextAt(path + ":" + std::to_string(lines + 1), '\0', zero);
}

} // namespace hone::rt
