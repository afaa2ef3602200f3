//===- JsonRecords.h - JSON objects of a file, one at a time --------------===//
//
// The lines of JSONL, or the elements of one JSON array. One is looked at at a
// time; the file is never a tree.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/JsonReader.h"
#include "data/Records.h"

namespace hone::rt {

class JsonRecords final : public Records {
public:
  /// Longest record, in bytes. It bounds the memory to about four times as
  /// much.
  static constexpr uint64_t Longest = 512 * 1024;

  /// Reads `content`, the bytes of the file `path` without empty lines at the
  /// end.
  JsonRecords(std::string_view content, std::string path);

  /// Whether `content` begins as an array of objects does.
  static bool isArray(std::string_view content);

  Status next(std::string_view &record, bool &more, uint64_t longest) override;
  void rewind() override;
  /// An array whose syntax is wrong has no elements after that.
  bool isBroken() const override { return !elements.ok(); }
  const char *unit() const override { return isOneArray ? "sample" : "line"; }
  uint64_t number() const override { return line; }
  uint64_t position() const override { return at; }
  Status moved(const Status &status) const override;
  /// An error at "file:line".
  Status bad(ErrorCode code, const std::string &problem,
             const std::string &remedy) const;

private:
  Status takeElement(std::string_view &element, bool &more, uint64_t longest);
  Status takeLine(std::string_view &text, uint64_t longest);
  Status refuseLong(uint64_t most) const;

  std::string_view content;
  std::string path;
  bool isOneArray;
  JsonReader elements; // of an array
  uint64_t at = 0;
  uint64_t line = 0;    // of the record at hand
  uint64_t column = 0;  // bytes before it in that line
  uint64_t counted = 0; // bytes of an array whose lines are in `lines`
  uint64_t lines = 1, lineStart = 0;
};

} // namespace hone::rt
