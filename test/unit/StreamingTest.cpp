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

static constexpr size_t unit = HONE_RESIDENT_UNIT_BYTES;
static constexpr size_t fileBytes = 4 * unit;

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

// Pages that one write made become one folio, which a fault may map whole.
TEST(Streaming, ReleasedPagesAreNotResidentAndReadTheSame) {
  MappedFile file = mapFile();
  setStreamedMapping(file.bytes());
  int before = sum(file);
  ASSERT_EQ(mappedPages(file.data(), fileBytes), fileBytes / 4096);
  hone_release(file.data() + 100, int64_t(fileBytes) - 200);
  EXPECT_EQ(mappedPages(file.data(), fileBytes - unit), 0u);
  EXPECT_EQ(sum(file), before);
}

TEST(Streaming, OneByteTakesWhatItsFaultBroughtIn) {
  MappedFile file = mapFile();
  setStreamedMapping(file.bytes());
  hone_release(file.data(), int64_t(fileBytes));
  // The thread's last unit waits for the next one.
  for (size_t at : {fileBytes - 1, fileBytes / 2, unit - 1, 2 * unit - 4096,
                    2 * unit + 1, size_t(0), 3 * unit}) {
    volatile char value = file.data()[at];
    (void)value;
    ASSERT_GE(mappedPages(file.data(), fileBytes), 1u) << at;
    hone_release(file.data() + at, 1);
    EXPECT_LE(mappedPages(file.data(), fileBytes), unit / 4096) << at;
  }
}

TEST(Streaming, ASweepLeavesOneUnit) {
  MappedFile file = mapFile();
  setStreamedMapping(file.bytes());
  constexpr size_t piece = 100 * 1000;
  for (size_t at = 0; at + piece <= fileBytes; at += piece) {
    for (size_t i = at; i < at + piece; i += 512) {
      volatile char value = file.data()[i];
      (void)value;
    }
    hone_release(file.data() + at, int64_t(piece));
    EXPECT_LE(mappedPages(file.data(), fileBytes), unit / 4096) << at;
  }
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
