//===- TokenEnds.cpp - Where tokens end in the text -----------------------===//

#include "text/TokenEnds.h"

#include "base/Utf8.h"

#include <algorithm>

namespace hone::rt {

/// The end of the character that has the byte at `at`.
size_t TokenEnds::endOfCharacter(size_t at) const {
  for (++at; at < text.size() && isUtf8Continuation(text[at]);)
    ++at;
  return at;
}

void TokenEnds::nextRun() {
  runBegin += run.size();
  begin = normalizer.position();
  run.clear();
  // The encoding has met the limits of runs already.
  normalizer.append(run, 1, text.size());
}

size_t TokenEnds::endOf(size_t bytes) {
  size_t last = std::max(bytes - 1, runBegin);
  if (!normalize)
    return endOfCharacter(last);
  while (runBegin + run.size() <= last && !normalizer.atEnd())
    nextRun();
  const size_t end = normalizer.position();
  last = std::min(last - runBegin, run.size() - 1);
  if (run == text.substr(begin, end - begin))
    return endOfCharacter(begin + last);
  const size_t lastCharacter = utf8CharacterStart(run, run.size() - 1);
  return last >= lastCharacter ? end : endOfCharacter(begin);
}

} // namespace hone::rt
