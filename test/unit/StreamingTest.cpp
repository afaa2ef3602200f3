//===- StreamingTest.cpp - Pages that are let go --------------------------===//

#include "module/Streaming.h"

#include "TemporaryFolder.h"
#include "base/MappedFile.h"
#include "hone/runtime.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace hone::rt;

static constexpr size_t fileBytes = 1 << 20;

/// Pages of [start, start + bytes) that this process has mapped. mincore would
/// count the page cache, so /proc/self/pagemap is asked.
static size_t mappedPages(const char *start, size_t bytes) {
  size_t page = size_t(sysconf(_SC_PAGESIZE)), count = 0;
  std::vector<uint64_t> entries(bytes / page);
  int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  ssize_t wanted = ssize_t(entries.size() * sizeof(uint64_t));
  EXPECT_EQ(pread(pagemap, entries.data(), size_t(wanted),
                  off_t(uintptr_t(start) / page * sizeof(uint64_t))),
            wanted);
  close(pagemap);
  for (uint64_t entry : entries)
    count += entry >> 63;
  return count;
}

/// The file's name is gone at once, the mapping stays.
static MappedFile mapFile() {
  TemporaryFolder folder;
  auto file =
      MappedFile::open(folder.write("pages", std::string(fileBytes, '\x5a')));
  EXPECT_TRUE(file.isOk());
  return std::move(file.value());
}

static int sum(const MappedFile &file) {
  int sum = 0;
  for (size_t i = 0; i < fileBytes; i += 512)
    sum += file.data()[i];
  return sum;
}

TEST(Streaming, ReleasedPagesAreNotResidentAndReadTheSame) {
  MappedFile file = mapFile();
  setStreamedMapping(file.bytes());
  int before = sum(file);
  ASSERT_GT(mappedPages(file.data(), fileBytes), 200u);
  hone_release(file.data() + 100, int64_t(fileBytes) - 200);
  EXPECT_EQ(mappedPages(file.data(), fileBytes), 0u);
  EXPECT_EQ(sum(file), before);
}

TEST(Streaming, OneByteTakesWhatItsFaultBroughtIn) {
  MappedFile file = mapFile();
  setStreamedMapping(file.bytes());
  hone_release(file.data(), int64_t(fileBytes));
  volatile char value = file.data()[fileBytes / 2];
  (void)value;
  ASSERT_GE(mappedPages(file.data(), fileBytes), 1u);
  hone_release(file.data() + fileBytes / 2, 1);
  EXPECT_EQ(mappedPages(file.data(), fileBytes), 0u);
}

// Dropped pages of anonymous memory would read as zeros.
TEST(Streaming, NothingOutsideTheMappingIsTouched) {
  MappedFile file = mapFile();
  setStreamedMapping(file.bytes());
  std::vector<char> other(256 * 1024, 7);
  hone_release(other.data(), int64_t(other.size()));
  for (char value : other)
    ASSERT_EQ(value, 7);
  hone_release(file.data() - 4096, 8192);
  hone_release(file.data() + fileBytes, 4096);
  hone_release(file.data(), 0);
}
