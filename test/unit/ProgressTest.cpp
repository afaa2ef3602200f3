//===- ProgressTest.cpp - The progress line and the log -------------------===//
//
// The line's shape is part of the interface: people and scripts read it.
//
//===----------------------------------------------------------------------===//

#include "program/Progress.h"
#include "TemporaryFolder.h"
#include "platform/Files.h"
#include "program/LoggedSteps.h"
#include "program/StepLog.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <numeric>
#include <thread>
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
  StepRecord record{420, 1.83421, 9.6e-6, 0.5, 812, 143 * mib, 0};
  Progress::render(line, sizeof(line), record, 1000, 150 * mib, 812, 372);
  EXPECT_STREQ(line, "step   420/1000  loss 1.8342  norm 0.5  lr 9.6e-06  "
                     "812 tok/s  peak 143.0/150.0 MiB  eta 6m12s");
}

TEST(Progress, APeakThatIsUnknownIsNoNumber) {
  char line[256];
  StepRecord record{420, 1.83421, 9.6e-6, 0.5, 812, 0, 0};
  Progress::render(line, sizeof(line), record, 1000, 150 * mib, 812, 372);
  EXPECT_NE(std::string(line).find("peak ?/150.0 MiB"), std::string::npos);
}

TEST(Progress, MethodsWithoutAGradientHaveNoNorm) {
  char line[256];
  StepRecord record{420, 1.83421, 9.6e-6, NAN, 812, 143 * mib, 0};
  Progress::render(line, sizeof(line), record, 1000, 150 * mib, 812, 372);
  EXPECT_NE(std::string(line).find("loss 1.8342  lr"), std::string::npos);
}

TEST(Progress, AProgramThatCountsNoTokensHasNoRate) {
  char line[256];
  StepRecord record{420, 1.83421, 9.6e-6, NAN, 0, 143 * mib, 0};
  Progress::render(line, sizeof(line), record, 1000, 150 * mib, 0, 372);
  EXPECT_STREQ(line, "step   420/1000  loss 1.8342  lr 9.6e-06  "
                     "peak 143.0/150.0 MiB  eta 6m12s");
}

TEST(Progress, LineShowsWhatAStepWroteToTheFile) {
  char line[256];
  StepRecord record{420, 1.83421, 9.6e-6, NAN, 812, 143 * mib, 0};
  record.offloadedBytes = 21 * mib;
  Progress::render(line, sizeof(line), record, 1000, 150 * mib, 812, 372);
  EXPECT_NE(std::string(line).find("150.0 MiB  offloaded 21.0 MiB  eta"),
            std::string::npos);
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

TEST(Terminal, TakesEscapesAndColoursAsTheEnvironmentSays) {
  int terminal = posix_openpt(O_RDWR | O_NOCTTY), ends[2];
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(pipe(ends), 0);
  const char *kind = getenv("TERM"), *refused = getenv("NO_COLOR");
  const std::string before = kind ? kind : "", refusal = refused ? refused : "";
  auto expect = [&](bool escapes, bool colours) {
    EXPECT_EQ(platform::takesEscapes(terminal), escapes);
    EXPECT_EQ(platform::takesColours(terminal), colours);
    EXPECT_FALSE(platform::takesEscapes(ends[1]));
    EXPECT_FALSE(platform::takesColours(ends[1]));
  };
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  expect(true, true);
  setenv("NO_COLOR", "", 1);
  expect(true, true);
  setenv("NO_COLOR", "1", 1);
  expect(true, false);
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  expect(false, false);
  unsetenv("TERM");
  expect(false, false);
  if (kind)
    setenv("TERM", before.c_str(), 1);
  if (refused)
    setenv("NO_COLOR", refusal.c_str(), 1);
  for (int file : {terminal, ends[0], ends[1]})
    close(file);
}

/// The eta of the last line that `steps` of so many seconds each print, of
/// `total` steps; the first takes ten times as long.
static std::string etaAfter(uint64_t steps, uint64_t total, double seconds) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  Progress progress(ends[1], false, 1, total, mib);
  double now = 0;
  for (uint64_t step = 1; step <= steps; ++step) {
    const double each = step == 1 || step == steps ? 10 * seconds : seconds;
    now += step == steps ? 2 : each; // so that a line is due
    progress.step({step, 1, 1, 1, 1, 1}, now, each);
  }
  progress.finish();
  std::string text = readAll(ends[0]);
  close(ends[0]);
  close(ends[1]);
  const size_t at = text.rfind("eta ");
  return at == std::string::npos ? text : text.substr(at, text.size() - at - 1);
}

