//===- TemplateLexer.cpp - A chat template as tokens ----------------------===//
//
// Follows jinja2/lexer.py, of which line statements are left out: Transformers
// does not turn them on.
//
//===----------------------------------------------------------------------===//

#include "chat/TemplateLexer.h"

#include "base/Utf8.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

size_t pythonSpaceAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? uint8_t(text[at + i]) : 0u;
  };
  const unsigned a = byte(0), b = byte(1), c = byte(2);
  if (a == ' ' || (a >= 9 && a <= 13) || (a >= 0x1c && a <= 0x1f))
    return at < text.size();
  if (a == 0xC2 && (b == 0x85 || b == 0xA0))
    return 2;
  const bool isThree =
      (a == 0xE1 && b == 0x9A && c == 0x80) ||
      (a == 0xE2 && b == 0x80 &&
       ((c >= 0x80 && c <= 0x8A) || c == 0xA8 || c == 0xA9 || c == 0xAF)) ||
      (a == 0xE2 && b == 0x81 && c == 0x9F) ||
      (a == 0xE3 && b == 0x80 && c == 0x80);
  return isThree ? 3 : 0;
}

std::string_view pythonStrip(std::string_view text, bool left, bool right) {
  while (left && !text.empty()) {
    const size_t space = pythonSpaceAt(text, 0);
    if (space == 0)
      break;
    text.remove_prefix(space);
  }
  while (right && !text.empty()) {
    const size_t start = utf8CharacterStart(text, text.size() - 1);
    if (pythonSpaceAt(text, start) == 0)
      break;
    text = text.substr(0, start);
  }
  return text;
}

/// All line ends as "\n", and without the last one: keep_trailing_newline is
/// off.
static std::string withUnixLines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const bool isReturn = text[i] == '\r';
    if (isReturn && i + 1 < text.size() && text[i + 1] == '\n')
      ++i;
    out.push_back(isReturn ? '\n' : text[i]);
  }
  if (!out.empty() && out.back() == '\n')
    out.pop_back();
  return out;
}

TemplateLexer::TemplateLexer(std::string_view given, std::string place)
    : place(std::move(place)) {
  if (given.size() <= LongestTemplate)
    source = withUnixLines(given);
  else
    source.assign(given.substr(0, LongestTemplate + 1));
}

Status TemplateLexer::bad(const std::string &problem) const {
  return Status(ErrorCode::BadChatTemplate, place + ":" + std::to_string(line),
                problem,
                "download the template again from the place of the model");
}

Status TemplateLexer::unsupported(const std::string &what) const {
  return Status(
      ErrorCode::UnsupportedChatTemplate, place + ":" + std::to_string(line),
      what + " is not in the subset of Jinja that chat templates may use here",
      "rewrite the template without it, or remove it to train on data "
      "without conversations");
}

void TemplateLexer::add(TemplateToken::Kind kind, std::string value,
                        int64_t number) {
  out->push_back({kind, line, std::move(value), number});
}

void TemplateLexer::skip(size_t bytes) {
  for (size_t end = at + bytes; at < end; ++at)
    line += source[at] == '\n';
}

size_t TemplateLexer::spaceAt(size_t position) const {
  return pythonSpaceAt(source, position);
}

Status TemplateLexer::run(std::vector<TemplateToken> &tokens) {
  out = &tokens;
  if (source.size() > LongestTemplate)
    return bad("expected a chat template of at most " +
               std::to_string(LongestTemplate) + " bytes");
  if (findInvalidUtf8(source) != std::string_view::npos)
    return bad("expected a chat template in UTF-8");
  while (at < source.size())
    HONE_TRY(text());
  add(TemplateToken::End);
  return Status::ok();
}

/// Text up to the next tag, and that tag.
Status TemplateLexer::text() {
  size_t tag = at;
  while ((tag = source.find('{', tag)) != std::string::npos)
    if (tag + 1 < source.size() && source[tag + 1] != '\0' &&
        std::strchr("{%#", source[tag + 1]))
      break;
    else
      ++tag;
  const size_t end = std::min(tag, source.size());
  std::string_view data = std::string_view(source).substr(at, end - at);
  if (tag == std::string::npos) {
    add(TemplateToken::Text, std::string(data));
    skip(data.size());
    return Status::ok();
  }
  const char kind = source[tag + 1];
  const char sign = tag + 2 < source.size() ? source[tag + 2] : '\0';
  const std::string_view kept =
      beforeTag(data, kind == '{' && sign != '-' ? '+' : sign);
  if (!kept.empty())
    add(TemplateToken::Text, std::string(kept));
  skip(data.size() + 2 + (sign == '-' || sign == '+'));
  if (kind == '#')
    return comment();
  if (size_t bytes; kind == '%' && startsRaw(bytes))
    return raw(bytes);
  return kind == '{'
             ? inside(TemplateToken::OutputBegin, TemplateToken::OutputEnd)
             : inside(TemplateToken::BlockBegin, TemplateToken::BlockEnd);
}

