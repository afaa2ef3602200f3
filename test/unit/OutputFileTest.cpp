//===- OutputFileTest.cpp - Whole files or none ---------------------------===//
//
// A full disk is imitated by a limit on file size in a child process.
//
//===----------------------------------------------------------------------===//

#include "base/OutputFile.h"
#include "NoLocks.h"
#include "TemporaryFolder.h"
#include "base/Process.h"
#include "program/Signals.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace hone::rt;

TEST(OutputFileTest, CommitMakesTheFileAppear) {
  TemporaryFolder folder;
  OutputFile file = std::move(OutputFile::create(folder.file("a")).value());
  ASSERT_TRUE(file.write("hello").isOk());
  EXPECT_FALSE(std::filesystem::exists(folder.file("a")));
  ASSERT_TRUE(file.commit().isOk());
  EXPECT_EQ(folder.read("a"), "hello");
  EXPECT_EQ(folder.count(), 1u);
  EXPECT_EQ(file.size(), 5u);
}

TEST(OutputFileTest, WithoutCommitTheOldFileStaysAndNothingElse) {
  TemporaryFolder folder;
  folder.write("a", "old");
  {
    OutputFile file = std::move(OutputFile::create(folder.file("a")).value());
    ASSERT_TRUE(file.write(std::string(200000, 'x')).isOk());
    EXPECT_EQ(folder.count(), 2u);
  }
  EXPECT_EQ(folder.read("a"), "old");
  EXPECT_EQ(folder.count(), 1u);
}

TEST(OutputFileTest, AnyChunksMakeTheSameBytesAndDigest) {
  TemporaryFolder folder;
  std::string bytes;
  for (int i = 0; i < 300000; ++i)
    bytes += char(i * 31 >> 3);
  for (size_t chunk : {1u, 7u, 65535u, 65536u, 65537u, 300000u}) {
    OutputFile file = std::move(OutputFile::create(folder.file("a")).value());
    file.enableDigest();
    for (size_t at = 0; at < bytes.size(); at += chunk)
      ASSERT_TRUE(file.write(bytes.substr(at, chunk)).isOk());
    ASSERT_TRUE(file.commit().isOk());
    EXPECT_EQ(folder.read("a"), bytes);
    EXPECT_EQ(file.digest(), Sha256::hex(bytes));
  }
}

TEST(OutputFileTest, AnEmptyFileIsWritten) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeFile(folder.file("a"), "").isOk());
  EXPECT_TRUE(std::filesystem::exists(folder.file("a")));
}

TEST(OutputFileTest, MovingKeepsOneOwner) {
  TemporaryFolder folder;
  OutputFile a = std::move(OutputFile::create(folder.file("a")).value());
  ASSERT_TRUE(a.write("1").isOk());
  OutputFile b(std::move(a));
  OutputFile c = std::move(OutputFile::create(folder.file("c")).value());
  c = std::move(b); // removes c's temporary
  ASSERT_TRUE(c.write("2").isOk());
  ASSERT_TRUE(c.commit().isOk());
  EXPECT_EQ(folder.read("a"), "12");
  EXPECT_EQ(folder.count(), 1u);
}

TEST(OutputFileTest, MissingFolderIsNamed) {
  TemporaryFolder folder;
  Status s = writeFile(folder.file("no/a"), "x");
  EXPECT_EQ(s.errorCode(), ErrorCode::CannotCreate);
  EXPECT_EQ(s.message().place, folder.file("no/a"));
  EXPECT_NE(s.message().remedy.find("folder"), std::string::npos);
}

TEST(OutputFileTest, AFolderIsNotReplaced) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("a"));
  folder.write("a/inside", "x");
  Status s = writeFile(folder.file("a"), "x");
  EXPECT_EQ(s.errorCode(), ErrorCode::CannotCreate);
  EXPECT_EQ(folder.count(), 1u);
}

