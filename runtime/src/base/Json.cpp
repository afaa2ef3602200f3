//===- Json.cpp - A strict JSON reader for hostile files ------------------===//
//
// The parsing is JsonReader's; here are the tree's own parts.
//
//===----------------------------------------------------------------------===//

#include "base/Json.h"
#include "base/JsonReader.h"

#include <cstdio>

namespace hone::rt {

Result<Json> Json::parse(std::string_view text, const std::string &place) {
  JsonReader reader(text, place);
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

void appendJsonString(std::string &out, std::string_view value) {
  out += '"';
  for (char c : value) {
    switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      if (static_cast<unsigned char>(c) >= 0x20) {
        out += c;
        break;
      }
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    }
  }
  out += '"';
}

} // namespace hone::rt
