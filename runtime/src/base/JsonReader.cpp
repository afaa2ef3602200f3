//===- JsonReader.cpp - JSON, one token at a time -------------------------===//
//
// Line breaks are legal only between tokens (RFC 8259, section 7), so counting
// them in skipSpace() counts them all.
//
//===----------------------------------------------------------------------===//

#include "base/JsonReader.h"
#include "base/Utf8.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace hone::rt {

JsonReader::JsonReader(std::string_view text, std::string place,
                       ErrorCode malformed, Position positions,
                       uint64_t firstByte)
    : text(text), place(std::move(place)), malformed(malformed),
      positions(positions), firstByte(firstByte) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF")
    failAt(0, "expected JSON, found a byte order mark",
           "save the file as UTF-8 without a byte order mark");
}

std::string JsonReader::placeOf(uint64_t offset) const {
  if (positions == Position::ByteOffset)
    return place + ": byte " + std::to_string(firstByte + offset);
  // Counted again: it may be on an earlier line than the reader is.
  std::string_view before = text.substr(0, offset);
  uint64_t lines = std::count(before.begin(), before.end(), '\n');
  uint64_t column = offset - (before.rfind('\n') + 1); // npos + 1 is 0
  return place + ":" + std::to_string(lines + 1) + ":" +
         std::to_string(column + 1);
}

bool JsonReader::failAt(ErrorCode code, uint64_t offset,
                        const std::string &problem, const std::string &remedy) {
  if (ok())
    firstError = Status(code, placeOf(offset), problem, remedy);
  return false;
}

bool JsonReader::failAt(uint64_t offset, const std::string &problem,
                        const std::string &remedy) {
  return failAt(malformed, offset, problem, remedy);
}

bool JsonReader::fail(uint64_t offset, const std::string &problem) {
  return failAt(offset, problem, SyntaxRemedy);
}

static std::string describeByte(std::string_view text, uint64_t at) {
  if (at >= text.size())
    return "the end";
  unsigned char c = static_cast<unsigned char>(text[at]);
  char name[16];
  std::snprintf(name, sizeof name, c > 32 && c < 127 ? "'%c'" : "byte 0x%02x",
                c);
  return name;
}

bool JsonReader::failExpected(const char *expected) {
  return fail(at, std::string("expected ") + expected + ", found " +
                      describeByte(text, at));
}