TEST(OutputFileTest, AFullDiskIsAnErrorAndTheTemporaryGoes) {
  TemporaryFolder folder;
  folder.write("a", "old");
  pid_t child = ::fork();
  if (child == 0) {
    installSignalHandlers();
    rlimit limit = {100000, 100000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    OutputFile file = std::move(OutputFile::create(folder.file("a")).value());
    Status s = Status::ok();
    for (int i = 0; i < 4 && s.isOk(); ++i)
      s = file.write(std::string(65536, 'x'));
    bool sticky = file.commit().errorCode() == ErrorCode::WriteFailed;
    bool named = s.message().place == folder.file("a");
    ::_exit(s.errorCode() == ErrorCode::WriteFailed && sticky && named &&
                    folder.count() == 1
                ? 0
                : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(folder.read("a"), "old");
}

TEST(OutputFileTest, WritingAfterCommitIsABugThatIsReported) {
  TemporaryFolder folder;
  OutputFile file = std::move(OutputFile::create(folder.file("a")).value());
  ASSERT_TRUE(file.commit().isOk());
  EXPECT_EQ(file.write("x").errorCode(), ErrorCode::Bug);
  EXPECT_EQ(file.commit().errorCode(), ErrorCode::Bug);
}

TEST(OutputFileTest, CreatesMissingParents) {
  TemporaryFolder folder;
  EXPECT_TRUE(createDirectories(folder.file("x/y/z")).isOk());
  EXPECT_TRUE(createDirectories(folder.file("x/y/z/")).isOk());
  EXPECT_TRUE(createDirectories("/").isOk());
  EXPECT_TRUE(createDirectories(".").isOk());
  EXPECT_TRUE(std::filesystem::is_directory(folder.file("x/y/z")));
  folder.write("file", "");
  EXPECT_EQ(createDirectories(folder.file("file/y")).errorCode(),
            ErrorCode::CannotCreate);
  EXPECT_EQ(createDirectories("").errorCode(), ErrorCode::CannotCreate);
}

TEST(OutputFileTest, ParentDirectoryIgnoresTrailingSlashes) {
  EXPECT_EQ(platform::parentDirectory("a"), ".");
  EXPECT_EQ(platform::parentDirectory("a/"), ".");
  EXPECT_EQ(platform::parentDirectory("a/b"), "a");
  EXPECT_EQ(platform::parentDirectory("a//b//"), "a");
  EXPECT_EQ(platform::parentDirectory("/a"), "/");
  EXPECT_EQ(platform::parentDirectory("/"), "/");
  EXPECT_EQ(platform::parentDirectory(""), ".");
}

TEST(OutputFileTest, LastPartIgnoresTrailingSlashes) {
  EXPECT_EQ(platform::lastPart("a"), "a");
  EXPECT_EQ(platform::lastPart("a/"), "a");
  EXPECT_EQ(platform::lastPart("a/b"), "b");
  EXPECT_EQ(platform::lastPart("a//b//"), "b");
  EXPECT_EQ(platform::lastPart("/a"), "a");
  EXPECT_EQ(platform::lastPart("/"), "");
  EXPECT_EQ(platform::lastPart(""), "");
}

TEST(OutputFileTest, StrayTemporariesOfDeadProcessesGo) {
  TemporaryFolder folder;
  folder.write("a.tmp-0123456789abcdef", "half");
  std::filesystem::create_directory(folder.file("a.tmp-fedcba9876543210"));
  folder.write("a.tmp-fedcba9876543210/x", "");
  ASSERT_TRUE(writeFile(folder.file("a"), "whole").isOk());
  EXPECT_EQ(folder.count(), 1u);
  // Temporaries lie beside a link's target, too.
  folder.write("a.tmp-0123456789abcdef", "half");
  ASSERT_EQ(::symlink("a", folder.file("link").c_str()), 0);
  ASSERT_TRUE(writeFile(folder.file("link"), "whole").isOk());
  EXPECT_EQ(folder.count(), 2u);
}

TEST(OutputFileTest, ANameThatOnlyLooksLikeATemporaryStays) {
  TemporaryFolder folder;
  folder.write("a.tmp-0", "no name that temporaries have");
  folder.write("a.tmp-0123456789abcdeF", "nor this");
  folder.write("b.tmp-0123456789abcdef", "another file's");
  // A link is no temporary, and its target is somebody's.
  folder.write("victim", "keep");
  ASSERT_EQ(::symlink("victim", folder.file("a.tmp-1123456789abcdef").c_str()),
            0);
  ASSERT_TRUE(writeFile(folder.file("a"), "whole").isOk());
  EXPECT_EQ(folder.count(), 6u);
  EXPECT_EQ(folder.read("victim"), "keep");
}

// Not by process id: those of two containers on one volume are equal.
TEST(OutputFileTest, ATemporaryThatIsBeingWrittenIsLeftAlone) {
  TemporaryFolder folder;
  OutputFile file = std::move(OutputFile::create(folder.file("a")).value());
  ASSERT_TRUE(file.write("whole").isOk());
  ASSERT_TRUE(writeFile(folder.file("a"), "another's").isOk());
  EXPECT_EQ(folder.count(), 2u);
  ASSERT_TRUE(file.commit().isOk());
  EXPECT_EQ(folder.count(), 1u);
  EXPECT_EQ(folder.read("a"), "whole");
}

// Each cleans up before it writes, also just when another has created its
// temporary and not locked it yet.
TEST(OutputFileTest, WritersOfOneNameLeaveEachOtherAlone) {
  TemporaryFolder folder;
  std::vector<pid_t> writers(4);
  for (pid_t &writer : writers)
    if (writer = ::fork(); writer == 0) {
      bool areWhole = true;
      for (int i = 0; i < 400; ++i)
        areWhole &=
            writeFile(folder.file("a"), "whole", FolderSync::Later).isOk();
      ::_exit(areWhole ? 0 : 1);
    }
  for (pid_t writer : writers) {
    int status = -1;
    ASSERT_EQ(::waitpid(writer, &status, 0), writer);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(folder.count(), 1u);
  EXPECT_EQ(folder.read("a"), "whole");
}

// Nobody knows then whether it is.
TEST(OutputFileTest, ATemporaryThatCannotBeLockedIsLeftAlone) {
  TemporaryFolder folder;
  NoLocks noLocks;
  OutputFile file = std::move(OutputFile::create(folder.file("a")).value());
  ASSERT_TRUE(file.write("whole").isOk());
  ASSERT_TRUE(writeFile(folder.file("a"), "another's").isOk());
  ASSERT_TRUE(file.commit().isOk());
  EXPECT_EQ(folder.read("a"), "whole");
}

TEST(OutputFileTest, AFlatFolderGoesWithItsFilesAndWhatLinksLeadToStays) {
  TemporaryFolder folder;
  ASSERT_TRUE(createDirectories(folder.file("theirs")).isOk());
  folder.write("theirs/file", "keep");
  ASSERT_TRUE(createDirectories(folder.file("ours")).isOk());
  folder.write("ours/file", "");
  std::filesystem::create_symlink("../theirs/file", folder.file("ours/link"));
  std::filesystem::create_symlink("../theirs", folder.file("ours/folder"));
  std::filesystem::create_symlink("theirs", folder.file("link"));
  EXPECT_TRUE(platform::removeFlatFolder(folder.file("ours").c_str()));
  EXPECT_TRUE(platform::removeFlatFolder(folder.file("link").c_str()));
  EXPECT_EQ(folder.count(), 1u);
  EXPECT_EQ(folder.read("theirs/file"), "keep");
  // Neither a file nor a folder in a folder goes.
  EXPECT_FALSE(platform::removeFlatFolder(folder.file("theirs/file").c_str()));
  EXPECT_FALSE(platform::removeFlatFolder(folder.path.c_str()));
  EXPECT_FALSE(platform::removeFlatFolder(folder.file("none").c_str()));
  EXPECT_EQ(folder.read("theirs/file"), "keep");
}

// More files than the table has entries, below a path of more than 1023 bytes.
TEST(OutputFileTest, AFolderGoesWithItsFilesWhenTheProcessEndsAtOnce) {
  TemporaryFolder folder;
  std::string path = folder.path;
  for (int i = 0; i < 6; ++i)
    path += "/" + std::string(200, 'd');
  ASSERT_TRUE(createDirectories(path + "/new").isOk());
  for (int i = 0; i < 400; ++i)
    std::ofstream(path + "/new/" + std::to_string(i)) << i;
  const auto end = [&] {
    rememberTemporary(path);
    rememberTemporaryFolder(path + "/new");
    endProcess(ExitCode(3));
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(3), "");
  EXPECT_FALSE(platform::exists(path));
  EXPECT_TRUE(platform::exists(platform::parentDirectory(path)));
}

TEST(OutputFileTest, AnUnnamedFileIsReadThroughItsMapping) {
  TemporaryFolder folder;
  OutputFile file = std::move(OutputFile::createUnnamed(folder.path).value());
  ASSERT_TRUE(file.write(std::string(100000, 'x')).isOk());
  MappedFile mapped = std::move(file.map().value());
  EXPECT_EQ(folder.count(), 0u);
  EXPECT_EQ(file.commit().errorCode(), ErrorCode::Bug);
  file.discard();
  EXPECT_EQ(mapped.bytes(), std::string(100000, 'x'));
}
