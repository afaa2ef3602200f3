//===- MarkedText.h - Text with marks on the data's special tokens --------===//
//
// Data must not be able to speak for the template: before each special token
// that it spells there is a mark, which ends in no output. Templates are to see
// neither marks nor their lack, so that each operation works on the text
// without them, and its parts get theirs back. A mark goes with the character
// after it: where a template cuts the token off, the mark must not be left for
// the text that it writes next.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

/// Never part of UTF-8.
inline constexpr char DataMark = char(0xFF);

class MarkedText {
public:
  /// `text` must outlive this.
  explicit MarkedText(std::string_view text);
  MarkedText(const MarkedText &) = delete;
  MarkedText &operator=(const MarkedText &) = delete;

  /// Without the marks.
  std::string_view plain() const { return view; }
  /// `part`, a part of plain(), with its marks.
  std::string marked(std::string_view part) const;
  /// Whether a mark is on the first character of `part`.
  bool isMarked(std::string_view part) const;

private:
  /// The first mark of `part`, which is not empty, or after it.
  std::vector<size_t>::const_iterator firstOf(std::string_view part) const;

  std::string without;       ///< if there are marks
  std::vector<size_t> marks; ///< where they were, in order
  std::string_view view;
};

/// Whether both are the same but for marks.
bool isSameText(std::string_view one, std::string_view other);

} // namespace hone::rt
