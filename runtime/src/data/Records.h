//===- Records.h - Samples of a file as JSON objects, one at a time -------===//
//
// Lines of JSONL, elements of a JSON array, or rows of a table: what reads a
// sample sees one JSON object and need not know which.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace hone::rt {

/// What a file's name says of it; ".gz" at its end is not looked at.
enum class FileKind : uint8_t {
  Unnamed, ///< the content decides
  Text,
  Json, ///< lines or an array
  Csv,
  Tsv,
};
FileKind kindOf(std::string_view path);
inline bool isTable(FileKind kind) {
  return kind == FileKind::Csv || kind == FileKind::Tsv;
}

class Records {
public:
  virtual ~Records() = default;

  /// The next record, valid until the next call; `more` becomes false at the
  /// end. After an error that is of one record alone, the next call goes on
  /// after it. Errors: LineTooLong for one of more than `longest` bytes,
  /// BadLine, DataNotUtf8.
  virtual Status next(std::string_view &record, bool &more,
                      uint64_t longest) = 0;
  virtual void rewind() = 0;

  /// Whether the last error leaves no way to find the next record.
  virtual bool isBroken() const = 0;
  /// "line", "sample", "row".
  virtual const char *unit() const = 0;
  virtual uint64_t number() const = 0; ///< of its first line, from 1
  /// Bytes of the file that were read.
  virtual uint64_t position() const = 0;
  /// An error of a reader that saw the record alone, at its place in the file.
  virtual Status moved(const Status &status) const = 0;
};

} // namespace hone::rt
