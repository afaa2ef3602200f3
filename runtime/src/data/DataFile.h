//===- DataFile.h - The bytes of a data file ------------------------------===//
//
// A compressed file is decompressed into one without a name, which is then
// mapped as another would be.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/MappedFile.h"
#include "data/Records.h"

#include <functional>
#include <string>
#include <string_view>

namespace hone::rt {

class DataFile {
public:
  /// Errors: OtherData for files that other programs read, by how they begin.
  static Status check(const MappedFile &file);

  /// Opens `file`. If it is compressed, a file without a name in `directory`
  /// holds its contents. Errors: EmptyData, DataNotUtf8 for UTF-16, those of
  /// decompress.
  static Result<DataFile> open(MappedFile file, const std::string &directory,
                               const std::function<Status()> &onProgress);

  const MappedFile &file() const { return mapped; }
  /// Without a byte order mark.
  std::string_view content() const { return all; }
  /// Without white space at the end: editors leave empty lines there.
  std::string_view withoutSpaceAtEnd() const;

  /// Whether it is records and not one text: its name decides if it says so,
  /// else whether line 1 is a JSON object.
  bool hasRecords() const;
  /// Errors: OtherData if the first line names columns and nothing else says
  /// that it is a table.
  Status refuseUnnamedTable() const;

private:
  std::string path;
  MappedFile mapped;
  std::string_view all;
};

} // namespace hone::rt
