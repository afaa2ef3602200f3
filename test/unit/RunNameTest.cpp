//===- RunNameTest.cpp - The run that a folder's checkpoints are of -------===//

#include "formats/RunName.h"
#include "exchange/CommonRun.h"

#include "TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace hone::rt;

TEST(RunNameTest, IsReadAsItWasWritten) {
  TemporaryFolder folder;
  EXPECT_EQ(readRunName(folder.path).value(), 0u);
  for (uint64_t name :
       {uint64_t(1), UINT64_MAX, uint64_t(0x0123456789abcdef)}) {
    ASSERT_TRUE(writeRunName(folder.path, name).isOk());
    EXPECT_EQ(readRunName(folder.path).value(), name);
  }
}

TEST(RunNameTest, NoOtherBytesAreOne) {
  TemporaryFolder folder;
  for (const char *text :
       {"", "\n", "0000000000000001", "000000000000001\n",
        "00000000000000001\n", "0000000000000001\n\n", "0000000000000000\n",
        "-000000000000001\n", "0x00000000000001\n", "000000000000000g\n",
        "000000000000000A\n", "               1\n"}) {
    folder.write("together.run", text);
    const Result<uint64_t> found = readRunName(folder.path);
    ASSERT_FALSE(found.isOk()) << text;
    EXPECT_EQ(found.status().errorCode(), hone::ErrorCode::DamagedCheckpoint);
    EXPECT_EQ(found.status().message().place, folder.file("together.run"));
  }
}

TEST(RunNameTest, AFileThatCannotBeReadIsNotAbsent) {
  TemporaryFolder folder;
  std::filesystem::create_symlink("nowhere", folder.file("together.run"));
  EXPECT_EQ(readRunName(folder.path).status().errorCode(),
            hone::ErrorCode::CannotRead);
}

TEST(RunNameTest, DigitsAreThoseOfAWholeLine) {
  EXPECT_EQ(runNameDigits("0123456789abcdef\n"), "0123456789abcdef");
  EXPECT_EQ(runNameDigits("0000000000000000\n"), "0000000000000000");
  for (const char *line : {"", "0123456789abcdef", "0123456789abcde\n",
                           "0123456789abcdeF\n", "0123456789abcdef\n\n"})
    EXPECT_TRUE(runNameDigits(line).empty()) << line;
}

TEST(CommonRunTest, FoldersWithoutANameAreOfAnyRun) {
  CommonRun run;
  EXPECT_TRUE(run.take(0));
  EXPECT_EQ(run.name, 0u);
  EXPECT_TRUE(run.take(7));
  EXPECT_TRUE(run.take(0));
  EXPECT_TRUE(run.take(7));
  EXPECT_FALSE(run.take(8));
  EXPECT_EQ(run.name, 7u);
}
