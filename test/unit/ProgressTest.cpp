//===- ProgressTest.cpp - What a person sees, and the log -----------------===//
//
// The line's shape is part of the interface: people and scripts read it.
//
//===----------------------------------------------------------------------===//

#include "program/Progress.h"
#include "TemporaryFolder.h"
#include "program/StepLog.h"

#include <gtest/gtest.h>

#include <fstream>
#include <unistd.h>

using namespace hone::rt;

static constexpr uint64_t mib = 1024 * 1024;

static std::string readAll(int file) {
  char text[4096];
  ssize_t size = read(file, text, sizeof(text));
  return size > 0 ? std::string(text, size_t(size)) : "";
}

TEST(Progress, LineShowsMeasuredBesidePlannedPeak) {
  char line[256];
  StepRecord record{420, 1.83421, 9.6e-6, 0.5, 812, 143 * mib};
  Progress::render(line, sizeof(line), record, 1000, 150 * mib, 812, 372);
  EXPECT_STREQ(line, "step   420/1000  loss 1.8342  lr 9.6e-06  812 tok/s  "
                     "peak 143.0/150.0 MiB  eta 6m12s");
}

TEST(Progress, PlainLinesAreAtMostOneASecondWithFirstAndLast) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Progress progress(ends[1], false, 1, 5, mib);
  double times[] = {0, 0.4, 1.2, 1.3, 1.4};
  for (uint64_t step = 1; step <= 5; ++step)
    progress.step({step, 1, 1, 1, 1, 1}, times[step - 1], 0.3);
  progress.finish();
  std::string text = readAll(ends[0]);
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("1/5"), std::string::npos);
  EXPECT_EQ(text.find("2/5"), std::string::npos);
  EXPECT_NE(text.find("3/5"), std::string::npos);
  EXPECT_EQ(text.find("4/5"), std::string::npos);
  EXPECT_NE(text.find("5/5"), std::string::npos);
}

TEST(Progress, TerminalLineIsRedrawnAndLeftBeforeANote) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Progress progress(ends[1], true, 1, 2, mib);
  progress.step({1, 1, 1, 1, 1, 1}, 0, 0.3);
  progress.note("saved");
  std::string text = readAll(ends[0]);
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(text.front(), '\r');
  EXPECT_NE(text.find("\x1b[K\x1b[?7h\nsaved\n"), std::string::npos);
}

class StepLogTest : public testing::Test {
protected:
  TemporaryFolder folder;
  std::string path = folder.file("log.jsonl");

  void write(uint64_t first, uint64_t last) {
    auto log = StepLog::open(path, first - 1);
    ASSERT_TRUE(log.isOk());
    for (uint64_t step = first; step <= last; ++step) {
      ASSERT_TRUE(log.value().step({step, 1.0 / double(step)}).isOk());
      ASSERT_TRUE(log.value().evaluation(step, 0.5).isOk());
    }
    ASSERT_TRUE(log.value().sync().isOk());
  }
};

TEST_F(StepLogTest, ResumedLogHasEachStepOnce) {
  write(1, 6);
  std::string whole = folder.read("log.jsonl");
  std::ofstream(path, std::ios::app) << "{\"step\": 7, \"lo"; // a kill
  write(4, 6);
  EXPECT_EQ(folder.read("log.jsonl"), whole);
}

TEST_F(StepLogTest, LossKeepsEveryBit) {
  write(3, 3);
  EXPECT_NE(folder.read("log.jsonl").find("\"loss\": 0.33333333333333331,"),
            std::string::npos);
}

TEST_F(StepLogTest, NeverOverwritesAFileThatIsNoLog) {
  std::ofstream(path) << "my only copy\n";
  auto log = StepLog::open(path, 0);
  ASSERT_FALSE(log.isOk());
  EXPECT_EQ(log.status().code(), ExitCode::BadData);
  EXPECT_EQ(folder.read("log.jsonl"), "my only copy\n");
}

TEST_F(StepLogTest, WithoutAPathNothingIsWritten) {
  auto log = StepLog::open("", 0);
  ASSERT_TRUE(log.isOk());
  EXPECT_TRUE(log.value().step({1}).isOk());
}
