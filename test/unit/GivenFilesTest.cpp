//===- GivenFilesTest.cpp - Files that the command line names -------------===//
//
// A run's output never replaces its input.
//
//===----------------------------------------------------------------------===//

#include "program/GivenFiles.h"

#include "NoLocks.h"
#include "TemporaryFolder.h"
#include "base/OutputFile.h"
#include "program/StepLog.h"

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace hone::rt;

namespace {
struct GivenFilesTest : testing::Test {
  Status check(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--data", data});
    auto defaults = Options::defaults(Settings());
    auto options = Options::parse(arguments, defaults);
    EXPECT_TRUE(options.isOk()) << options.status().render();
    return checkGivenFiles(options.value(), weights, model);
  }
  /// The path is the last of `arguments`.
  void expectRefused(std::vector<std::string> arguments, ErrorCode code) {
    Status status = check(arguments);
    EXPECT_EQ(status.errorCode(), code) << arguments.back();
    EXPECT_NE(status.render().find(arguments.back()), std::string::npos)
        << status.render();
  }

  TemporaryFolder folder;
  std::string data = folder.write("data.jsonl", "{}\n");
  std::string weights = folder.write("weights", "w");
  std::string output = folder.file("run");
  std::optional<ModelLayout> model; ///< none: an adapter trains
};
} // namespace

TEST_F(GivenFilesTest, OutputsAreFilesOfTheirOwn) {
  ASSERT_EQ(symlink(data.c_str(), folder.file("link").c_str()), 0);
  for (const std::string &taken :
       {data, folder.file("link"), folder.path + "/./data.jsonl", weights,
        output + "/adapter_model.safetensors", output + "/lock"})
    expectRefused({"--output", output, "--profile", taken},
                  ErrorCode::OptionsDisagree);
  expectRefused({"--output", output, "--log", output + "/adapter_config.json"},
                ErrorCode::OptionsDisagree);
  expectRefused({"--dump-gradients", data}, ErrorCode::OptionsDisagree);
  EXPECT_TRUE(check({"--output", output, "--profile", output + "/profile.json",
                     "--log", folder.file("log")})
                  .isOk());
}

TEST_F(GivenFilesTest, ResultsAreThoseOfTheModelInBothFolders) {
  const std::string best = output + "/best/";
  EXPECT_TRUE(check({"--output", output, "--log", best + "x"}).isOk());
  const std::vector<std::string> evaluates = {
      "--eval-split", "1", "--eval-every", "1", "--output", output, "--log"};
  auto with = [&](const std::string &log) {
    std::vector<std::string> arguments = evaluates;
    arguments.push_back(log);
    return arguments;
  };
  expectRefused(with(best + "adapter_config.json"), ErrorCode::OptionsDisagree);
  model.emplace();
  model->index = "model.safetensors.index.json";
  model->shards = {{"model-00001-of-00002.safetensors", {}},
                   {"model-00002-of-00002.safetensors", {}}};
  model->files = {"config.json", "tokenizer.json"};
  for (const std::string &name : model->fileNames()) {
    expectRefused({"--output", output, "--log", output + "/" + name},
                  ErrorCode::OptionsDisagree);
    expectRefused(with(best + name), ErrorCode::OptionsDisagree);
  }
}

// Pairs of them would take long: the index of a model is anyone's.
TEST_F(GivenFilesTest, ManyShardsAreLookedAtOnce) {
  model.emplace();
  for (int i = 0; i < 1000; ++i)
    model->shards.push_back({"shard-" + std::to_string(i), {}});
  mkdir(output.c_str(), 0777);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(check({"--output", output}).isOk());
  expectRefused({"--output", output, "--log", output + "/shard-999"},
                ErrorCode::OptionsDisagree);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST_F(GivenFilesTest, WhereTheBestIsKeptMustBeAFolder) {
  mkdir(output.c_str(), 0777);
  folder.write("run/best", "");
  EXPECT_TRUE(check({"--eval-split", "1", "--output", output}).isOk());
  Status status =
      check({"--eval-split", "1", "--eval-every", "1", "--output", output});
  EXPECT_EQ(status.errorCode(), ErrorCode::CannotCreate);
  mkdir((output + "/adapter_config.json").c_str(), 0777);
  EXPECT_EQ(check({"--output", output}).errorCode(), ErrorCode::CannotCreate);
}

TEST_F(GivenFilesTest, AnUnwritablePathIsRefusedBeforeTraining) {
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  for (const std::string &path :
       {folder.path, folder.file("pipe"), std::string("/dev/null"),
        folder.file("none/profile")})
    expectRefused({"--output", output, "--profile", path},
                  ErrorCode::CannotCreate);
}

TEST_F(GivenFilesTest, ALinkStaysOne) {
  ASSERT_EQ(symlink("real", folder.file("link").c_str()), 0);
  folder.write("real", "old");
  ASSERT_TRUE(writeFile(folder.file("link"), "new").isOk());
  EXPECT_EQ(folder.read("real"), "new");
  struct stat info;
  ASSERT_EQ(lstat(folder.file("link").c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
}

// Not for ever: a run that hangs cannot say why.
TEST_F(GivenFilesTest, ALogThatIsLockedIsAnError) {
  int other = open(data.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  auto log = StepLog::open(data, "run", 0);
  close(other);
  EXPECT_EQ(log.status().errorCode(), ErrorCode::LogInUse);
}

TEST_F(GivenFilesTest, ALogIsCutOffWhereThereAreNoLocks) {
  NoLocks noLocks;
  const std::string path = folder.file("log");
  {
    auto log = StepLog::open(path, "run", 0);
    ASSERT_TRUE(log.isOk());
    StepRecord record;
    for (record.step = 1; record.step <= 2; ++record.step)
      ASSERT_TRUE(log.value().step(record).isOk());
  }
  ASSERT_TRUE(StepLog::open(path, "run", 1).isOk());
  const std::string kept = folder.read("log");
  EXPECT_EQ(std::count(kept.begin(), kept.end(), '\n'), 1);
}

TEST(Status, MessagesDoNotSteerTheTerminal) {
  Status status = Status(ErrorCode::CannotRead, "a\x1b[2Jb\x07\x7f",
                         "C1 \xc2\x9b, not \xc3\x9b", "two\nlines\tand \\");
  EXPECT_NE(status.render().find("a\\x1b[2Jb\\x07\\x7f"), std::string::npos);
  EXPECT_NE(status.render().find("C1 \xc2\\x9b, not \xc3\x9b"),
            std::string::npos);
  EXPECT_NE(status.render().find("two\nlines\tand \\"), std::string::npos);
}
