//===- TextStream.cpp - Text as it may be shown while it is made ----------===//

#include "generate/TextStream.h"

#include "base/Utf8.h"

#include <algorithm>

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
  std::string out;
  const size_t found = stop.empty() ? std::string::npos : held.find(stop);
  stopped = found != std::string::npos;
  size_t kept = 0; // of what could begin the stop text
  if (!isEnd && !stopped && !stop.empty())
    for (kept = std::min(stop.size() - 1, held.size()); kept > 0; --kept)
      if (held.compare(held.size() - kept, kept, stop, 0, kept) == 0)
        break;
  const size_t size = stopped ? found : held.size() - kept;
  out = held.substr(0, size);
  held.erase(0, size);
  return out;
}

} // namespace hone::rt
