//===- OffloadingTest.cpp - Values of a step that rest in a file ----------===//

#include "device/Offloading.h"

#include "TemporaryFolder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <numeric>
#include <sys/resource.h>
#include <thread>
#ifdef __linux__
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
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
  char other = 0;
  file->await(&other);
  EXPECT_TRUE(file->settle().isOk());
}

// A suspended step writes it, and its next process reads it.
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

// Longer than the buffer on their way, at an address that is no block's.
TEST(Offloading, TakesValuesOfAnyLengthFromAnyAddress) {
  TemporaryFolder folder;
  constexpr size_t length = 2 * Offloading::BounceBytes + 4097;
  constexpr uint64_t slot = Offloading::BounceBytes * 3;
  auto file = std::move(Offloading::create(folder.path, 2 * slot).value());
  std::vector<char> memory(length + 2, 'x');
  std::iota(memory.begin() + 1, memory.end() - 1, char(0));
  const std::vector<char> before = memory;
  file->write(memory.data() + 1, length, slot);
  file->await(memory.data() + 1);
  std::fill(memory.begin() + 1, memory.end() - 1, 'y');
  file->read(memory.data() + 1, length, slot);
  file->await(memory.data() + 1);
  EXPECT_TRUE(file->settle().isOk());
  EXPECT_EQ(memory, before);
}

#ifdef __linux__
/// How many pages of the open file without a name in `folder` are cached.
static size_t cachedPages(const std::string &folder, size_t bytes) {
  for (const auto &each :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed;
    const std::string target =
        std::filesystem::read_symlink(each.path(), closed).string();
    if (target.rfind(folder, 0) != 0)
      continue;
    const int file = open(each.path().c_str(), O_RDONLY);
    void *mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
    std::vector<unsigned char> pages((bytes + 4095) / 4096);
    EXPECT_EQ(mincore(mapped, bytes, pages.data()), 0);
    munmap(mapped, bytes);
    close(file);
    return size_t(std::count_if(pages.begin(), pages.end(),
                                [](unsigned char page) { return page & 1; }));
  }
  ADD_FAILURE() << "no such file";
  return 0;
}

/// The same, once `file` has released its pages: where the system caches on the
/// way, those of the last read may remain.
static size_t leftInCache(const std::string &folder, size_t bytes) {
  size_t cached = bytes;
  for (int i = 0; i < 100 && cached > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    cached = cachedPages(folder, bytes);
  }
  return cached;
}

static bool isInMemory(const std::string &folder) {
  struct statfs system = {};
  EXPECT_EQ(statfs(folder.c_str(), &system), 0);
  return system.f_type == TMPFS_MAGIC;
}

// There it would take the memory that it frees.
TEST(Offloading, LeavesNothingInTheSystemsCache) {
  TemporaryFolder folder;
  if (isInMemory(folder.path))
    GTEST_SKIP() << "the folder is in memory itself";
  constexpr size_t bytes = 4 * Offloading::BounceBytes;
  auto file = std::move(Offloading::create(folder.path, bytes).value());
  std::vector<char> value(bytes, 'x');
  for (int i = 0; i < 2; ++i) {
    file->write(value.data(), bytes, 0);
    file->read(value.data(), bytes, 0);
  }
  ASSERT_TRUE(file->settle().isOk());
  EXPECT_EQ(leftInCache(folder.path, bytes), 0u);
}

/// The system refuses this thread, from now on, to let a file pass the cache
/// by.
static bool refuseDirect() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETFL, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_DIRECT, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter = {sizeof code / sizeof *code, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Filled by parts of any size, the file may not go back to direct transfers:
// then it lets the cache go itself.
TEST(Offloading, LeavesNothingInTheCacheWhereDirectIsRefusedLater) {
  TemporaryFolder folder;
  if (isInMemory(folder.path))
    GTEST_SKIP() << "the folder is in memory itself";
  constexpr size_t bytes = 4 * Offloading::BounceBytes;
  auto file = std::move(Offloading::create(folder.path, bytes).value());
  bool refuses = false, isFilled = false;
  std::thread([&] {
    refuses = refuseDirect();
    isFilled = file->fill(100, "part", 4).isOk();
  }).join();
  if (!refuses)
    GTEST_SKIP() << "this system takes no filter of calls";
  EXPECT_TRUE(isFilled);
  std::vector<char> value(bytes, 'x');
  file->write(value.data(), bytes, 0);
  file->read(value.data(), bytes, 0);
  ASSERT_TRUE(file->settle().isOk());
  EXPECT_EQ(leftInCache(folder.path, bytes), 0u);
}
#endif

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

// The first error stays, and later values are neither written nor read.
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
