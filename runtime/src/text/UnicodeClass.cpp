//===- UnicodeClass.cpp - Letters, numbers and white space ----------------===//
//
// White space is the property White_Space, 25 code points that no Unicode
// version will change; the other two come from a generated table.
//
//===----------------------------------------------------------------------===//

#include "text/UnicodeClass.h"

#include <algorithm>
#include <iterator>

namespace hone::rt {

#include "text/UnicodeClasses.inc"

bool contains(const CodeRange *begin, const CodeRange *end, uint32_t point) {
  const CodeRange *after =
      std::upper_bound(begin, end, point, [](uint32_t p, const CodeRange &r) {
        return p < r.first;
      });
  return after != begin && point <= after[-1].last;
}

static bool isWhiteSpace(uint32_t point) {
  if (point < 0x80)
    return point == ' ' || (point >= '\t' && point <= '\r');
  return point == 0x85 || point == 0xA0 || point == 0x1680 ||
         (point >= 0x2000 && point <= 0x200A) || point == 0x2028 ||
         point == 0x2029 || point == 0x202F || point == 0x205F ||
         point == 0x3000;
}

UnicodeClass classify(uint32_t point) {
  if (isWhiteSpace(point))
    return UnicodeClass::WhiteSpace;
  if (point < 0x80) {
    const uint32_t lower = point | 0x20;
    if (lower >= 'a' && lower <= 'z')
      return UnicodeClass::Letter;
    return point >= '0' && point <= '9' ? UnicodeClass::Number
                                        : UnicodeClass::Other;
  }
  if (contains(std::begin(letterRanges), std::end(letterRanges), point))
    return UnicodeClass::Letter;
  if (contains(std::begin(numberRanges), std::end(numberRanges), point))
    return UnicodeClass::Number;
  return UnicodeClass::Other;
}

} // namespace hone::rt
