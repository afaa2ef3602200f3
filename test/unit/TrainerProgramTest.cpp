//===- TrainerProgramTest.cpp - The whole program, in one process ---------===//
//
// Counts every call of the allocator: two runs that differ only in their
// number of steps must make the same number of calls.
//
//===----------------------------------------------------------------------===//

#include "BigramFixture.h"
#include "base/MappedFile.h"
#include "program/Program.h"
#include "program/Signals.h"

#include <atomic>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <regex>
#include <unistd.h>

using namespace hone;
using namespace hone::rt;
using namespace hone::test;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HONE_OTHER_ALLOCATOR
#endif
#endif

#if defined(__GLIBC__) && !defined(HONE_OTHER_ALLOCATOR)
#define HONE_COUNT_ALLOCATIONS
static std::atomic<uint64_t> allocations{0};

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

// operator new and everything in libc come through these three.
void *malloc(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, size);
}
}
#endif

namespace {

class TrainerProgramTest : public BigramFixture {
protected:
  /// Runs the program on this folder's data into folder/`output`.
  int train(const std::string &output, std::vector<std::string> more,
            const std::string &data = "data.jsonl") {
    std::vector<std::string> words{"train",
                                   "--weights",
                                   folder + "weights",
                                   "--data",
                                   folder + data,
                                   "--output",
                                   folder + output,
                                   "--log",
                                   folder + output + ".jsonl",
                                   "--threads",
                                   "2"};
    words.insert(words.end(), more.begin(), more.end());
    return run(std::move(words));
  }
  int run(std::vector<std::string> words) {
    std::vector<char *> argv;
    for (std::string &word : words)
      argv.push_back(word.data());
    testing::internal::CaptureStdout();
    int code =
        runProgram(bigramModule(HONE_ADAMW), int(argv.size()), argv.data());
    printed = testing::internal::GetCapturedStdout();
    return code;
  }
  std::string printed; ///< by the last run
  std::string adapter(const std::string &output) {
    return readText(folder + output + "/adapter_model.safetensors");
  }
};

} // namespace

#ifdef HONE_COUNT_ALLOCATIONS
TEST_F(TrainerProgramTest, StepsDoNotAllocate) {
  ASSERT_EQ(train("warm", {"--steps", "2"}), 0); // caches the data
  uint64_t start = allocations.load();
  ASSERT_EQ(train("a", {"--steps", "100", "--save-every", "0"}), 0);
  uint64_t few = allocations.load() - start;
  start = allocations.load();
  ASSERT_EQ(train("b", {"--steps", "900", "--save-every", "0"}), 0);
  // The closing summary's texts may differ in length; 800 steps more must not
  // show.
  EXPECT_LT(allocations.load() - start, few + 40);
}
#endif

TEST_F(TrainerProgramTest, ContinuedRunHasTheBitsOfAWholeOne) {
  const std::vector<std::string> constant{"--lr-scheduler-type", "constant"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), constant.begin(), constant.end());
    return more;
  };
  ASSERT_EQ(train("whole", with({"--steps", "20"})), 0);
  ASSERT_EQ(train("parts", with({"--steps", "7"})), 0);
  ASSERT_EQ(train("parts", with({"--steps", "20"})), 0);
  EXPECT_EQ(adapter("whole"), adapter("parts"));
  EXPECT_EQ(train("parts", with({"--steps", "20"})), 0); // nothing to do
  EXPECT_EQ(adapter("whole"), adapter("parts"));
  testing::internal::CaptureStderr();
  EXPECT_EQ(train("parts", with({"--steps", "7"})), int(ExitCode::Usage));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("error[H0803]: "),
            std::string::npos);
}

TEST_F(TrainerProgramTest, ChangedOptionsAreRefusedByName) {
  ASSERT_EQ(train("run", {"--steps", "3"}), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(train("run", {"--steps", "3", "--learning-rate", "0.5"}),
            int(ExitCode::Usage));
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("--learning-rate (was 0.02, now 0.5)"), std::string::npos)
      << text;
}

TEST_F(TrainerProgramTest, MoreStepsThanCanBeCountedAreRefused) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(train("run", {"--epochs", "9007199254740992"}),
            int(ExitCode::Usage));
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("error[H0101]: --epochs: expects at most "),
            std::string::npos)
      << text;
}

TEST_F(TrainerProgramTest, ASignalWhileDataIsPreparedIsItsExitCode) {
  std::ofstream lines(folder + "long.jsonl");
  for (uint64_t i = 0; i < MappedFile::VisitBytes / 8; ++i)
    lines << "{\"input_ids\": [1, 2, 3]}\n";
  lines.close();
  EXPECT_EXIT(
      {
        installSignalHandlers();
        raise(SIGTERM);
        ::_exit(train("run", {}, "long.jsonl"));
      },
      ::testing::ExitedWithCode(143), "error.H0810.: .*long.jsonl: stopped");
}

