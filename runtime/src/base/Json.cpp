//===- Json.cpp - A strict JSON reader for hostile files ------------------===//
//
// The parsing is JsonReader's; here are the tree's own parts.
//
//===----------------------------------------------------------------------===//

#include "base/Json.h"
#include "base/JsonReader.h"
#include "base/Utf8.h"

#include <cstdio>
#include <cstring>

namespace hone::rt {

Result<Json> Json::parse(std::string_view text, const std::string &place,
                         uint64_t values) {
  JsonReader reader(text, place);
  reader.limitTree(values);
  Json root;
  if (!reader.value(root) || !reader.finish())
    return reader.status();
  return root;
}

const Json *Json::find(std::string_view key) const {
  for (const Member &member : members)
    if (member.first == key)
      return &member.second;
  return nullptr;
}

const char *describe(Json::Kind kind) {
  switch (kind) {
  case Json::Kind::Null:
    return "null";
  case Json::Kind::Bool:
    return "a boolean";
  case Json::Kind::Number:
    return "a number";
  case Json::Kind::String:
    return "a string";
  case Json::Kind::Array:
    return "an array";
  case Json::Kind::Object:
    return "an object";
  }
  return "a value";
}

std::string jsonString(std::string_view value) {
  static const char escaped[] = "\"\\\n\r\t";
  static const char letters[] = "\"\\nrt";
  std::string out = "\"";
  for (size_t at = 0; at < value.size();) {
    char c = value[at];
    size_t length = utf8SequenceLength(value, at);
    const char *found = c ? std::strchr(escaped, c) : nullptr;
    if (length == 0) {
      out += "\\ufffd";
      length = 1;
    } else if (found) {
      out += '\\';
      out += letters[found - escaped];
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else {
      out.append(value.substr(at, length));
    }
    at += length;
  }
  return out + '"';
}

} // namespace hone::rt