/// The text before a tag of blocks, trimmed as its sign says.
std::string_view TemplateLexer::beforeTag(std::string_view data,
                                          char sign) const {
  if (sign == '-')
    return pythonStrip(data, false, true);
  if (sign == '+')
    return data;
  const size_t start = data.rfind('\n') + 1; // 0 when there is none
  const std::string_view indent = data.substr(start);
  const bool isIndent =
      (start > 0 || lineStarts) && pythonStrip(indent, true, false).empty();
  return isIndent ? data.substr(0, start) : data;
}

/// Whether the rest of {% raw %} is here, and how long it is.
bool TemplateLexer::startsRaw(size_t &bytes) const {
  size_t end = at;
  const auto spaces = [&] {
    while (size_t space = spaceAt(end))
      end += space;
  };
  spaces();
  if (source.compare(end, 3, "raw") != 0)
    return false;
  end += 3;
  spaces();
  const bool strips = source.compare(end, 3, "-%}") == 0;
  if (!strips && source.compare(end, 2, "%}") != 0)
    return false;
  end += strips ? 3 : 2;
  if (strips)
    spaces();
  bytes = end - at;
  return true;
}

/// Up to {% endraw %}; `bytes` are left of the tag that it began with.
Status TemplateLexer::raw(size_t bytes) {
  skip(bytes);
  lineStarts = source[at - 1] == '\n';
  for (size_t tag = at; (tag = source.find("{%", tag)) != std::string::npos;
       ++tag) {
    size_t end = tag + 2;
    const char sign = end < source.size() ? source[end] : '\0';
    end += sign == '-' || sign == '+';
    while (size_t space = spaceAt(end))
      end += space;
    if (source.compare(end, 6, "endraw") != 0)
      continue;
    end += 6;
    while (size_t space = spaceAt(end))
      end += space;
    const bool strips = source.compare(end, 3, "-%}") == 0;
    const bool keeps = source.compare(end, 3, "+%}") == 0;
    if (!strips && !keeps && source.compare(end, 2, "%}") != 0)
      continue;
    end += strips || keeps ? 3 : 2;
    if (strips)
      while (size_t space = spaceAt(end))
        end += space;
    else if (!keeps && end < source.size() && source[end] == '\n')
      ++end;
    const std::string_view data = std::string_view(source).substr(at, tag - at);
    const std::string_view kept = beforeTag(data, sign);
    if (!kept.empty())
      add(TemplateToken::Text, std::string(kept));
    skip(end - at);
    lineStarts = source[at - 1] == '\n';
    return Status::ok();
  }
  return bad("expected {% endraw %} after {% raw %} but found the end");
}

Status TemplateLexer::comment() {
  const size_t end = source.find("#}", at);
  if (end == std::string::npos)
    return bad("expected '#}' after '{#' but found the end");
  const bool strips = end > at && source[end - 1] == '-';
  const bool keeps = end > at && source[end - 1] == '+';
  skip(end + 2 - at);
  if (strips)
    while (size_t space = spaceAt(at))
      skip(space);
  else if (!keeps && at < source.size() && source[at] == '\n')
    skip(1);
  lineStarts = source[at - 1] == '\n';
  return Status::ok();
}

/// Whether a tag ends here; its end is then skipped, with the text that it
/// trims.
bool TemplateLexer::atEnd(std::string_view closing, bool isBlock) {
  const std::string_view rest = std::string_view(source).substr(at);
  const bool strips = !rest.empty() && rest[0] == '-';
  const bool keeps = isBlock && !rest.empty() && rest[0] == '+';
  if (!open.empty() || rest.substr(strips || keeps, 2) != closing)
    return false;
  skip(2 + (strips || keeps));
  if (strips)
    while (size_t space = spaceAt(at))
      skip(space);
  else if (isBlock && !keeps && at < source.size() && source[at] == '\n')
    skip(1);
  lineStarts = source[at - 1] == '\n';
  return true;
}

static bool isNameByte(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (!first && c >= '0' && c <= '9');
}

Status TemplateLexer::inside(TemplateToken::Kind begin,
                             TemplateToken::Kind end) {
  add(begin);
  const bool isBlock = begin == TemplateToken::BlockBegin;
  const std::string_view closing = isBlock ? "%}" : "}}";
  const uint32_t startLine = line;
  for (;;) {
    while (size_t space = spaceAt(at))
      skip(space);
    if (at >= source.size()) {
      line = startLine;
      return bad("expected '" + std::string(closing) + "' but found the end");
    }
    if (out->size() > MostTokens)
      return bad("expected a chat template of at most " +
                 std::to_string(MostTokens) + " words and signs");
    const uint32_t endLine = line;
    if (atEnd(closing, isBlock)) {
      out->push_back({end, endLine, {}, 0});
      return Status::ok();
    }
    const char c = source[at];
    Status status = Status::ok();
    if (isNameByte(c, true)) {
      size_t last = at;
      while (last < source.size() && isNameByte(source[last], false))
        ++last;
      add(TemplateToken::Name, source.substr(at, last - at));
      at = last;
    } else if (c >= '0' && c <= '9') {
      status = number();
    } else if (c == '\'' || c == '"') {
      status = string();
    } else {
      status = operatorToken();
    }
    HONE_TRY(status);
  }
}

