//===- ReportFuzzer.cpp - Any text in a line of report.html ---------------===//
//
// libFuzzer target. The line of any text ends where it should, and reads back;
// any bytes as a line are one or none, and a line has no markup in it.
//
//===----------------------------------------------------------------------===//

#include "base/Json.h"
#include "base/Utf8.h"
#include "program/ReportLine.h"

#include <cstdlib>

using namespace hone::rt;

static void require(bool condition) {
  if (!condition)
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  if (const auto entry = readReportLine(text)) {
    require(entry->size <= text.size() && entry->values.size() < entry->size);
    require(entry->values.find('<') == std::string_view::npos);
  }
  ReportLine line;
  line.begin("text", 7);
  line.text(text);
  line.endValues();
  line.beginRow();
  line.cell(text);
  const std::string_view whole = line.end();
  const auto entry = readReportLine(whole);
  require(entry && entry->size == whole.size() && entry->step == 7);
  require(whole.find("</script") == whole.rfind("</script"));
  require(whole.find("<!--") == std::string_view::npos);
  require(whole.find('\n') == whole.size() - 1);
  const std::string_view row = whole.substr(whole.find("<tr><td>") + 8);
  for (size_t at = row.find('<'); at != std::string_view::npos;
       at = row.find('<', at + 1))
    require(row.substr(at, 4) == "<br>");
  const Result<Json> values = Json::parse(entry->values, "values");
  require(values.isOk() && values.value().array().size() == 3);
  if (findInvalidUtf8(text) == std::string_view::npos)
    require(values.value().array()[2].string() == text);
  // JSON that was read may stand in a line again.
  ReportLine again;
  again.begin("page", 0);
  again.json(entry->values);
  again.endValues();
  require(bool(readReportLine(again.end())));
  return 0;
}
