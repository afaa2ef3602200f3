//===- JsonReader.h - JSON, one token at a time ---------------------------===//
//
// Json::parse uses it; other callers read files too large to hold as a tree.
// Errors are sticky: after the first, every call returns false, so a caller may
// loop and look at status() once. Duplicate keys are the caller's to detect,
// because only it knows which keys it kept; value() and members() detect them
// among the keys that they keep.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Json.h"
#include "base/Status.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace hone::rt {

class JsonReader {
public:
  /// Arrays and objects inside one another.
  static constexpr int MaxDepth = 64;
  /// Values inside the trees of one reader, unless limitTree says less.
  static constexpr uint64_t MaxTreeValues = Json::MaxValues;

  /// How messages name a position: line and column from 1 (columns count
  /// bytes), or the byte offset, for JSON inside a binary file. `firstByte`
  /// is the offset of the text in that file.
  enum class Position { LineAndColumn, ByteOffset };

  /// `malformed` is the code of its errors.
  JsonReader(std::string_view text, std::string place,
             ErrorCode malformed = ErrorCode::BadJson,
             Position positions = Position::LineAndColumn,
             uint64_t firstByte = 0);

  /// Bounds the memory that trees can take: a value is about 150 bytes.
  void limitTree(uint64_t values) { treeLimit = values; }

  bool ok() const { return firstError.isOk(); }
  const Status &status() const { return firstError; }

  /// `for (reader.beginObject(); reader.nextMember(key);) ...` where the body
  /// reads exactly one value. False at the closing bracket or on an error.
  bool beginObject();
  bool nextMember(std::string &key);
  bool beginArray();
  bool nextElement();

  /// The kind of the next value, from its first byte. False on an error.
  bool peek(Json::Kind &kind);

  bool string(std::string &value);
  /// A number as Json::isInteger defines it, "-0" excluded, and not negative.
  bool unsignedInteger(int64_t &value);
  /// Any value, as a tree.
  bool value(Json &value);
  /// An object, as a tree of the members for which `keeps` returns true. It is
  /// called at the member's value, whose place is lastValue(); the others are
  /// passed over.
  bool members(Json &object,
               const std::function<bool(const std::string &key)> &keeps);
  /// Passes over any value in constant memory; all of it is checked but for
  /// duplicate keys, which nobody sees.
  bool skip();

  /// Nothing but white space is left.
  bool finish();

  /// Offset of the value that nextMember or nextElement stopped at.
  uint64_t lastValue() const { return at; }
  /// Continues at `offset`, where a value begins, outside of all brackets.
  void seek(uint64_t offset);

  /// Offset of the token read last; an argument for failAt.
  uint64_t lastToken() const { return tokenStart; }

  /// `offset` as messages name it.
  std::string placeOf(uint64_t offset) const;

  /// Makes `problem` the error, with a `code` of its own where the JSON itself
  /// is right. Always returns false.
  bool failAt(uint64_t offset, const std::string &problem,
              const std::string &remedy);
  bool failAt(ErrorCode code, uint64_t offset, const std::string &problem,
              const std::string &remedy);

private:
  static constexpr const char *SyntaxRemedy =
      "correct the JSON or write the file again";

  bool fail(uint64_t offset, const std::string &problem);
  bool failExpected(const char *expected);
  void skipSpace();
  bool nextToken();
  bool open(Json::Kind kind);
  bool nextInside(char closing);
  bool kindHere(Json::Kind &kind);
  bool expectKind(Json::Kind wanted);
  bool word(std::string_view literal);
  bool stringBody(std::string *out);
  bool escape(std::string *out);
  bool hexDigits(uint32_t &code);
  bool utf8Sequence();
  bool number(Json &out);
  bool checkDuplicates(const Json &object, const std::vector<uint64_t> &keys);
  bool countTreeValue();
  bool array(Json &out);

  std::string_view text;
  std::string place;
  ErrorCode malformed;
  Position positions;
  uint64_t firstByte;
  uint64_t at = 0;
  uint64_t tokenStart = 0;
  uint64_t line = 1, lineStart = 0;
  uint64_t treeValues = 0, treeLimit = MaxTreeValues;
  int depth = 0;
  std::array<bool, MaxDepth> first{}; // of each open bracket: no member yet
  Status firstError = Status::ok();
};

} // namespace hone::rt