/// Underscores, other bases and numbers beyond 64 bits are left out.
Status TemplateLexer::number() {
  const auto digit = [&](size_t i) {
    return i < source.size() && source[i] >= '0' && source[i] <= '9';
  };
  size_t last = at;
  int64_t value = 0;
  bool isLong = false;
  for (; digit(last); ++last) {
    isLong |= value > (INT64_MAX - 9) / 10;
    if (!isLong)
      value = value * 10 + (source[last] - '0');
  }
  const size_t whole = last;
  const bool isIndex = at > 0 && source[at - 1] == '.'; // messages.0.role
  if (!isIndex && last < source.size() && source[last] == '.' &&
      digit(last + 1))
    for (++last; digit(last);)
      ++last;
  if (!isIndex && last < source.size() &&
      (source[last] == 'e' || source[last] == 'E')) {
    const size_t sign = last + 1 < source.size() &&
                        (source[last + 1] == '+' || source[last + 1] == '-');
    if (digit(last + 1 + sign))
      for (last += 1 + sign; digit(last);)
        ++last;
  }
  if (last < source.size() && isNameByte(source[last], true))
    return unsupported("a number that is not decimal");
  if (last != whole) {
    add(TemplateToken::Float, source.substr(at, last - at));
    at = last;
    return Status::ok();
  }
  if (isLong)
    return unsupported("a number beyond 64 bits");
  if (last - at > 1 && source[at] == '0' && value != 0)
    return bad("expected a number without leading zeros");
  at = last;
  add(TemplateToken::Integer, {}, value);
  return Status::ok();
}

/// After a backslash.
Status TemplateLexer::escape(std::string &value, char) {
  static constexpr char Letters[] = "\\'\"abfnrtv";
  static constexpr char Meanings[] = "\\'\"\a\b\f\n\r\t\v";
  const char c = source[at];
  if (const char *found = std::strchr(Letters, c); found && c != '\0') {
    value.push_back(Meanings[found - Letters]);
    ++at;
    return Status::ok();
  }
  const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (digits == 0) {
    if ((c >= '0' && c <= '7') || c == 'N')
      return unsupported("the escape \\" + std::string(1, c));
    if (uint8_t(c) >= 0x80) // Jinja writes the number of the character
      return unsupported("a backslash before a character beyond ASCII");
    if (c == '\n') // a line that goes on
      skip(1);
    else
      value.push_back('\\'); // Python keeps it
    return Status::ok();
  }
  uint32_t point = 0;
  for (int i = 1; i <= digits; ++i) {
    const char digit =
        at + size_t(i) < source.size() ? source[at + size_t(i)] : '\0';
    const char *found =
        digit ? std::strchr("0123456789abcdefABCDEF", digit) : nullptr;
    if (!found || point > 0x10FFFF / 16)
      return bad("expected " + std::to_string(digits) +
                 " hexadecimal digits of a character after \\" +
                 std::string(1, c));
    const uint32_t place =
        uint32_t(found - std::strchr("0123456789abcdefABCDEF", '0'));
    point = point * 16 + (place < 16 ? place : place - 6);
  }
  if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
    return unsupported("half of a surrogate pair in a string");
  appendUtf8(value, point);
  at += size_t(digits) + 1;
  return Status::ok();
}

Status TemplateLexer::string() {
  const char quote = source[at];
  const uint32_t startLine = line;
  ++at;
  std::string value;
  while (at < source.size() && source[at] != quote) {
    if (source[at] != '\\') {
      value.push_back(source[at]);
      skip(1);
      continue;
    }
    ++at;
    if (at >= source.size())
      break;
    HONE_TRY(escape(value, quote));
  }
  if (at >= source.size()) {
    line = startLine;
    return bad("expected a closing quote but found the end");
  }
  ++at;
  out->push_back({TemplateToken::String, startLine, std::move(value), 0});
  return Status::ok();
}

Status TemplateLexer::operatorToken() {
  static constexpr const char *Operators[] = {
      "==", "!=", ">=", "<=", "//", "**", "+", "-", "/", "*", "%", "~", "[",
      "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ","};
  for (const char *name : Operators) {
    const size_t size = std::strlen(name);
    if (source.compare(at, size, name) != 0)
      continue;
    if (std::strchr("([{", name[0])) {
      open.push_back(name[0] == '(' ? ')' : name[0] == '[' ? ']' : '}');
    } else if (std::strchr(")]}", name[0])) {
      if (open.empty() || open.back() != name[0])
        return bad(std::string("found '") + name + "' that closes nothing");
      open.pop_back();
    }
    add(TemplateToken::Operator, name);
    at += size;
    return Status::ok();
  }
  return bad("expected an expression but found '" +
             source.substr(at, std::max<size_t>(1, size_t(utf8Length(
                                                       uint8_t(source[at]))))) +
             "'");
}

} // namespace hone::rt
