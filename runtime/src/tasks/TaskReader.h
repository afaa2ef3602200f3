//===- TaskReader.h - Examples of a task from a file ----------------------===//
//
// JSON, a line for each example or one array of them, as SuperGLUE and the
// datasets library write them; or a .tsv file with the names of its columns in
// the first line, as GLUE has them: no quotes, no escapes.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "data/JsonRecords.h"
#include "tasks/Task.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

struct TaskExample {
  std::vector<std::string> texts; ///< by field of the task
  size_t label = 0;               ///< among those of the task
  uint64_t number = 0;            ///< of its first line, from 1
};

class TaskReader {
public:
  /// Longest example, in bytes.
  static constexpr uint64_t Longest = 128 * 1024;

  /// `content` are the bytes of the file `path` without empty lines at the end.
  TaskReader(const Task &task, std::string_view content, std::string path);

  /// Reads the next example; `more` becomes false at the end. Errors:
  /// BadExample, BadLine, LineTooLong, EmptyData, with file and line.
  Status next(TaskExample &example, bool &more);

  /// Whether the data after an error can be read.
  bool goesOn() const { return isTable ? hasHeader : !records.isBroken(); }

  /// Bytes of the file that were read.
  uint64_t position() const { return isTable ? at : records.position(); }

private:
  /// The task's use of a key or a column.
  struct Use {
    enum Kind { Nothing, Text, Label } kind = Nothing;
    size_t field = 0;
  };
  Use useOf(const std::string &name) const;
  Status bad(const std::string &problem, const std::string &remedy) const;
  Status readHeader();
  Status readRow(TaskExample &example, bool &more);
  Status readRecord(TaskExample &example, bool &more);
  bool readMembers(JsonReader &reader, TaskExample &example, bool isInner);
  bool readLabel(JsonReader &reader, std::string &text);
  Status takeRow(std::string_view &row);
  Status findLabel(const std::string &text, size_t &label) const;
  Status finish(TaskExample &example);

  const Task &task;
  std::string_view content;
  std::string path;
  bool isTable;
  JsonRecords records;
  std::vector<Use> columns; ///< of a table
  std::vector<bool> seen;   ///< by field, of the example at hand
  bool hasHeader = false, hasLabel = false;
  std::string label;
  uint64_t at = 0, line = 0; ///< of a table
};

} // namespace hone::rt
