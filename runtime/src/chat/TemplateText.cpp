//===- TemplateText.cpp - Python's strings, as templates use them ---------===//

#include "chat/TemplateText.h"

#include "base/Utf8.h"
#include "chat/TemplateLexer.h"
#include "text/UnicodeClass.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace hone::rt {

size_t characterBytes(std::string_view text) {
  return std::min(size_t(utf8Length(uint8_t(text.front()))), text.size());
}

size_t characterCount(std::string_view text) {
  return text.size() -
         size_t(std::count_if(text.begin(), text.end(), isUtf8Continuation));
}

bool hasNumber(std::string_view text) {
  for (size_t at = 0; at < text.size();)
    if (classify(decodeUtf8(text, at)) == UnicodeClass::Number)
      return true;
  return false;
}

static std::string_view lastCharacter(std::string_view text) {
  return text.substr(utf8CharacterStart(text, text.size() - 1));
}

/// Whether `character` is one of `characters`: as a substring it would also
/// match within others only if UTF-8 allowed that.
static bool isOneOf(std::string_view character, const std::string &characters) {
  return characters.find(character) != std::string::npos;
}

std::string_view stripText(std::string_view text, bool left, bool right,
                           const std::string *characters) {
  if (characters == nullptr)
    return pythonStrip(text, left, right);
  while (left && !text.empty()) {
    const size_t size = characterBytes(text);
    if (!isOneOf(text.substr(0, size), *characters))
      break;
    text.remove_prefix(size);
  }
  while (right && !text.empty()) {
    const std::string_view last = lastCharacter(text);
    if (!isOneOf(last, *characters))
      break;
    text.remove_suffix(last.size());
  }
  return text;
}

/// Bytes of the line end at `at`; 0: there is none.
static size_t lineEndAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? uint8_t(text[at + i]) : 0u;
  };
  const unsigned a = byte(0), b = byte(1), c = byte(2);
  if (a == '\r')
    return b == '\n' ? 2 : 1;
  if ((a >= 10 && a <= 12) || (a >= 0x1C && a <= 0x1E))
    return 1;
  if (a == 0xC2 && b == 0x85)
    return 2;
  return a == 0xE2 && b == 0x80 && (c == 0xA8 || c == 0xA9) ? 3 : 0;
}

std::vector<std::string_view> splitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = lineEndAt(text, at);
    if (end != 0) {
      lines.push_back(text.substr(start, at - start));
      start = at + end;
    }
    at += std::max<size_t>(end, 1);
  }
  if (start < text.size())
    lines.push_back(text.substr(start));
  return lines;
}

