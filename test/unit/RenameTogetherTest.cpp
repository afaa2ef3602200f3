//===- RenameTogetherTest.cpp - Files that appear all or none -------------===//

#include "compiler/emit/RenameTogether.h"
#include "base/OutputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

using namespace hone;
using rt::ErrorCode;
using rt::Status;

namespace {

class RenameTogetherTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("rename", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string path(const char *name) { return (folder + "/" + name).str(); }
  void write(const char *name, const char *text) {
    ASSERT_TRUE(rt::writeFile(path(name), text).isOk());
  }
  std::string read(const char *name) {
    auto text = llvm::MemoryBuffer::getFile(path(name));
    return text ? (*text)->getBuffer().str() : "(none)";
  }
  std::vector<std::string> names() {
    return rt::listDirectory(folder.str().str()).value();
  }
  Status renameBoth() {
    return renameTogether({{path("weights.tmp"), path("weights")},
                           {path("train.tmp"), path("train")}});
  }
  void writeNew() {
    write("weights.tmp", "new weights");
    write("train.tmp", "new train");
  }

  llvm::SmallString<128> folder;
};

using Names = std::vector<std::string>;

} // namespace

TEST_F(RenameTogetherTest, IntoAnEmptyFolder) {
  writeNew();
  EXPECT_TRUE(renameBoth().isOk());
  EXPECT_EQ(names(), (Names{"train", "weights"}));
  EXPECT_EQ(read("train"), "new train");
}

TEST_F(RenameTogetherTest, ReplacesBothAndLeavesNothingElse) {
  write("weights", "old weights");
  write("train", "old train");
  writeNew();
  EXPECT_TRUE(renameBoth().isOk());
  EXPECT_EQ(names(), (Names{"train", "weights"}));
  EXPECT_EQ(read("weights"), "new weights");
  EXPECT_EQ(read("train"), "new train");
}

TEST_F(RenameTogetherTest, AFolderInTheSecondPlaceKeepsTheOldFirst) {
  write("weights", "old weights");
  ASSERT_FALSE(llvm::sys::fs::create_directory(path("train")));
  writeNew();
  Status status = renameBoth();
  EXPECT_EQ(status.errorCode(), ErrorCode::CannotCreate);
  EXPECT_EQ(status.message().place, path("train"));
  EXPECT_EQ(read("weights"), "old weights");
  EXPECT_EQ(names(), (Names{"train", "train.tmp", "weights"}));
}

TEST_F(RenameTogetherTest, AFirstThatWasAbsentIsAbsentAgain) {
  ASSERT_FALSE(llvm::sys::fs::create_directory(path("train")));
  writeNew();
  EXPECT_FALSE(renameBoth().isOk());
  EXPECT_EQ(names(), (Names{"train", "train.tmp"}));
}

TEST_F(RenameTogetherTest, AMissingNewFileChangesNothing) {
  write("weights", "old weights");
  write("train", "old train");
  write("weights.tmp", "new weights");
  EXPECT_EQ(renameBoth().message().place, path("train.tmp"));
  EXPECT_EQ(names(), (Names{"train", "weights", "weights.tmp"}));
  EXPECT_EQ(read("weights"), "old weights");
}
