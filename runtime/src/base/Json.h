//===- Json.h - A strict JSON reader for hostile files --------------------===//
//
// RFC 8259 and nothing else: duplicate keys, nesting beyond 64, invalid UTF-8,
// lone surrogates, trailing bytes and more than 250,000 values are errors
// with a line and a column. Files that may be larger are read with JsonReader.
// Shared by honec and the training binary.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::rt {

class Json {
public:
  enum class Kind { Null, Bool, Number, String, Array, Object };
  using Member = std::pair<std::string, Json>;

  /// In one tree, at most.
  static constexpr uint64_t MaxValues = 250'000;

  /// Parses the whole of `text`, which has at most so many values. `place`
  /// names the file in messages. Errors: BadData with "place:line:column".
  static Result<Json> parse(std::string_view text, const std::string &place,
                            uint64_t values = MaxValues);

  Kind kind() const { return tag; }
  bool isNull() const { return tag == Kind::Null; }
  bool isBool() const { return tag == Kind::Bool; }
  bool isNumber() const { return tag == Kind::Number; }
  /// A number written without fraction or exponent that fits in int64.
  bool isInteger() const { return tag == Kind::Number && integral; }
  bool isString() const { return tag == Kind::String; }
  bool isArray() const { return tag == Kind::Array; }
  bool isObject() const { return tag == Kind::Object; }

  bool boolean() const { return truth; }
  double number() const { return real; }
  int64_t integer() const { return whole; }
  const std::string &string() const { return text; }
  const std::vector<Json> &array() const { return items; }
  const std::vector<Member> &object() const { return members; }

  /// Whether this is the string `value`.
  bool is(std::string_view value) const { return isString() && text == value; }

  /// The member named `key`, or null when absent or when this is no object.
  const Json *find(std::string_view key) const;
  /// Whether that member is the string `value`.
  bool has(std::string_view key, std::string_view value) const {
    const Json *member = find(key);
    return member && member->is(value);
  }
  /// The member's value, or `standard` unless it is true or false.
  bool flag(std::string_view key, bool standard) const {
    const Json *member = find(key);
    return member && member->isBool() ? member->boolean() : standard;
  }

  /// Line and column (from 1) where this value began.
  uint32_t line() const { return atLine; }
  uint32_t column() const { return atColumn; }

private:
  friend class JsonReader;
  Kind tag = Kind::Null;
  bool truth = false;
  bool integral = false;
  uint32_t atLine = 0, atColumn = 0;
  double real = 0;
  int64_t whole = 0;
  std::string text;
  std::vector<Json> items;
  std::vector<Member> members;
};

/// "kind" as a person names it: "an object", "a string", ...
const char *describe(Json::Kind kind);

/// `value` as a JSON string literal with quotes. A byte that is not UTF-8
/// becomes U+FFFD, so the result is always valid.
std::string jsonString(std::string_view value);

} // namespace hone::rt
