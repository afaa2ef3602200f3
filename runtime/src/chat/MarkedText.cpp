//===- MarkedText.cpp - Text with marks on the data's special tokens ------===//

#include "chat/MarkedText.h"

#include <algorithm>

namespace hone::rt {

MarkedText::MarkedText(std::string_view text) : view(text) {
  if (text.find(DataMark) == std::string_view::npos)
    return;
  without.reserve(text.size());
  for (char c : text)
    if (c == DataMark)
      marks.push_back(without.size());
    else
      without.push_back(c);
  view = without;
}

std::vector<size_t>::const_iterator
MarkedText::firstOf(std::string_view part) const {
  return std::lower_bound(marks.begin(), marks.end(),
                          size_t(part.data() - view.data()));
}

std::string MarkedText::marked(std::string_view part) const {
  if (marks.empty() || part.empty())
    return std::string(part);
  const size_t begin = size_t(part.data() - view.data());
  std::string out;
  size_t done = 0;
  for (auto mark = firstOf(part);
       mark != marks.end() && *mark < begin + part.size(); ++mark) {
    out.append(part, done, *mark - begin - done);
    out.push_back(DataMark);
    done = *mark - begin;
  }
  return out.append(part, done);
}

bool MarkedText::isMarked(std::string_view part) const {
  if (part.empty())
    return false;
  const auto mark = firstOf(part);
  return mark != marks.end() && *mark == size_t(part.data() - view.data());
}

bool isSameText(std::string_view one, std::string_view other) {
  if (one == other)
    return true;
  for (size_t i = 0, k = 0;; ++i, ++k) {
    while (i < one.size() && one[i] == DataMark)
      ++i;
    while (k < other.size() && other[k] == DataMark)
      ++k;
    if (i == one.size() || k == other.size())
      return i == one.size() && k == other.size();
    if (one[i] != other[k])
      return false;
  }
}

} // namespace hone::rt