TEST(Progress, OneSlowStepDoesNotMakeTheEstimateJump) {
  // Each of 100,000 steps takes 0.1 ms: 9.9 s are left after 1,000.
  EXPECT_EQ(etaAfter(1000, 100000, 1e-4), "eta 10s");
  // Of 30 s: 20 steps are smoothed, and the last has a tenth.
  EXPECT_EQ(etaAfter(40, 41, 30), "eta 58s");
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

  void write(uint64_t first, uint64_t last, const char *run = "a") {
    auto log = StepLog::open(path, run, first - 1);
    ASSERT_TRUE(log.isOk()) << log.status().render();
    for (uint64_t step = first; step <= last; ++step) {
      ASSERT_TRUE(log.value().step({step, 1.0 / double(step)}).isOk());
      ASSERT_TRUE(log.value().evaluation(step, {0.5}).isOk());
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

TEST_F(StepLogTest, SaysWhatAStepWroteToTheFile) {
  auto log = StepLog::open(path, "a", 0);
  ASSERT_TRUE(log.isOk());
  StepRecord record{1, 0.5};
  ASSERT_TRUE(log.value().step(record).isOk());
  EXPECT_EQ(folder.read("log.jsonl").find("offloaded"), std::string::npos);
  record.offloadedBytes = 4096;
  ASSERT_TRUE(log.value().step(record).isOk());
  EXPECT_NE(folder.read("log.jsonl").find(", \"offloaded_bytes\": 4096}\n"),
            std::string::npos);
}

TEST_F(StepLogTest, SaysWhichLayersAStepSelected) {
  auto log = StepLog::open(path, "a", 0);
  ASSERT_TRUE(log.isOk());
  std::vector<uint32_t> none, all(5000);
  std::iota(all.begin(), all.end(), 0u);
  StepRecord record{1, 0.5};
  for (std::vector<uint32_t> *layers : {&none, &all}) {
    record.selectedLayers = layers;
    ASSERT_TRUE(log.value().step(record).isOk());
  }
  std::string text = folder.read("log.jsonl");
  EXPECT_NE(text.find(", \"selected_layers\": []}\n"), std::string::npos);
  EXPECT_NE(text.find(", \"selected_layers\": [0, 1, 2, "), std::string::npos);
  EXPECT_EQ(text.substr(text.size() - 8), " 4999]}\n");
  // A line like others for its readers.
  int steps = 0;
  ASSERT_TRUE(readLoggedSteps(path, "a",
                              {[&](const StepRecord &read) {
                                 EXPECT_EQ(read.loss, 0.5);
                                 ++steps;
                               },
                               {}})
                  .isOk());
  EXPECT_EQ(steps, 2);
}

TEST_F(StepLogTest, OtherRunsLinesStay) {
  write(1, 4, "a");
  std::string first = folder.read("log.jsonl");
  write(1, 6, "b");
  std::string both = folder.read("log.jsonl");
  EXPECT_EQ(both.substr(0, first.size()), first);
  EXPECT_GT(both.size(), 2 * first.size());
  write(3, 4, "b"); // resumes after step 2: 3 to 6 go
  EXPECT_EQ(folder.read("log.jsonl").size(), 2 * first.size());
  // The first resumes too: its lines are in front of the other's.
  write(3, 4, "a");
  std::string text = folder.read("log.jsonl");
  EXPECT_EQ(text.size(), 2 * first.size());
  std::string own = first.substr(first.find("{\"step\": 3"));
  EXPECT_EQ(text.substr(text.size() - own.size()), own);
  EXPECT_EQ(folder.count(), 1u);
}

TEST_F(StepLogTest, LinesWithoutARunAreAnotherRuns) {
  std::string old = "{\"step\": 1, \"loss\": 2}\n{\"step\": 9, \"loss\": 1}\n";
  std::ofstream(path) << old;
  write(1, 2);
  EXPECT_EQ(folder.read("log.jsonl").substr(0, old.size()), old);
}

TEST_F(StepLogTest, TakesNothingOutWhileAnotherRunWrites) {
  write(1, 4, "a");
  write(1, 4, "b");
  std::string before = folder.read("log.jsonl");
  auto other = StepLog::open(path, "b", 4);
  ASSERT_TRUE(other.isOk());
  EXPECT_EQ(StepLog::open(path, "a", 2).status().errorCode(),
            ErrorCode::LogInUse);
  EXPECT_EQ(folder.read("log.jsonl"), before);
  EXPECT_TRUE(StepLog::open(path, "a", 4).isOk());
}

TEST_F(StepLogTest, WaitsForAnotherRunThatEnds) {
  write(1, 4, "a");
  write(1, 4, "b");
  auto other = StepLog::open(path, "b", 4);
  ASSERT_TRUE(other.isOk());
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    other = StepLog();
  });
  Result<StepLog> waited = StepLog::open(path, "a", 2);
  ends.join();
  EXPECT_TRUE(waited.isOk()) << waited.status().render();
}

// It has no bound that a machine's features would not reach, and is the run's.
TEST_F(StepLogTest, OtherNumericsOfAnyLengthStayAndGoWithTheirRun) {
  write(1, 4);
  std::string first = folder.read("log.jsonl");
  {
    auto log = StepLog::open(path, "a", 4);
    ASSERT_TRUE(log.isOk()) << log.status().render();
    ASSERT_TRUE(log.value().otherNumerics(4, std::string(20000, 'x')).isOk());
  }
  write(5, 6);
  EXPECT_GT(folder.read("log.jsonl").size(), first.size() + 20000);
  write(3, 4);
  EXPECT_EQ(folder.read("log.jsonl"), first);
}

TEST_F(StepLogTest, LossKeepsEveryBit) {
  write(3, 3);
  EXPECT_NE(folder.read("log.jsonl").find("\"loss\": 0.33333333333333331,"),
            std::string::npos);
}

TEST_F(StepLogTest, EvaluationsHaveTheirPerplexityAndAccuracy) {
  auto log = StepLog::open(path, "a", 0);
  ASSERT_TRUE(log.isOk());
  ASSERT_TRUE(log.value().evaluation(1, {1.5}).isOk());
  ASSERT_TRUE(log.value().evaluation(2, {0.5, 1, 8, 6}).isOk());
  // JSON has no infinity.
  ASSERT_TRUE(log.value().evaluation(3, {1e4}).isOk());
  std::string text = folder.read("log.jsonl");
  EXPECT_NE(
      text.find("\"eval_loss\": 1.5, \"perplexity\": 4.4816890703380645}"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("1.6487212707001282, \"eval_accuracy\": 0.75}"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\"eval_loss\": 10000, \"perplexity\": null}"),
            std::string::npos)
      << text;
}

TEST_F(StepLogTest, NeverOverwritesAFileThatIsNoLog) {
  std::ofstream(path) << "my only copy\n";
  auto log = StepLog::open(path, "a", 0);
  ASSERT_FALSE(log.isOk());
  EXPECT_EQ(log.status().errorCode(), ErrorCode::NotALog);
  EXPECT_EQ(folder.read("log.jsonl"), "my only copy\n");
}

TEST_F(StepLogTest, ZerosOfAPowerCutGo) {
  write(1, 2);
  const std::string whole = folder.read("log.jsonl"), zeros(100000, '\0');
  for (const std::string &tail :
       {zeros, "{\"step\": 3, \"ru" + zeros, zeros + "\": 3.5}\n",
        zeros + "\": 3.5}\n{\"step\": 3, \"loss\"" + zeros}) {
    std::ofstream(path) << whole << tail;
    ASSERT_TRUE(StepLog::open(path, "a", 2).isOk());
    EXPECT_EQ(folder.read("log.jsonl"), whole);
  }
}

TEST_F(StepLogTest, FilesThatBeginWithZerosAreNoLogs) {
  for (const std::string &other :
       {std::string("\0\0\0\x20"
                    "ftypisom\0\0\2\0",
                    16),
        std::string("\0\0lines of\nwhat else\n", 22)}) {
    std::ofstream(path) << other;
    EXPECT_FALSE(StepLog::open(path, "a", 0).isOk());
    EXPECT_EQ(folder.read("log.jsonl"), other);
  }
}

TEST_F(StepLogTest, WithoutAPathNothingIsWritten) {
  auto log = StepLog::open("", "a", 0);
  ASSERT_TRUE(log.isOk());
  EXPECT_TRUE(log.value().step({1}).isOk());
}
