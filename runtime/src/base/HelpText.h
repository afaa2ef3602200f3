//===- HelpText.h - The text of --help, in columns ------------------------===//

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

/// No line of a help is wider, unless one word of it is.
constexpr size_t helpWidth = 80;

/// `text` in lines of helpWidth at most, divided between words. Those after the
/// first begin with `indent` spaces; the first has `used` columns before it.
/// There is no line end after the last.
std::string wrapped(std::string_view text, size_t indent, size_t used = 0);

/// Two columns: "--data FILE" and its meaning.
struct HelpRow {
  std::string name, text;
};

/// `rows` below each other, each with a line end. A name that is wider than the
/// column of names has a line of its own.
std::string helpTable(const std::vector<HelpRow> &rows);

} // namespace hone::rt
