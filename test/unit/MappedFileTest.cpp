//===- MappedFileTest.cpp - Regular files are mapped, others are refused --===//
//
// The death test truncates a file under its mapping.
//
//===----------------------------------------------------------------------===//

#include "base/MappedFile.h"
#include "TemporaryFolder.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace hone::rt;

static void refuse(const std::string &path, const std::string &problem) {
  Result<MappedFile> file = MappedFile::open(path);
  ASSERT_FALSE(file.isOk());
  EXPECT_EQ(file.status().errorCode(), ErrorCode::CannotRead);
  EXPECT_EQ(file.status().message().place, path);
  EXPECT_NE(file.status().message().problem.find(problem), std::string::npos)
      << file.status().render();
  EXPECT_FALSE(file.status().message().remedy.empty());
}

TEST(MappedFileTest, MapsTheBytes) {
  TemporaryFolder folder;
  Result<MappedFile> file = MappedFile::open(folder.write("a", "hello"));
  ASSERT_TRUE(file.isOk());
  EXPECT_EQ(file.value().bytes(), "hello");
  EXPECT_EQ(file.value().path(), folder.file("a"));
}

TEST(MappedFileTest, MapsAnEmptyFile) {
  TemporaryFolder folder;
  Result<MappedFile> file = MappedFile::open(folder.write("a", ""));
  ASSERT_TRUE(file.isOk());
  EXPECT_EQ(file.value().size(), 0u);
  EXPECT_EQ(file.value().bytes(), "");
  file.value().release(0, 100);
}

TEST(MappedFileTest, FollowsSymbolicLinks) {
  TemporaryFolder folder;
  folder.write("a", "hello");
  ASSERT_EQ(::symlink("a", folder.file("link").c_str()), 0);
  Result<MappedFile> file = MappedFile::open(folder.file("link"));
  ASSERT_TRUE(file.isOk());
  EXPECT_EQ(file.value().bytes(), "hello");
}

TEST(MappedFileTest, RefusesWhatIsNoRegularFile) {
  TemporaryFolder folder;
  refuse(folder.file("missing"), "No such file");
  refuse(folder.path, "regular file");
  refuse("/dev/zero", "regular file");
  ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0600), 0);
  refuse(folder.file("fifo"), "regular file"); // and does not wait for it
  ASSERT_EQ(::symlink("loop", folder.file("loop").c_str()), 0);
  refuse(folder.file("loop"), "symbolic links");
}

TEST(MappedFileTest, RefusesAPathThatTheSystemWouldEndEarly) {
  TemporaryFolder folder;
  refuse(folder.write("a", "hello") + std::string("\0b", 2), "zero byte");
}

TEST(MappedFileTest, MovesTheMapping) {
  TemporaryFolder folder;
  MappedFile a = std::move(MappedFile::open(folder.write("a", "aa")).value());
  MappedFile b = std::move(MappedFile::open(folder.write("b", "bb")).value());
  b = std::move(a);
  EXPECT_EQ(b.bytes(), "aa");
  EXPECT_EQ(a.size(), 0u);
  MappedFile c(std::move(b));
  EXPECT_EQ(c.bytes(), "aa");
}

TEST(MappedFileTest, ReleasedBytesReadTheSame) {
  TemporaryFolder folder;
  std::string bytes;
  for (int i = 0; i < 100000; ++i)
    bytes += char(i % 251);
  MappedFile file =
      std::move(MappedFile::open(folder.write("a", bytes)).value());
  EXPECT_EQ(file.bytes(), bytes);
  file.release(0, bytes.size());
  file.release(5, UINT64_MAX);
  file.release(UINT64_MAX, 1);
  EXPECT_EQ(file.bytes(), bytes);
}

TEST(MappedFileTest, MoreMappingsThanTheHandlerKnowsWork) {
  TemporaryFolder folder;
  std::string path = folder.write("a", "x");
  std::vector<MappedFile> files;
  for (int i = 0; i < 300; ++i)
    files.push_back(std::move(MappedFile::open(path).value()));
  for (const MappedFile &file : files)
    EXPECT_EQ(file.bytes(), "x");
}

// A sanitizer installs its own SIGBUS handler unless told not to; ours comes
// later and wins.
TEST(MappedFileDeathTest, TruncationUnderTheMappingNamesTheFile) {
  TemporaryFolder folder;
  std::string path = folder.write("model.safetensors", std::string(8192, 'x'));
  EXPECT_EXIT(
      {
        installSigbusHandler();
        MappedFile file = std::move(MappedFile::open(path).value());
        if (::truncate(path.c_str(), 0) != 0)
          ::_exit(1);
        volatile char c = file.data()[5000];
        (void)c;
        ::_exit(0);
      },
      ::testing::ExitedWithCode(74),
      "error.H1003.: .*model.safetensors: expected the file");
}

TEST(MappedFileDeathTest, OtherBusErrorsKeepTheirDefault) {
  TemporaryFolder folder;
  EXPECT_EXIT(
      {
        installSigbusHandler();
        ::raise(SIGBUS); // the handler restores the default and returns
        ::raise(SIGBUS);
      },
      ::testing::KilledBySignal(SIGBUS), "");
}
