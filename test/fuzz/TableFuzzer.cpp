//===- TableFuzzer.cpp - Any bytes as a table -----------------------------===//
//
// libFuzzer target. Every row is a JSON object with the columns of the first,
// and rows end where the file does.
//
//===----------------------------------------------------------------------===//

#include "data/TableRecords.h"

#include "Parts.h"
#include "base/Json.h"

using namespace hone::rt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  for (FileKind kind : {FileKind::Csv, FileKind::Tsv}) {
    TableRecords rows(text, "input", kind, [](const std::string &column) {
      return !column.empty() && column[0] == 'm';
    });
    uint64_t lastPosition = 0;
    for (bool more = true; more;) {
      std::string_view row;
      const Status status = rows.next(row, more, 4096);
      if (!status.isOk()) {
        hone::fuzz::requireMessage(status);
        if (rows.isBroken())
          break;
        more = rows.position() > lastPosition || rows.position() < size;
        if (rows.position() == lastPosition && rows.position() < size)
          std::abort(); // it would never end
        lastPosition = rows.position();
        continue;
      }
      lastPosition = rows.position();
      // Of JSON in cells only duplicates and depth can be wrong.
      if (more &&
          (row.size() > 4096 + 1 || row.front() != '{' || row.back() != '}'))
        std::abort();
    }
  }
  return 0;
}
