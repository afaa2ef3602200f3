//===- PreTokenizer.cpp - Cutting text into pieces before BPE -------------===//
//
// The alternatives of each regular expression are tried in its order. The one
// rule that surprises: \s+(?!\S) gives its last white space back to the word
// that follows, unless it is the only one.
//
//===----------------------------------------------------------------------===//

#include "text/PreTokenizer.h"

#include "base/Utf8.h"
#include "text/Bpe.h"
#include "text/UnicodeClass.h"

namespace hone::rt {

static constexpr int EndOfText = -1;
static constexpr int Other = int(UnicodeClass::Other);
static constexpr int Letter = int(UnicodeClass::Letter);
static constexpr int Number = int(UnicodeClass::Number);
static constexpr int WhiteSpace = int(UnicodeClass::WhiteSpace);

/// One code point, its class (or EndOfText) and the offset after it.
struct PieceScanner::Peek {
  uint32_t point;
  int cls;
  size_t next;
};

static bool isNewline(uint32_t point) { return point == '\r' || point == '\n'; }

PieceScanner::Peek PieceScanner::peek(size_t at) {
  if (at >= text.size()) {
    sawEnd = true;
    return {0, EndOfText, at};
  }
  size_t next = at;
  const uint32_t point = decodeUtf8(text, next);
  const int cls = int(classify(point));
  // SmolLM2 cuts at digits first, so a digit ends the text for Gpt2.
  if (kind == PreTokenizerKind::Gpt2Digits && cls == Number)
    return {point, EndOfText, next};
  return {point, cls, next};
}

size_t PieceScanner::skipClass(size_t at, int cls) {
  for (Peek p = peek(at); p.cls == cls; p = peek(at))
    at = p.next;
  return at;
}

size_t PieceScanner::skipNewlines(size_t at) {
  for (Peek p = peek(at); p.cls == WhiteSpace && isNewline(p.point);
       p = peek(at))
    at = p.next;
  return at;
}

/// The end of 's 't 're 've 'm 'll 'd at `at`, or `at`.
size_t PieceScanner::contraction(size_t at, bool ignoreCase) {
  const Peek quote = peek(at);
  if (quote.point != '\'')
    return at;
  const auto letterAt = [&](size_t where, size_t &next) -> uint32_t {
    const Peek p = peek(where);
    next = p.next;
    if (!ignoreCase)
      return p.point;
    if (p.point == 0x17F) // the long s folds to s
      return 's';
    return p.point >= 'A' && p.point <= 'Z' ? p.point + 32 : p.point;
  };
  size_t one, two;
  const uint32_t first = letterAt(quote.next, one);
  if (first == 's' || first == 't' || first == 'm' || first == 'd')
    return one;
  if (first != 'r' && first != 'v' && first != 'l')
    return at;
  const uint32_t second = letterAt(one, two);
  return second == (first == 'l' ? 'l' : 'e') ? two : at;
}

/// White space at `at`, which nothing else took: \s*[\r\n]+ when
/// `newlinesFirst`, then \s+(?!\S), then \s+.
size_t PieceScanner::trailingSpace(size_t at, bool newlinesFirst) {
  size_t end = at, last = at, newline = at;
  Peek p = peek(end);
  for (; p.cls == WhiteSpace; p = peek(end)) {
    last = end;
    end = p.next;
    if (isNewline(p.point))
      newline = end;
  }
  if (newlinesFirst && newline != at)
    return newline;
  return p.cls == EndOfText || last == at ? end : last;
}

size_t PieceScanner::endOfGpt2(bool singleDigits) {
  if (singleDigits) {
    size_t next = start;
    if (classify(decodeUtf8(text, next)) == UnicodeClass::Number)
      return next;
  }
  const size_t contracted = contraction(start, /*ignoreCase=*/false);
  if (contracted != start)
    return contracted;
  Peek p = peek(start);
  if (p.point == ' ') {
    const Peek after = peek(p.next);
    if (after.cls != WhiteSpace && after.cls != EndOfText)
      p = after;
  }
  if (p.cls == WhiteSpace)
    return trailingSpace(start, /*newlinesFirst=*/false);
  return skipClass(p.next, p.cls);
}

size_t PieceScanner::endOfQwen2(unsigned longestNumber) {
  const size_t contracted = contraction(start, /*ignoreCase=*/true);
  if (contracted != start)
    return contracted;
  const Peek p = peek(start);
  if (p.cls == Letter)
    return skipClass(p.next, Letter);
  if (p.cls == Number) {
    size_t end = p.next;
    for (unsigned count = 1; count < longestNumber; ++count) {
      const Peek digit = peek(end);
      if (digit.cls != Number)
        break;
      end = digit.next;
    }
    return end;
  }
  const Peek after = peek(p.next);
  if (after.cls == Letter && !isNewline(p.point))
    return skipClass(after.next, Letter);
  if (p.cls == Other)
    return skipNewlines(skipClass(p.next, Other));
  if (p.point == ' ' && after.cls == Other)
    return skipNewlines(skipClass(after.next, Other));
  return trailingSpace(start, /*newlinesFirst=*/true);
}

uint32_t JoinedPairs::bitOf(uint32_t left, uint32_t right, uint32_t bytes) {
  const auto spelled = [](uint32_t point) {
    return point == ' ' ? 0x2581 : point;
  };
  return MergeTable::hash(spelled(left), spelled(right)) & (bytes * 8 - 1);
}

size_t PieceScanner::endAtBorder() {
  Peek left = peek(start);
  for (;;) {
    const Peek right = peek(left.next);
    if (right.cls == EndOfText || !joined.has(left.point, right.point))
      return left.next;
    left = right;
  }
}

std::string_view PieceScanner::next() {
  if (start == text.size())
    return {};
  sawEnd = false;
  size_t end = text.size();
  switch (kind) {
  case PreTokenizerKind::None:
    sawEnd = true;
    break;
  case PreTokenizerKind::Gpt2:
    end = endOfGpt2(/*singleDigits=*/false);
    break;
  case PreTokenizerKind::Gpt2Digits:
    end = endOfGpt2(/*singleDigits=*/true);
    break;
  case PreTokenizerKind::Qwen2:
    end = endOfQwen2(1);
    break;
  case PreTokenizerKind::Llama3:
    end = endOfQwen2(3);
    break;
  case PreTokenizerKind::UnmergedBorder:
    end = endAtBorder();
    break;
  }
  if (sawEnd && !isWhole)
    return {};
  const std::string_view piece = text.substr(start, end - start);
  start = end;
  return piece;
}

} // namespace hone::rt
