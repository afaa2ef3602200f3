//===- Records.h - Samples of a file as JSON objects, one at a time -------===//
//
// Lines of JSONL, elements of a JSON array, or rows of a table: a reader of
// samples sees one JSON object and need not know which.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace hone::rt {

/// The formats of records: KIND(name, ends of its files' names, whether its
/// records are rows of a table, the function that opens it).
#define HONE_RECORD_KINDS(KIND)                                                \
  KIND(Json, ".jsonl .json", false, openJsonRecords)                           \
  KIND(Csv, ".csv", true, openTable)                                           \
  KIND(Tsv, ".tsv", true, openTable)

/// The kind of a file by its name, without ".gz" at its end.
enum class FileKind : uint8_t {
  Unnamed, ///< the content decides
  Text,
#define HONE_FILE_KIND(NAME, ENDINGS, TABLE, OPEN) NAME,
  HONE_RECORD_KINDS(HONE_FILE_KIND)
#undef HONE_FILE_KIND
};
FileKind kindOf(std::string_view path);
bool isTable(FileKind kind);

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

/// Of the columns or keys whose values are JSON where the format has only text.
using HoldsJson = std::function<bool(const std::string &)>;

/// A reader of `content`, the bytes of the file `path` without empty lines at
/// the end. The end of `path` decides its kind; by default it has lines of
/// JSON.
std::unique_ptr<Records> openRecords(std::string_view content,
                                     const std::string &path,
                                     HoldsJson holdsJson);

#define HONE_OPEN_RECORDS(NAME, ENDINGS, TABLE, OPEN)                          \
  std::unique_ptr<Records> OPEN(std::string_view content,                      \
                                const std::string &path, FileKind kind,        \
                                HoldsJson holdsJson);
HONE_RECORD_KINDS(HONE_OPEN_RECORDS)
#undef HONE_OPEN_RECORDS

} // namespace hone::rt
