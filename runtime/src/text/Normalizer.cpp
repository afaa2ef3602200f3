//===- Normalizer.cpp - Unicode normalisation form C ----------------------===//
//
// UAX #15: decompose, sort marks by combining class, compose. A code point that
// is a starter and stable in NFC never joins the one before it, so the text is
// cut in front of each of those.
//
//===----------------------------------------------------------------------===//

#include "text/Normalizer.h"

#include "base/Utf8.h"
#include "text/UnicodeClass.h"

#include <algorithm>
#include <iterator>

namespace hone::rt {

namespace {
struct ClassedRange {
  uint32_t first, last;
  uint8_t combiningClass;
};
struct Singleton {
  uint32_t point, to;
};
struct Decomposition {
  uint32_t point, first, second;
  uint32_t third = 0, fourth = 0; // 0 where there is none
};
struct Composition {
  uint32_t first, second, composite;
};
} // namespace

#include "text/UnicodeCompositions.inc"
#include "text/UnicodeDecompositions.inc"

// Hangul syllables are arithmetic (Unicode 16, section 3.12).
static constexpr uint32_t SyllableBase = 0xAC00, LeadBase = 0x1100,
                          VowelBase = 0x1161, TailBase = 0x11A7, LeadCount = 19,
                          VowelCount = 21, TailCount = 28,
                          SyllableCount = LeadCount * VowelCount * TailCount;

// Below U+0300 every code point is a starter and stable.
static constexpr uint32_t FirstUnstable = 0x300;

static uint8_t combiningClass(uint32_t point) {
  if (point < FirstUnstable)
    return 0;
  const ClassedRange *after = std::upper_bound(
      std::begin(combiningClasses), std::end(combiningClasses), point,
      [](uint32_t p, const ClassedRange &r) { return p < r.first; });
  if (after == std::begin(combiningClasses) || point > after[-1].last)
    return 0;
  return after[-1].combiningClass;
}

static bool isUnstable(uint32_t point) {
  return point >= FirstUnstable &&
         contains(std::begin(unstableRanges), std::end(unstableRanges), point);
}

static uint32_t compose(uint32_t first, uint32_t second) {
  const uint32_t lead = first - LeadBase, vowel = second - VowelBase;
  if (lead < LeadCount && vowel < VowelCount)
    return SyllableBase + (lead * VowelCount + vowel) * TailCount;
  const uint32_t syllable = first - SyllableBase, tail = second - TailBase;
  if (syllable < SyllableCount && syllable % TailCount == 0 && tail > 0 &&
      tail < TailCount)
    return first + tail;
  const Composition *found = std::lower_bound(
      std::begin(compositionPairs), std::end(compositionPairs), 0,
      [&](const Composition &c, int) {
        return c.first != first ? c.first < first : c.second < second;
      });
  if (found == std::end(compositionPairs) || found->first != first ||
      found->second != second)
    return 0;
  return found->composite;
}

bool NfcCheck::add(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      previous = 0;
      ++at;
      continue;
    }
    const uint32_t point = decodeUtf8(text, at);
    const uint8_t current = combiningClass(point);
    if (isUnstable(point) || (current != 0 && previous > current))
      return false;
    previous = current;
  }
  return true;
}

void NfcNormalizer::reset(std::string_view checkedText) {
  text = checkedText;
  offset = 0;
  run.clear();
}

void NfcNormalizer::push(uint32_t point) {
  run.push_back({point, uint32_t(run.size()), combiningClass(point)});
}

void NfcNormalizer::decompose(uint32_t point) {
  const auto before = [](const auto &row, uint32_t p) { return row.point < p; };
  if (point < 0xC0)
    return push(point);
  const uint32_t syllable = point - SyllableBase;
  if (syllable < SyllableCount) {
    push(LeadBase + syllable / (VowelCount * TailCount));
    push(VowelBase + syllable / TailCount % VowelCount);
    if (syllable % TailCount != 0)
      push(TailBase + syllable % TailCount);
    return;
  }
  const Singleton *one = std::lower_bound(std::begin(singletons),
                                          std::end(singletons), point, before);
  if (one != std::end(singletons) && one->point == point)
    return push(one->to);
  const Decomposition *many = std::lower_bound(
      std::begin(decompositions), std::end(decompositions), point, before);
  if (many == std::end(decompositions) || many->point != point)
    return push(point);
  for (uint32_t part : {many->first, many->second, many->third, many->fourth})
    if (part != 0)
      push(part);
}

void NfcNormalizer::reorder() {
  const auto isStarter = [](const Mark &m) { return m.combiningClass == 0; };
  for (auto at = run.begin(); at != run.end();) {
    at = std::find_if_not(at, run.end(), isStarter);
    const auto end = std::find_if(at, run.end(), isStarter);
    std::sort(at, end, [](const Mark &a, const Mark &b) {
      return a.combiningClass != b.combiningClass
                 ? a.combiningClass < b.combiningClass
                 : a.order < b.order;
    });
    at = end;
  }
}

void NfcNormalizer::composeTo(std::string &out) {
  constexpr size_t None = ~size_t(0);
  size_t kept = 0, starter = None;
  for (size_t i = 0; i < run.size(); ++i) {
    const Mark current = run[i];
    // A mark is blocked by a kept one of the same or a higher class, and a
    // starter by anything kept since the last starter.
    const bool adjacent = starter + 1 == kept;
    const bool blocked =
        starter == None ||
        (!adjacent && run[kept - 1].combiningClass >= current.combiningClass);
    const uint32_t composite =
        blocked ? 0 : compose(run[starter].point, current.point);
    if (composite != 0) {
      run[starter].point = composite;
      continue;
    }
    if (current.combiningClass == 0)
      starter = kept;
    run[kept++] = current;
  }
  for (size_t i = 0; i < kept; ++i)
    appendUtf8(out, run[i].point);
  run.clear();
}

bool NfcNormalizer::append(std::string &out, size_t wantedSize,
                           size_t longestRun) {
  while (offset < text.size() && out.size() < wantedSize) {
    decompose(decodeUtf8(text, offset));
    while (offset < text.size()) {
      size_t next = offset;
      const uint32_t point = decodeUtf8(text, next);
      if (combiningClass(point) == 0 && !isUnstable(point))
        break;
      if (run.size() >= longestRun)
        return false;
      decompose(point);
      offset = next;
    }
    reorder();
    composeTo(out);
  }
  return true;
}

} // namespace hone::rt
