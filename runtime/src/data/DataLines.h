//===- DataLines.h - JSON training data, one sample at a time -------------===//
//
// A sample is a line of JSONL, an element of one JSON array or a row of a
// table. The first decides the shape of all; a later one of another shape is an
// error, not a guess. Memory holds one, never the file, and of its lists only
// the ids that fit a sample.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "chat/ChatTemplate.h"
#include "data/JsonRecords.h"
#include "data/KeyMap.h"

#include <algorithm>
#include <cstdint>
#include <memory>
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
  Messages = 4,         ///< {"messages": [{"role", "content"}]}
  ShareGpt = 5,         ///< {"conversations": [{"from", "value"}], "system"?}
  Alpaca = 6,           ///< {"instruction", "input"?, "output", "system"?}
  Task = 7,             ///< examples of a Task, each with all candidates
};
inline constexpr DataFormat LastDataFormat = DataFormat::Task;

/// The format as a person names it.
const char *describe(DataFormat format);

/// Label of a position that no loss is taken from, as in PyTorch.
inline constexpr int32_t NoTarget = -100;

/// One line; only the members of its format are set.
struct DataLine {
  std::string text;            ///< "text", "prompt" or "instruction"
  std::string completion;      ///< "completion" or "output"
  std::string input;           ///< "input"
  std::string system;          ///< "system" beside other keys
  std::vector<ChatTurn> turns; ///< "messages" or "conversations"
  Json tools;                  ///< "tools" beside them, or null
  std::vector<int32_t> ids;    ///< "input_ids", the first keptIds
  std::vector<int32_t> labels; ///< "labels", not shifted, the first keptIds
  uint64_t idCount = 0, labelCount = 0; ///< of the line
  bool hasLabels = false;
  uint64_t number = 0; ///< of its first line, from 1
};

class DataLines {
public:
  static constexpr uint64_t LongestLine = JsonRecords::Longest;
  /// Longest sample that is rendered, or split and so held as all its ids.
  static constexpr uint64_t LongestConversation = 128 * 1024;
  /// Turns of a conversation. Each is rendered with all before it.
  static constexpr size_t MostTurns = 1024;

  /// Reads `content`, the bytes of the file `path` without empty lines at the
  /// end. Ids and labels are checked against `vocabularySize`; of each line
  /// the first `keptIds` are kept. The end of `path` says whether it is a
  /// table, `map` the meanings of keys.
  DataLines(std::string_view content, std::string path, int64_t vocabularySize,
            uint64_t keptIds, KeyMap map = {});

  DataLines(const DataLines &) = delete;
  DataLines &operator=(const DataLines &) = delete;

  /// Whether `line` is one JSON object.
  static bool isObject(std::string_view line);
  /// Whether lines of some format have this key.
  static bool isKey(const std::string &name);

  /// Finds the format from the first line, or the first of 1,000 that has one.
  /// Errors: BadData when the keys are of no known format or of two: that of
  /// the first line.
  Status detect(bool passesOver = false);
  DataFormat format() const { return shape; }
  /// Refuses lines of more than `bytes` from here on, at most LongestLine.
  void limitTo(uint64_t bytes) { longest = std::min(longest, bytes); }

  /// Reads the next line into `line`; `more` becomes false at the end.
  /// Errors: BadData with file, line and column or key; the next call goes on
  /// with the next line unless isBroken().
  Status next(DataLine &line, bool &more);
  bool isBroken() const { return records->isBroken(); }

  /// Bytes of the file that were read.
  uint64_t position() const { return records->position(); }
  /// Keys that were ignored in some line, each once, at most 16, of each the
  /// first 64 bytes.
  const std::vector<std::string> &ignoredKeys() const { return ignored; }

  /// An error at "file:line".
  Status bad(ErrorCode code, uint64_t number, const std::string &problem,
             const std::string &remedy) const;

private:
  struct OtherKey;
  static const OtherKey OtherKeys[];
  Status detectFrom(std::string_view text);
  bool readOther(JsonReader &reader, const OtherKey &other);
  Status read(std::string_view text, DataLine &line, unsigned &seen);
  Status checkShape(const DataLine &line, unsigned seen) const;
  bool readKey(JsonReader &reader, const std::string &key, DataLine &line,
               unsigned &seen);
  bool readIds(JsonReader &reader, const char *key, bool allowNoTarget,
               std::vector<int32_t> &out, uint64_t &count);
  bool readMask(JsonReader &reader);
  bool readEmpty(JsonReader &reader, const std::string &key);
  void noteIgnored(const std::string &key);

  std::string path;
  int64_t vocabularySize;
  uint64_t keptIds, longest = LongestLine;
  bool isDetected = false;
  KeyMap map;
  std::unique_ptr<Records> records;
  uint64_t lineBytes = 0;
  DataFormat shape = DataFormat::PlainText;
  std::vector<std::string> ignored;
};

} // namespace hone::rt
