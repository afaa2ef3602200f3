//===- DataLinesFuzzer.cpp - Any bytes as JSON lines ----------------------===//
//
// libFuzzer target. Beyond not crashing: every id and label is one that the
// model has, since generated code indexes tables with them.
//
//===----------------------------------------------------------------------===//

#include "data/DataLines.h"

#include "Parts.h"

using namespace hone::rt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static constexpr int64_t Vocabulary = 300;
  std::string_view text(reinterpret_cast<const char *>(data), size);
  DataLines lines(text, "input", Vocabulary, /*keptIds=*/1 << 20);
  Status status = lines.detect();
  DataLine line;
  for (bool more = true; status.isOk() && more;) {
    status = lines.next(line, more);
    if (!status.isOk() || !more)
      continue;
    if (lines.format() != DataFormat::TokenIds)
      continue;
    for (int32_t id : line.ids)
      if (id < 0 || id >= Vocabulary)
        std::abort();
    if (line.hasLabels && line.labels.size() != line.ids.size())
      std::abort();
    if (line.hasLabels)
      for (int32_t label : line.labels)
        if (label != NoTarget && (label < 0 || label >= Vocabulary))
          std::abort();
  }
  if (!status.isOk())
    hone::fuzz::requireMessage(status);
  return 0;
}
