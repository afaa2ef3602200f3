//===- TextBytes.h - Bytes that are UTF-8 text ----------------------------===//
//
// A zero is a character of UTF-8, but no text has one. A file that does is
// UTF-16 or no text at all, and would train as such without a word.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace hone::rt {

/// Where `text` has a byte that no text has: a zero, or one that begins no
/// character. npos: nowhere.
size_t findNoText(std::string_view text);

/// How a file becomes UTF-8, which is in `encoding` if that is known.
std::string utf8Remedy(const std::string &encoding = "");

/// The error of such a byte, which is the `offset`-th of the file, from 0.
Status noTextAt(const std::string &place, char byte, uint64_t offset);

/// Checks the beginning of a file. Errors: DataNotUtf8 for UTF-16.
Status checkBeginning(const std::string &path, std::string_view content);

} // namespace hone::rt
