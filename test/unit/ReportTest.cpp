//===- ReportTest.cpp - Lines of report.html, and its file ----------------===//

#include "TemporaryFolder.h"
#include "base/Json.h"
#include "program/ReportFile.h"
#include "program/ReportLine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

using namespace hone::rt;

namespace {

std::string lineOf(const char *kind, uint64_t step, std::string_view text) {
  ReportLine line;
  line.begin(kind, step);
  line.text(text);
  line.number(0.1);
  line.number(std::nan(""));
  line.endValues();
  line.beginRow();
  line.cell(text, 2);
  line.numberCell("%.1f", 2.25);
  return std::string(line.end());
}

TEST(ReportLine, TextCannotEndTheScript) {
  const std::string text =
      "</script><!--<script>\xe2\x80\xa8\xe2\x80\xa9&\"'\\\n\x01z";
  const std::string line = lineOf("sample", 3, text);
  EXPECT_EQ(line.find("</script>"), line.rfind("</script>"));
  EXPECT_EQ(line.find("<!--"), std::string::npos);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const std::string longer = line + "more";
  const auto entry = readReportLine(longer);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->kind, "sample");
  EXPECT_EQ(entry->step, 3u);
  EXPECT_EQ(entry->size, line.size());
  const Result<Json> values = Json::parse(entry->values, "values");
  ASSERT_TRUE(values.isOk()) << values.status().render();
  EXPECT_EQ(values.value().array()[2].string(), text);
  EXPECT_EQ(values.value().array()[3].number(), 0.1);
  EXPECT_TRUE(values.value().array()[4].isNull());
  // In the row it is text too.
  const std::string row = line.substr(line.find("<tr>"));
  EXPECT_EQ(row, "<tr><td colspan=2>&#60;/script&#62;&#60;!--&#60;script&#62;"
                 "\xe2\x80\xa8\xe2\x80\xa9&#38;&#34;&#39;\\<br>\\x01z"
                 "<td>2.2\n");
}

TEST(ReportLine, ALineThatWasCutOffIsNone) {
  const std::string line = lineOf("step", 12, "text");
  ASSERT_TRUE(readReportLine(line));
  for (size_t size = 0; size < line.size(); ++size)
    EXPECT_FALSE(readReportLine(line.substr(0, size))) << size;
  std::string zeros = line;
  zeros.replace(20, 4, 4, '\0'); // a power cut
  EXPECT_FALSE(readReportLine(zeros));
}

class ReportFileTest : public testing::Test {
protected:
  TemporaryFolder folder;
  std::string path = folder.file("report.html");
  std::string read() { return folder.read("report.html"); }

  /// A page of four steps, evaluated after the second.
  void write() {
    ReportFile file;
    file.create(path, "<i>title</i>");
    for (auto [kind, step] : {std::pair("run", 0),
                              {"step", 1},
                              {"step", 2},
                              {"eval", 2},
                              {"step", 4},
                              {"end", 4}})
      file.append(lineOf(kind, uint64_t(step), "x"));
  }
};

TEST_F(ReportFileTest, GoesOnAfterTheCheckpoint) {
  write();
  const std::string whole = read();
  EXPECT_EQ(whole.find("<i>"), std::string::npos);
  ReportFile file;
  ASSERT_TRUE(file.resume(path, 2));
  EXPECT_EQ(read(), whole.substr(0, whole.find("<script>add([\"step\",4")));
  for (const char *kind : {"step", "end"})
    file.append(lineOf(kind, 4, "x"));
  EXPECT_EQ(read(), whole);
  // A run that had ended says its end again.
  ASSERT_TRUE(file.resume(path, 4));
  EXPECT_EQ(read(), whole.substr(0, whole.find("<script>add([\"end\"")));
}

TEST_F(ReportFileTest, IsMadeAgainWithoutAllSteps) {
  write();
  std::string whole = read();
  ReportFile file;
  EXPECT_FALSE(file.resume(path, 3)); // 3 and 4 share a line
  EXPECT_FALSE(file.resume(path, 5));
  EXPECT_EQ(read(), whole);
  whole.resize(whole.find("[\"step\",2") + 20);
  std::ofstream(path) << whole;
  EXPECT_FALSE(file.resume(path, 2));
  EXPECT_TRUE(file.resume(path, 1));
  for (const char *other : {"", "<!DOCTYPE html>", "text"}) {
    std::ofstream(path) << other;
    EXPECT_FALSE(file.resume(path, 1));
    EXPECT_EQ(read(), other);
  }
  EXPECT_FALSE(file.resume(folder.file("none"), 1));
}

TEST_F(ReportFileTest, IsExtendedAfterItsEnd) {
  write();
  const std::string whole = read();
  std::ofstream(path, std::ios::app) << "<script>add([\"text\",4,\"cut";
  ReportFile file;
  ASSERT_TRUE(file.extend(path));
  EXPECT_EQ(read(), whole);
}

} // namespace