TEST_F(TrainerProgramTest, DivergenceKeepsTheLastCheckpoint) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(train("run", {"--steps", "50", "--learning-rate", "1e300",
                          "--warmup-steps", "1", "--save-every", "1"}),
            int(ExitCode::BadData));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("error[H0809]: step "),
            std::string::npos);
  // The first step of a warm-up has rate 0: its checkpoint is the sound one.
  EXPECT_TRUE(std::filesystem::exists(folder + "run/checkpoint-000001"));
  EXPECT_FALSE(std::filesystem::exists(folder + "run/checkpoint-000002"));
}

// C would print it with a sign that says nothing, "-nan".
TEST_F(TrainerProgramTest, ALossThatIsNotFiniteIsNamed) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(train("run", {"--steps", "50", "--learning-rate", "1e300"}),
            int(ExitCode::BadData));
  const std::string error = testing::internal::GetCapturedStderr();
  EXPECT_NE(error.find("error[H0809]: step 2: expects a finite loss and "
                       "gradient but got loss NaN and gradient norm NaN"),
            std::string::npos)
      << error;
}

// It has none before its end.
TEST_F(TrainerProgramTest, AnAdapterIsAdvisedWhereThereIsOne) {
  for (const char *rate : {"1e300", "1e-3"}) {
    const bool diverges = rate == std::string("1e300");
    const std::string run = diverges ? "diverged" : "done";
    train(run, {"--steps", "3", "--learning-rate", rate, "--warmup-steps", "1",
                "--save-every", "1"});
    testing::internal::CaptureStderr();
    EXPECT_EQ(train(run, {"--steps", "3", "--learning-rate", "1e-4"}),
              int(ExitCode::Usage));
    const std::string error = testing::internal::GetCapturedStderr();
    EXPECT_NE(error.find("give another --output"), std::string::npos) << error;
    EXPECT_EQ(error.find("starts a new run from its adapter") ==
                  std::string::npos,
              diverges)
        << error;
  }
}

TEST_F(TrainerProgramTest, AnEvaluationThatIsNotFiniteEndsTheRun) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(train("run", {"--steps", "1", "--learning-rate", "1e300",
                          "--eval-data", folder + "data.jsonl"}),
            int(ExitCode::BadData));
  EXPECT_NE(printed.find("step 0  eval loss "), std::string::npos) << printed;
  EXPECT_EQ(printed.find("step 1  eval loss"), std::string::npos) << printed;
  const std::string error = testing::internal::GetCapturedStderr();
  EXPECT_NE(error.find("error[H0809]: step 1: expects a finite loss of the "
                       "evaluation data but got NaN"),
            std::string::npos)
      << error;
  EXPECT_FALSE(std::filesystem::exists(folder + "run/checkpoint-000001"));
}

TEST_F(TrainerProgramTest, AdapterIsAStart) {
  ASSERT_EQ(train("one", {"--steps", "5"}), 0);
  ASSERT_EQ(train("two", {"--steps", "1", "--learning-rate", "0", "--adapter",
                          folder + "one"}),
            0);
  EXPECT_EQ(adapter("one"), adapter("two"));
}

TEST_F(TrainerProgramTest, EvaluatesWithoutTraining) {
  ASSERT_EQ(train("one", {"--steps", "5"}), 0);
  ASSERT_EQ(run({"train", "--weights", folder + "weights", "--eval-only",
                 "--eval-data", folder + "data.jsonl", "--adapter",
                 folder + "one", "--threads", "2"}),
            0);
  Dataset data = openData();
  BigramTrainer bigram(folder, HONE_SGD, HONE_F32);
  ASSERT_TRUE(bigram.trainer->trainables()
                  .load(folder + "one", AdapterUse::Train)
                  .isOk());
  char expected[64];
  snprintf(expected, sizeof(expected), "eval loss    %.9f over 382 tokens",
           bigram.trainer->evaluate(data, 4, 0).value().loss);
  EXPECT_NE(printed.find(expected), std::string::npos) << printed;
}

static bool hasEvaluation(const std::string &log, int step) {
  return std::regex_search(
      log, std::regex("\\{\"step\": " + std::to_string(step) +
                      ", \"run\": \"[0-9a-f]{16}\", \"eval_loss\": "));
}

TEST_F(TrainerProgramTest, EvaluatesOnTheWayIntoTheLog) {
  ASSERT_EQ(train("run", {"--steps", "5", "--eval-data", folder + "data.jsonl",
                          "--eval-every", "2"}),
            0);
  std::string log = readText(folder + "run.jsonl");
  EXPECT_TRUE(hasEvaluation(log, 2));
  EXPECT_TRUE(hasEvaluation(log, 4));
  EXPECT_TRUE(hasEvaluation(log, 5));
}
