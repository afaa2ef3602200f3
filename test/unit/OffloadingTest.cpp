//===- OffloadingTest.cpp - Values of a step that rest in a file ----------===//

#include "device/Offloading.h"

#include "TemporaryFolder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <numeric>
#include <sys/resource.h>
#include <vector>

using namespace hone::rt;

static constexpr size_t valueBytes = 3 * 4096 + 100;
static constexpr size_t slotBytes = 4 * 4096;

/// Bytes that say which value and which place they are of.
static std::vector<char> valueOf(int number) {
  std::vector<char> bytes(valueBytes);
  std::iota(bytes.begin(), bytes.end(), char(number * 31));
  return bytes;
}

// As steps do: all are written in order and read again from the last.
TEST(Offloading, ReadsWhatWasWritten) {
  TemporaryFolder folder;
  constexpr int count = 40; // more than may be on their way at once
  auto file =
      std::move(Offloading::create(folder.path, count * slotBytes).value());
  EXPECT_EQ(folder.count(), 0u) << "the file has no name";
  for (int step = 0; step < 2; ++step) {
    std::vector<std::vector<char>> values;
    for (int i = 0; i < count; ++i) {
      values.push_back(valueOf(i + step));
      file->write(values[size_t(i)].data(), valueBytes,
                  uint64_t(i) * slotBytes);
    }
    for (std::vector<char> &value : values) {
      file->await(value.data());
      std::fill(value.begin(), value.end(), char(0xee)); // may be used again
    }
    for (int i = count; i-- > 0;) {
      file->read(values[size_t(i)].data(), valueBytes, uint64_t(i) * slotBytes);
      file->await(values[size_t(i)].data());
      EXPECT_EQ(values[size_t(i)], valueOf(i + step));
    }
    EXPECT_TRUE(file->settle().isOk());
  }
  EXPECT_EQ(file->writtenBytes(), 2 * count * valueBytes);
}

TEST(Offloading, WaitsForNothingThatWasNotBegun) {
  TemporaryFolder folder;
  auto file = std::move(Offloading::create(folder.path, slotBytes).value());
  char other;
  file->await(&other);
  EXPECT_TRUE(file->settle().isOk());
}

// What a suspended step writes of it, and its next process reads.
TEST(Offloading, GivesAllOfItAndTakesItBack) {
  TemporaryFolder folder;
  auto first =
      std::move(Offloading::create(folder.path, 2 * slotBytes).value());
  auto second =
      std::move(Offloading::create(folder.path, 2 * slotBytes).value());
  std::vector<char> value = valueOf(7);
  first->write(value.data(), valueBytes, slotBytes);
  ASSERT_TRUE(first->settle().isOk());
  uint64_t offset = 0;
  ASSERT_TRUE(first
                  ->visit([&](const char *part, uint64_t size) {
                    Status status = second->fill(offset, part, size);
                    offset += size;
                    return status;
                  })
                  .isOk());
  EXPECT_EQ(offset, 2 * slotBytes);
  std::fill(value.begin(), value.end(), 0);
  second->read(value.data(), valueBytes, slotBytes);
  second->await(value.data());
  EXPECT_EQ(value, valueOf(7));
}

TEST(Offloading, RefusesAFolderThatIsNotThere) {
  TemporaryFolder folder;
  const auto refused = Offloading::create(folder.file("none"), slotBytes);
  EXPECT_EQ(refused.status().errorCode(), ErrorCode::CannotCreate);
}

/// Files of at most `bytes` bytes while it lives.
struct FileLimit {
  explicit FileLimit(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit less = {bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &less);
  }
  ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before); }
  rlimit before = {};
};

TEST(Offloading, RefusesAFileForWhichThereIsNoRoom) {
  TemporaryFolder folder;
  FileLimit limit(slotBytes);
  const auto refused = Offloading::create(folder.path, 2 * slotBytes);
  EXPECT_EQ(refused.status().errorCode(), ErrorCode::CannotCreate);
}

// The first error stays, and what comes after it is neither written nor read.
TEST(Offloading, SaysWhatFailedAndGoesNoFurther) {
  TemporaryFolder folder;
  auto file = std::move(Offloading::create(folder.path, 2 * slotBytes).value());
  std::vector<char> value = valueOf(1);
  {
    FileLimit limit(slotBytes);
    file->write(value.data(), valueBytes, slotBytes);
    file->await(value.data());
  }
  EXPECT_TRUE(file->hasFailed());
  EXPECT_EQ(file->settle().errorCode(), ErrorCode::WriteFailed);
  file->read(value.data(), valueBytes, 0);
  file->await(value.data());
  EXPECT_EQ(value, valueOf(1));
  EXPECT_EQ(file->settle().errorCode(), ErrorCode::WriteFailed);
}
