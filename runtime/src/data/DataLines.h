//===- DataLines.h - JSONL training data, one line at a time --------------===//
//
// The first line decides the shape of all lines; a later line of another
// shape is an error, not a guess. One line is held in memory, never the file.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_DATA_DATALINES_H
#define HONE_RUNTIME_DATA_DATALINES_H

#include "base/JsonReader.h"
#include "base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::rt {

/// Values are stored in token caches: never renumber.
enum class DataFormat : uint32_t {
  PlainText = 0,        ///< one text, packed into full sequences
  Text = 1,             ///< {"text"}
  PromptCompletion = 2, ///< {"prompt", "completion"}
  TokenIds = 3,         ///< {"input_ids", "labels"?}
};

/// The format as a person names it.
const char *describe(DataFormat format);

/// Label of a position that no loss is taken from, as in PyTorch.
inline constexpr int32_t NoTarget = -100;

/// One line; only the members of its format are set.
struct DataLine {
  std::string text;            ///< "text", or "prompt"
  std::string completion;      ///< "completion"
  std::vector<int32_t> ids;    ///< "input_ids"
  std::vector<int32_t> labels; ///< "labels", not shifted
  bool hasLabels = false;
  uint64_t number = 0; ///< from 1
};

class DataLines {
public:
  /// Reads `content`, the bytes of the file `path`. Ids and labels are checked
  /// against `vocabularySize`.
  DataLines(std::string_view content, std::string path, int64_t vocabularySize)
      : content(content), path(std::move(path)),
        vocabularySize(vocabularySize) {}

  /// Finds the format from the first line. Errors: BadData when the keys are
  /// of no known format or of two.
  Status detect();
  DataFormat format() const { return shape; }

  /// Reads the next line into `line`; `more` becomes false at the end.
  /// Errors: BadData with file, line and column or key.
  Status next(DataLine &line, bool &more);

  /// Bytes of the file that were read.
  uint64_t position() const { return at; }
  /// Keys that were ignored in some line, each once, at most 16.
  const std::vector<std::string> &ignoredKeys() const { return ignored; }

  /// BadData at "file:line", about the key `key` when it is not empty.
  Status bad(uint64_t number, const std::string &problem,
             const std::string &remedy) const;

private:
  std::string_view takeLine();
  Status read(std::string_view text, DataLine &line, unsigned &seen);
  Status checkShape(const DataLine &line, unsigned seen) const;
  bool readKey(JsonReader &reader, const std::string &key, DataLine &line,
               unsigned &seen);
  bool readIds(JsonReader &reader, const char *key, bool allowNoTarget,
               std::vector<int32_t> &out);
  bool readMask(JsonReader &reader);
  bool skipValue(JsonReader &reader, const std::string &key);

  std::string_view content;
  std::string path;
  int64_t vocabularySize;
  uint64_t at = 0, number = 0;
  DataFormat shape = DataFormat::PlainText;
  std::vector<std::string> ignored;
};

} // namespace hone::rt

#endif
