//===- TextStream.cpp - Text as it may be shown while it is made ----------===//

#include "generate/TextStream.h"

#include "base/Utf8.h"

#include <algorithm>
#include <tuple>

namespace hone::rt {

/// Whether more bytes could make a character of all of `text`.
static bool mayBecomeCharacter(std::string_view text) {
  // Least and largest continuations, of which one is well formed if any is.
  for (const char *rest : {"\x80\x80\x80", "\xBF\xBF\xBF"}) {
    const std::string whole = std::string(text) + rest;
    if (utf8SequenceLength(whole, 0) > text.size())
      return true;
  }
  return false;
}

std::string TextStream::add(std::string_view more) {
  bytes += more;
  size_t at = 0;
  while (at < bytes.size()) {
    const std::string_view left = std::string_view(bytes).substr(at);
    if (size_t size = utf8SequenceLength(left, 0)) {
      held += left.substr(0, size);
      at += size;
      continue;
    }
    if (left.size() < 4 && mayBecomeCharacter(left))
      break;
    // The longest beginning of a character is one replacement.
    size_t size = 1;
    while (size < left.size() && mayBecomeCharacter(left.substr(0, size + 1)))
      ++size;
    held += "\xEF\xBF\xBD";
    at += size;
  }
  bytes.erase(0, at);
  return release(/*isEnd=*/false);
}

std::string TextStream::finish() {
  if (!bytes.empty())
    held += "\xEF\xBF\xBD";
  bytes.clear();
  return release(/*isEnd=*/true);
}

std::string TextStream::release(bool isEnd) {
  if (stopped)
    return "";
  size_t size = held.size(), end = std::string::npos;
  for (const std::string &stop : stops) {
    const size_t found = held.find(stop);
    if (found == std::string::npos)
      continue;
    const size_t itsEnd = found + stop.size();
    if (itsEnd < end || (itsEnd == end && found < size))
      std::tie(size, end) = std::pair(found, itsEnd);
  }
  stopped = end != std::string::npos;
  size_t kept = 0; // bytes that could begin a stop text
  if (!isEnd && !stopped)
    for (const std::string &stop : stops)
      for (size_t most = std::min(stop.size() - 1, held.size()); most > kept;
           --most)
        if (held.compare(held.size() - most, most, stop, 0, most) == 0)
          kept = most;
  std::string out = held.substr(0, size - kept);
  held.erase(0, out.size());
  return out;
}

} // namespace hone::rt
