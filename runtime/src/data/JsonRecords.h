//===- JsonRecords.h - JSON objects of a file, one at a time --------------===//
//
// The lines of JSONL, or the elements of one JSON array. One is looked at at a
// time; the file is never a tree.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/JsonReader.h"
#include "base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace hone::rt {

class JsonRecords {
public:
  /// Longest record, in bytes. It bounds the memory to about four times as
  /// much.
  static constexpr uint64_t Longest = 512 * 1024;

  /// Reads `content`, the bytes of the file `path` without empty lines at the
  /// end.
  JsonRecords(std::string_view content, std::string path);

  /// Whether `content` begins as an array of objects does.
  static bool isArray(std::string_view content);

  /// The next record; `more` becomes false at the end. Errors: LineTooLong for
  /// one of more than `longest` bytes; BadLine between elements of an array.
  Status next(std::string_view &record, bool &more, uint64_t longest);
  void rewind();

  bool inArray() const { return isOneArray; }
  uint64_t number() const { return line; } ///< of its first line, from 1
  /// Bytes of the file that were read.
  uint64_t position() const { return at; }

  /// An error of a reader that saw the record alone, at its place in the file.
  Status moved(const Status &status) const;
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