static std::vector<std::string_view>
splitAtSpace(std::string_view text, int64_t most, bool fromRight) {
  std::vector<std::string_view> parts;
  for (;;) {
    text = pythonStrip(text, !fromRight, fromRight);
    if (text.empty())
      break;
    if (most >= 0 && int64_t(parts.size()) >= most) {
      parts.push_back(text); // with the white space at its far end
      break;
    }
    if (!fromRight) {
      size_t end = 0;
      while (end < text.size() && pythonSpaceAt(text, end) == 0)
        end += characterBytes(text.substr(end));
      parts.push_back(text.substr(0, end));
      text.remove_prefix(end);
      continue;
    }
    size_t begin = text.size();
    while (begin > 0) {
      const std::string_view last = lastCharacter(text.substr(0, begin));
      if (pythonSpaceAt(last, 0) != 0)
        break;
      begin -= last.size();
    }
    parts.push_back(text.substr(begin));
    text = text.substr(0, begin);
  }
  if (fromRight)
    std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> splitText(std::string_view text,
                                        const std::string *separator,
                                        int64_t most, bool fromRight) {
  if (separator == nullptr)
    return splitAtSpace(text, most, fromRight);
  std::vector<std::string_view> parts;
  while (most < 0 || int64_t(parts.size()) < most) {
    const size_t found =
        fromRight ? text.rfind(*separator) : text.find(*separator);
    if (found == std::string_view::npos)
      break;
    const size_t after = found + separator->size();
    parts.push_back(fromRight ? text.substr(after) : text.substr(0, found));
    text = fromRight ? text.substr(0, found) : text.substr(after);
  }
  parts.push_back(text);
  if (fromRight)
    std::reverse(parts.begin(), parts.end());
  return parts;
}

bool replaceText(const MarkedText &given, std::string_view from,
                 std::string_view to, int64_t most, size_t limit,
                 std::string &out) {
  const std::string_view text = given.plain();
  for (size_t at = 0;;) {
    const size_t found =
        most == 0 ? std::string_view::npos : text.find(from, at);
    const size_t end = std::min(found, text.size());
    if (out.size() + (end - at) + to.size() > limit)
      return false;
    out += given.marked(text.substr(at, end - at));
    if (found == std::string_view::npos)
      return true;
    if (!to.empty() && given.isMarked(text.substr(found)))
      out.push_back(DataMark);
    out.append(to);
    at = found + from.size();
    most -= most > 0;
  }
}

static bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char withCase(char c, bool upper) {
  if (!isLetter(c))
    return c;
  return char(upper ? c & ~0x20 : c | 0x20);
}

bool changeCase(std::string_view text, LetterCase to, std::string &out) {
  bool starts = true; // the next letter begins a word
  for (char c : text) {
    if (c == DataMark) {
      out.push_back(c);
      continue;
    }
    if (uint8_t(c) >= 0x80)
      return false;
    const bool upper =
        to == LetterCase::Upper || (to != LetterCase::Lower && starts);
    out.push_back(withCase(c, upper));
    if (to == LetterCase::TitleMethod)
      starts = !isLetter(c);
    else if (to == LetterCase::TitleFilter)
      starts = std::string_view("-({[<").find(c) != std::string_view::npos ||
               pythonSpaceAt(std::string_view(&c, 1), 0) != 0;
    else
      starts = false;
  }
  return true;
}

/// "\u00e9"; surrogates of a character beyond 16 bits.
static void appendEscape(std::string &out, uint32_t character) {
  char code[16];
  if (character < 0x10000)
    std::snprintf(code, sizeof code, "\\u%04x", unsigned(character));
  else
    std::snprintf(code, sizeof code, "\\u%04x\\u%04x",
                  unsigned(0xd800 + ((character - 0x10000) >> 10)),
                  unsigned(0xdc00 + ((character - 0x10000) & 0x3ff)));
  out += code;
}

static void appendJsonText(std::string &out, std::string_view text,
                           bool ensureAscii) {
  out.push_back('"');
  for (size_t next = 0; next < text.size();) {
    static constexpr char Letters[] = "\"\\\n\r\t\b\f";
    static constexpr char Names[] = "\"\\nrtbf";
    const char c = text[next];
    const size_t at =
        c == '\0' ? std::string_view::npos : std::string_view(Letters).find(c);
    if (uint8_t(c) >= 0x80 && c != DataMark && ensureAscii) {
      appendEscape(out, decodeUtf8(text, next));
      continue;
    }
    ++next;
    if (at != std::string_view::npos)
      out += {'\\', Names[at]};
    else if (uint8_t(c) < 0x20 || (c == 0x7F && ensureAscii))
      appendEscape(out, uint8_t(c));
    else
      out.push_back(c);
  }
  out.push_back('"');
}

static bool appendJson(const TemplateValue &value, const JsonFormat &format,
                       int64_t level, size_t limit, TemplateWork &work,
                       std::string &out) {
  const auto newLine = [&](int64_t at) {
    if (format.indent >= 0)
      out.append(1, '\n').append(size_t(format.indent * at), ' ');
  };
  if (!work.add(1) || out.size() > limit)
    return false;
  using Kind = TemplateValue::Kind;
  switch (value.kind()) {
  case Kind::None:
    out += "null";
    return true;
  case Kind::Boolean:
    out += value.integer() ? "true" : "false";
    return true;
  case Kind::Integer:
    out += std::to_string(value.integer());
    return true;
  case Kind::Float:
    appendFloat(out, value.real());
    return true;
  case Kind::String:
    if (value.text().size() > limit || !work.add(value.text().size() / 64))
      return false;
    appendJsonText(out, value.text(), format.ensureAscii);
    return true;
  case Kind::List:
  case Kind::Dict: {
    const bool isList = value.kind() == Kind::List;
    if (isList && value.listKind() > TemplateValue::ListKind::Tuple)
      return false; // json.dumps knows neither
    const size_t count = isList ? value.items().size() : value.members().size();
    out.push_back(isList ? '[' : '{');
    for (size_t i = 0; i < count; ++i) {
      if (i != 0)
        out += format.indent < 0 ? ", " : ",";
      newLine(level + 1);
      if (!isList) {
        appendJsonText(out, value.members()[i].first, format.ensureAscii);
        out += ": ";
      }
      if (!appendJson(isList ? value.items()[i] : value.members()[i].second,
                      format, level + 1, limit, work, out))
        return false;
    }
    if (count != 0)
      newLine(level);
    out.push_back(isList ? ']' : '}');
    return true;
  }
  default:
    return false;
  }
}

bool toJson(const TemplateValue &value, const JsonFormat &format, size_t limit,
            TemplateWork &work, std::string &out) {
  return appendJson(value, format, 0, limit, work, out) && out.size() <= limit;
}

void appendFloat(std::string &out, double value) {
  // The fewest digits that give the value again, as d.ddde+XX.
  char text[32];
  char *const end = std::to_chars(text, text + sizeof text - 1, value,
                                  std::chars_format::scientific)
                        .ptr;
  *end = '\0';
  std::string_view all(text, size_t(end - text));
  if (!std::isfinite(value)) {
    out += std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    return;
  }
  if (all[0] == '-') {
    out.push_back('-');
    all.remove_prefix(1);
  }
  const size_t e = all.find('e');
  std::string digits(1, all[0]);
  if (e > 2)
    digits += all.substr(2, e - 2);
  const int exponent = std::atoi(text + (all.data() - text) + e + 1);
  const int count = int(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (count > 1)
      out += "." + digits.substr(1);
    char tail[8];
    std::snprintf(tail, sizeof tail, "e%c%02d", exponent < 0 ? '-' : '+',
                  std::abs(exponent));
    out += tail;
  } else if (exponent < 0) {
    out += "0." + std::string(size_t(-exponent - 1), '0') + digits;
  } else {
    const int whole = exponent + 1;
    out += count > whole
               ? digits.substr(0, size_t(whole)) + "." +
                     digits.substr(size_t(whole))
               : digits + std::string(size_t(whole - count), '0') + ".0";
  }
}

/// Python's repr of a string; false for a character that may need an escape.
static bool appendReprText(std::string &out, std::string_view text) {
  const bool hasSingle = text.find('\'') != std::string_view::npos;
  const bool hasDouble = text.find('"') != std::string_view::npos;
  const char quote = hasSingle && !hasDouble ? '"' : '\'';
  out.push_back(quote);
  for (size_t next = 0; next < text.size();) {
    const char c = text[next];
    if (uint8_t(c) >= 0x80 && c != DataMark) {
      const size_t begin = next;
      const UnicodeClass kind = classify(decodeUtf8(text, next));
      if (kind != UnicodeClass::Letter && kind != UnicodeClass::Number)
        return false;
      out.append(text.substr(begin, next - begin));
      continue;
    }
    ++next;
    if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (c == quote || c == '\\') {
      out += {'\\', c};
    } else if (uint8_t(c) < 0x20 || c == 0x7F) {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", unsigned(uint8_t(c)));
      out += code;
    } else {
      out.push_back(c);
    }
  }
  out.push_back(quote);
  return true;
}

bool toRepr(const TemplateValue &value, size_t limit, TemplateWork &work,
            std::string &out) {
  if (!work.add(1) || out.size() > limit)
    return false;
  using Kind = TemplateValue::Kind;
  switch (value.kind()) {
  case Kind::None:
    out += "None";
    return true;
  case Kind::Boolean:
    out += value.integer() ? "True" : "False";
    return true;
  case Kind::Integer:
    out += std::to_string(value.integer());
    return true;
  case Kind::Float:
    appendFloat(out, value.real());
    return true;
  case Kind::String:
    return !value.isMarkup() && value.text().size() <= limit &&
           work.add(value.text().size() / 64) &&
           appendReprText(out, value.text());
  case Kind::List: {
    if (value.listKind() > TemplateValue::ListKind::Tuple)
      return false;
    out.push_back(value.isTuple() ? '(' : '[');
    for (const TemplateValue &item : value.items()) {
      if (&item != &value.items().front())
        out += ", ";
      if (!toRepr(item, limit, work, out))
        return false;
    }
    if (value.isTuple() && value.items().size() == 1)
      out.push_back(',');
    out.push_back(value.isTuple() ? ')' : ']');
    return true;
  }
  case Kind::Dict:
    out.push_back('{');
    for (const auto &[name, member] : value.members()) {
      if (&name != &value.members().front().first)
        out += ", ";
      if (!appendReprText(out, name))
        return false;
      out += ": ";
      if (!toRepr(member, limit, work, out))
        return false;
    }
    out.push_back('}');
    return true;
  default:
    return false;
  }
}

static bool isLeapYear(int year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int daysOf(int year, int month) {
  static constexpr int Days[] = {31, 28, 31, 30, 31, 30,
                                 31, 31, 30, 31, 30, 31};
  return Days[month - 1] + (month == 2 && isLeapYear(year));
}

bool parseDate(const std::string &text, TemplateDate &date) {
  TemplateDate read;
  if (text.size() != 10 || text[4] != '-' || text[7] != '-')
    return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == 4 || i == 7)
      continue;
    if (text[i] < '0' || text[i] > '9')
      return false;
    int &part = i < 4 ? read.year : i < 7 ? read.month : read.day;
    part = part * 10 + (text[i] - '0');
  }
  if (read.year < 1900 || read.month < 1 || read.month > 12 || read.day < 1 ||
      read.day > daysOf(read.year, read.month))
    return false;
  date = read;
  return true;
}

