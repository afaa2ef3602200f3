//===- TemplateText.h - Python's strings, as templates use them -----------===//
//
// Text is UTF-8; where Python counts, characters are counted. Unless it is said
// otherwise, it has no marks (MarkedText.h).
//
//===----------------------------------------------------------------------===//

#pragma once

#include "chat/MarkedText.h"
#include "chat/TemplateValue.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

/// Bytes of the character at the front of `text`, which is not empty.
size_t characterBytes(std::string_view text);
size_t characterCount(std::string_view text);

/// Whether one of its characters may be a digit to Python's int() and float().
bool hasNumber(std::string_view text);

/// str.strip(characters), or of white space if `characters` is null.
std::string_view stripText(std::string_view text, bool left, bool right,
                           const std::string *characters);

/// str.splitlines().
std::vector<std::string_view> splitLines(std::string_view text);

/// str.split(separator, most) or, from the right, rsplit; a null separator is
/// white space; `most` below 0: all.
std::vector<std::string_view> splitText(std::string_view text,
                                        const std::string *separator,
                                        int64_t most, bool fromRight);

/// str.replace(); `from` is not empty; `most` below 0: all. `to` has its marks,
/// and gets that of the text which it stands for. False when the result would
/// be longer than `limit`.
bool replaceText(const MarkedText &text, std::string_view from,
                 std::string_view to, int64_t most, size_t limit,
                 std::string &out);

enum class LetterCase { Upper, Lower, Capitalize, TitleMethod, TitleFilter };

/// Changes the case of ASCII, in text that may have marks; false for text with
/// other letters, whose tables are not here.
bool changeCase(std::string_view text, LetterCase to, std::string &out);

struct JsonFormat {
  int64_t indent = -1; ///< below 0: all in one line
  bool ensureAscii = false;
};

/// json.dumps(value, ensure_ascii=.., indent=..), with marks. False for a value
/// that JSON cannot hold, one longer than `limit`, or too much work.
bool toJson(const TemplateValue &value, const JsonFormat &format, size_t limit,
            TemplateWork &work, std::string &out);

/// Python's repr(value), as lists and mappings print, with marks. False as
/// toJson; also for characters of which it is not known here whether Python
/// shows them.
bool toRepr(const TemplateValue &value, size_t limit, TemplateWork &work,
            std::string &out);

/// Python's repr of a float.
void appendFloat(std::string &out, double value);

/// The date of strftime_now.
struct TemplateDate {
  int year = 0, month = 0, day = 0; ///< 0: it is not known
  bool isKnown() const { return year != 0; }
};

/// Reads "YYYY-MM-DD", a day of the Gregorian calendar from 1900 on.
bool parseDate(const std::string &text, TemplateDate &date);

/// strftime() of midnight on `date`. Returns the directive that it does not
/// know, or nothing.
std::string formatDate(const TemplateDate &date, std::string_view format,
                       std::string &out);

} // namespace hone::rt