void JsonReader::skipSpace() {
  for (; at < text.size(); ++at) {
    char c = text[at];
    if (c == '\n') {
      ++line;
      lineStart = at + 1;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

bool JsonReader::nextToken() {
  if (!ok())
    return false;
  skipSpace();
  tokenStart = at;
  return true;
}

bool JsonReader::kindHere(Json::Kind &kind) {
  char c = at < text.size() ? text[at] : '\0';
  switch (c) {
  case '{':
    kind = Json::Kind::Object;
    return true;
  case '[':
    kind = Json::Kind::Array;
    return true;
  case '"':
    kind = Json::Kind::String;
    return true;
  case 't':
  case 'f':
    kind = Json::Kind::Bool;
    return true;
  case 'n':
    kind = Json::Kind::Null;
    return true;
  default:
    if (c != '-' && (c < '0' || c > '9'))
      return failExpected("a value");
    kind = Json::Kind::Number;
    return true;
  }
}

bool JsonReader::peek(Json::Kind &kind) {
  return nextToken() && kindHere(kind);
}

bool JsonReader::expectKind(Json::Kind wanted) {
  Json::Kind kind;
  if (!nextToken() || !kindHere(kind))
    return false;
  if (kind == wanted)
    return true;
  // A word that only begins as true, false or null does.
  const std::string_view rest = text.substr(at);
  const bool isWord = kind == Json::Kind::Bool || kind == Json::Kind::Null;
  if (isWord && rest.substr(0, 4) != "true" && rest.substr(0, 5) != "false" &&
      rest.substr(0, 4) != "null")
    return failExpected(describe(wanted));
  return fail(at, std::string("expected ") + describe(wanted) + ", found " +
                      describe(kind));
}

bool JsonReader::open(Json::Kind kind) {
  if (!expectKind(kind))
    return false;
  if (depth == MaxDepth)
    return fail(at, "expected at most " + std::to_string(MaxDepth) +
                        " levels of nesting, found more");
  ++at;
  first[depth++] = true;
  return true;
}

bool JsonReader::beginObject() { return open(Json::Kind::Object); }
bool JsonReader::beginArray() { return open(Json::Kind::Array); }

/// Steps over the comma, or over `closing`, which ends the level.
bool JsonReader::nextInside(char closing) {
  if (!nextToken())
    return false;
  if (at < text.size() && text[at] == closing) {
    ++at;
    --depth;
    return false;
  }
  if (first[depth - 1]) {
    first[depth - 1] = false;
    return true;
  }
  if (at >= text.size() || text[at] != ',')
    return failExpected(closing == '}' ? "',' or '}'" : "',' or ']'");
  ++at;
  skipSpace();
  tokenStart = at;
  return true;
}

bool JsonReader::nextElement() { return nextInside(']'); }

bool JsonReader::nextMember(std::string &key) {
  if (!nextInside('}'))
    return false;
  if (at >= text.size() || text[at] != '"')
    return failExpected("a key in double quotes");
  uint64_t keyStart = at;
  if (!stringBody(&key))
    return false;
  skipSpace();
  if (at >= text.size() || text[at] != ':')
    return failExpected("':'");
  ++at;
  skipSpace();
  tokenStart = keyStart;
  return true;
}

bool JsonReader::string(std::string &value) {
  return expectKind(Json::Kind::String) && stringBody(&value);
}

/// At the opening quote; reads through the closing one. Without `out` the
/// string is only checked.
bool JsonReader::stringBody(std::string *out) {
  if (out)
    out->clear();
  uint64_t opening = at++;
  for (uint64_t plain = at;;) {
    if (at >= text.size())
      return fail(opening, "expected a closing '\"', found the end");
    unsigned char c = static_cast<unsigned char>(text[at]);
    if (c >= 0x80) {
      if (!utf8Sequence())
        return false;
      continue;
    }
    if (c >= 0x20 && c != '"' && c != '\\') {
      ++at;
      continue;
    }
    if (out)
      out->append(text.substr(plain, at - plain));
    if (c == '"') {
      ++at;
      return true;
    }
    if (c != '\\')
      return fail(at, "expected control characters in a string to be escaped, "
                      "found " +
                          describeByte(text, at));
    if (!escape(out))
      return false;
    plain = at;
  }
}

bool JsonReader::utf8Sequence() {
  size_t length = utf8SequenceLength(text, at);
  if (length == 0)
    return fail(at, "expected UTF-8, found " + describeByte(text, at) +
                        " which starts no valid character here");
  at += length;
  return true;
}

bool JsonReader::hexDigits(uint32_t &code) {
  code = 0;
  for (int i = 0; i < 4; ++i, ++at) {
    char c = at < text.size() ? text[at] : '\0';
    uint32_t digit;
    if (c >= '0' && c <= '9')
      digit = c - '0';
    else if (c >= 'a' && c <= 'f')
      digit = c - 'a' + 10;
    else if (c >= 'A' && c <= 'F')
      digit = c - 'A' + 10;
    else
      return failExpected("four hexadecimal digits after '\\u'");
    code = code << 4 | digit;
  }
  return true;
}

/// At the backslash.
bool JsonReader::escape(std::string *out) {
  uint64_t start = at++;
  static const char letters[] = "\"\\/bfnrt";
  static const char meanings[] = "\"\\/\b\f\n\r\t";
  char c = at < text.size() ? text[at] : '\0';
  if (const char *found = c ? std::strchr(letters, c) : nullptr) {
    if (out)
      *out += meanings[found - letters];
    ++at;
    return true;
  }
  if (c != 'u')
    return failExpected("one of \" \\ / b f n r t u after '\\'");
  ++at;
  uint32_t code;
  if (!hexDigits(code))
    return false;
  bool lone = code >= 0xDC00 && code <= 0xDFFF;
  if (code >= 0xD800 && code <= 0xDBFF) {
    lone = text.substr(at, 2) != "\\u";
    if (!lone) {
      at += 2;
      uint32_t second;
      if (!hexDigits(second))
        return false;
      lone = second < 0xDC00 || second > 0xDFFF;
      code = 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00);
    }
  }
  if (lone)
    return fail(start, "expected a pair of surrogates, found a lone one");
  if (out)
    appendUtf8(*out, code);
  return true;
}

bool JsonReader::word(std::string_view literal) {
  if (text.substr(at, literal.size()) != literal)
    return fail(at, "expected true, false or null, found another word");
  at += literal.size();
  return true;
}

bool JsonReader::number(Json &out) {
  auto here = [&] { return at < text.size() ? text[at] : '\0'; };
  auto digits = [&] {
    uint64_t start = at;
    while (here() >= '0' && here() <= '9')
      ++at;
    return at - start;
  };
  uint64_t start = at;
  bool integral = true;
  if (here() == '-')
    ++at;
  bool leadingZero = here() == '0';
  uint64_t integerDigits = digits();
  if (integerDigits == 0)
    return failExpected("a digit");
  if (leadingZero && integerDigits > 1)
    return fail(start, "expected a number without leading zeros");
  // The power of ten of the first digit that counts, to tell a number that is
  // too large from one that is too small.
  int64_t magnitude = leadingZero ? 0 : static_cast<int64_t>(integerDigits);
  if (here() == '.') {
    ++at;
    integral = false;
    uint64_t fraction = at;
    if (digits() == 0)
      return failExpected("a digit after '.'");
    for (; leadingZero && fraction < at && text[fraction] == '0'; ++fraction)
      --magnitude;
  }
  if (here() == 'e' || here() == 'E') {
    ++at;
    integral = false;
    bool negative = here() == '-';
    if (negative || here() == '+')
      ++at;
    uint64_t exponentStart = at;
    if (digits() == 0)
      return failExpected("a digit in the exponent");
    int64_t exponent = 0;
    for (uint64_t i = exponentStart; i < at; ++i)
      exponent = std::min<int64_t>(exponent * 10 + (text[i] - '0'), 1 << 30);
    magnitude += negative ? -exponent : exponent;
  }
  const char *begin = text.data() + start, *end = text.data() + at;
  auto parsed = std::from_chars(begin, end, out.real);
  if (parsed.ec == std::errc::result_out_of_range) {
    if (magnitude > 0)
      return fail(start, "expected a number below 1.8e308, found a larger one");
    out.real = *begin == '-' ? -0.0 : 0.0;
  }
  if (integral)
    integral = std::from_chars(begin, end, out.whole).ec == std::errc();
  out.integral = integral;
  if (!integral)
    out.whole = 0;
  return true;
}

bool JsonReader::unsignedInteger(int64_t &value) {
  if (!expectKind(Json::Kind::Number))
    return false;
  uint64_t start = at;
  Json parsed;
  if (!number(parsed))
    return false;
  if (!parsed.integral || text[start] == '-')
    return fail(start, "expected an integer from 0 to 2^63 - 1, found " +
                           std::string(text.substr(
                               start, std::min<uint64_t>(at - start, 40))));
  value = parsed.whole;
  return true;
}

bool JsonReader::value(Json &out) {
  if (!nextToken() || !kindHere(out.tag))
    return false;
  out.atLine = static_cast<uint32_t>(std::min<uint64_t>(line, UINT32_MAX));
  out.atColumn =
      static_cast<uint32_t>(std::min<uint64_t>(at - lineStart + 1, UINT32_MAX));
  switch (out.tag) {
  case Json::Kind::Null:
    return word("null");
  case Json::Kind::Bool:
    out.truth = text[at] == 't';
    return word(out.truth ? "true" : "false");
  case Json::Kind::Number:
    return number(out);
  case Json::Kind::String:
    return stringBody(&out.text);
  case Json::Kind::Array:
    return array(out);
  case Json::Kind::Object:
    return members(out, [](const std::string &) { return true; });
  }
  return false;
}

bool JsonReader::countTreeValue() {
  return ++treeValues <= treeLimit ||
         fail(at, "expected at most " + std::to_string(treeLimit) +
                      " values, found more");
}

bool JsonReader::array(Json &out) {
  beginArray();
  while (nextElement()) {
    Json item;
    if (!countTreeValue() || !value(item))
      return false;
    out.items.push_back(std::move(item));
  }
  return ok();
}

bool JsonReader::members(
    Json &out, const std::function<bool(const std::string &key)> &keeps) {
  std::vector<uint64_t> keys; // where each begins
  std::string key;
  out.tag = Json::Kind::Object;
  beginObject();
  while (nextMember(key)) {
    uint64_t keyStart = tokenStart;
    if (!keeps(key)) {
      if (!skip())
        return false;
      continue;
    }
    keys.push_back(keyStart);
    Json member;
    if (!countTreeValue() || !value(member))
      return false;
    out.members.emplace_back(std::move(key), std::move(member));
  }
  return ok() && checkDuplicates(out, keys);
}

bool JsonReader::skip() {
  Json::Kind kind;
  if (!peek(kind))
    return false;
  Json ignored;
  std::string key;
  switch (kind) {
  case Json::Kind::Null:
    return word("null");
  case Json::Kind::Bool:
    return word(text[at] == 't' ? "true" : "false");
  case Json::Kind::Number:
    return number(ignored);
  case Json::Kind::String:
    return stringBody(nullptr);
  case Json::Kind::Array:
    for (beginArray(); nextElement();)
      if (!skip())
        return false;
    return ok();
  case Json::Kind::Object:
    for (beginObject(); nextMember(key);)
      if (!skip())
        return false;
    return ok();
  }
  return false;
}

void JsonReader::seek(uint64_t offset) {
  std::string_view before = text.substr(0, offset);
  line = 1 + std::count(before.begin(), before.end(), '\n');
  lineStart = before.rfind('\n') + 1; // npos + 1 is 0
  at = offset;
  depth = 0;
}

bool JsonReader::checkDuplicates(const Json &object,
                                 const std::vector<uint64_t> &keys) {
  // By sorting: no choice of keys makes this slow, as it could a hash table.
  std::vector<uint32_t> order(keys.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  auto name = [&](uint32_t i) -> const std::string & {
    return object.members[i].first;
  };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    int order = name(a).compare(name(b));
    return order != 0 ? order < 0 : a < b;
  });
  auto same = std::adjacent_find(
      order.begin(), order.end(),
      [&](uint32_t a, uint32_t b) { return name(a) == name(b); });
  if (same == order.end())
    return true;
  uint64_t offset = keys[*(same + 1)];
  std::string quoted = jsonString(name(*same));
  return failAt(offset, "expected each key once, found " + quoted + " again",
                "remove one of the two");
}

bool JsonReader::finish() {
  if (!nextToken())
    return false;
  if (at != text.size())
    return failExpected("the end");
  return true;
}

} // namespace hone::rt