std::string formatDate(const TemplateDate &date, std::string_view format,
                       std::string &out) {
  static constexpr const char *Months[] = {
      "January", "February", "March",     "April",   "May",      "June",
      "July",    "August",   "September", "October", "November", "December"};
  static constexpr const char *WeekDays[] = {"Sunday",    "Monday",   "Tuesday",
                                             "Wednesday", "Thursday", "Friday",
                                             "Saturday"};
  int dayOfYear = date.day, days = 0; // since Monday, 1 January 1900
  for (int month = 1; month < date.month; ++month)
    dayOfYear += daysOf(date.year, month);
  for (int year = 1900; year < date.year; ++year)
    days += isLeapYear(year) ? 366 : 365;
  const std::string month = Months[date.month - 1];
  const std::string weekDay = WeekDays[(days + dayOfYear) % 7];
  for (size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      out.push_back(format[at]);
      continue;
    }
    const size_t start = at++;
    const bool isShort = at < format.size() && format[at] == '-';
    at += isShort;
    const char what = at < format.size() ? format[at] : '\0';
    const auto number = [&](const char *wide, int value) {
      char digits[16];
      std::snprintf(digits, sizeof digits, isShort ? "%d" : wide, value);
      out += digits;
    };
    switch (what) {
    case 'd':
      number("%02d", date.day);
      break;
    case 'e':
      number("%2d", date.day);
      break;
    case 'm':
      number("%02d", date.month);
      break;
    case 'Y':
      number("%d", date.year);
      break;
    case 'y':
      number("%02d", date.year % 100);
      break;
    case 'j':
      number("%03d", dayOfYear);
      break;
    case 'H':
    case 'M':
    case 'S':
      number("%02d", 0);
      break;
    case 'B':
      out += month;
      break;
    case 'b':
      out += month.substr(0, 3);
      break;
    case 'A':
      out += weekDay;
      break;
    case 'a':
      out += weekDay.substr(0, 3);
      break;
    case '%':
      out.push_back('%');
      break;
    default:
      return std::string(format.substr(start, at + 1 - start));
    }
  }
  return "";
}

} // namespace hone::rt
