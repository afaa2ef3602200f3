//===- HelpText.cpp - The text of --help, in columns ----------------------===//

#include "base/HelpText.h"

#include "base/Utf8.h"

#include <algorithm>

namespace hone::rt {

/// Columns that `text` takes on a terminal: one for each character.
static size_t columnsOf(std::string_view text) {
  return text.size() -
         size_t(std::count_if(text.begin(), text.end(), isUtf8Continuation));
}

std::string wrapped(std::string_view text, size_t indent, size_t used) {
  std::string out;
  size_t column = used;
  for (bool isFirst = true; !text.empty(); isFirst = false) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t width = columnsOf(word);
    if (!isFirst && column + 1 + width > helpWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!isFirst) {
      out += ' ';
      ++column;
    }
    out += word;
    column += width;
  }
  return out;
}

std::string helpTable(const std::vector<HelpRow> &rows) {
  constexpr size_t margin = 2, gap = 2, mostOfNames = 24;
  size_t names = 0;
  for (const HelpRow &row : rows)
    if (columnsOf(row.name) <= mostOfNames)
      names = std::max(names, columnsOf(row.name));
  const size_t column = margin + names + gap;
  std::string out;
  for (const HelpRow &row : rows) {
    out += std::string(margin, ' ') + row.name;
    const size_t used = margin + columnsOf(row.name);
    if (!row.text.empty())
      out += (used + gap <= column ? std::string(column - used, ' ')
                                   : "\n" + std::string(column, ' ')) +
             wrapped(row.text, column, column);
    out += "\n";
  }
  return out;
}

} // namespace hone::rt
