//===- StreamingTest.cpp - Pages that are let go --------------------------===//

#include "device/Streaming.h"

#include "TemporaryFolder.h"
#include "base/MappedFile.h"

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
  Streaming streaming(file.bytes(), 2);
  int before = sum(file);
  ASSERT_EQ(mappedPages(file.data(), fileBytes), fileBytes / 4096);
  streaming.release(0, file.data() + 100, int64_t(fileBytes) - 200);
  EXPECT_EQ(mappedPages(file.data(), fileBytes - unit), 0u);
  EXPECT_EQ(sum(file), before);
}

TEST(Streaming, OneByteTakesWhatItsFaultBroughtIn) {
  MappedFile file = mapFile();
  Streaming streaming(file.bytes(), 2);
  streaming.release(0, file.data(), int64_t(fileBytes));
  // The thread's last unit waits for the next one.
  for (size_t at : {fileBytes - 1, fileBytes / 2, unit - 1, 2 * unit - 4096,
                    2 * unit + 1, size_t(0), 3 * unit}) {
    volatile char value = file.data()[at];
    (void)value;
    ASSERT_GE(mappedPages(file.data(), fileBytes), 1u) << at;
    streaming.release(0, file.data() + at, 1);
    EXPECT_LE(mappedPages(file.data(), fileBytes), unit / 4096) << at;
  }
}

TEST(Streaming, ASweepLeavesOneUnit) {
  MappedFile file = mapFile();
  Streaming streaming(file.bytes(), 2);
  constexpr size_t piece = 100 * 1000;
  for (size_t at = 0; at + piece <= fileBytes; at += piece) {
    for (size_t i = at; i < at + piece; i += 512) {
      volatile char value = file.data()[i];
      (void)value;
    }
    streaming.release(0, file.data() + at, int64_t(piece));
    EXPECT_LE(mappedPages(file.data(), fileBytes), unit / 4096) << at;
  }
}

// Dropped pages of anonymous memory would read as zeros.
TEST(Streaming, NothingOutsideTheMappingIsTouched) {
  MappedFile file = mapFile();
  Streaming streaming(file.bytes(), 2);
  std::vector<char> other(256 * 1024, 7);
  streaming.release(0, other.data(), int64_t(other.size()));
  for (char value : other)
    ASSERT_EQ(value, 7);
  streaming.release(0, file.data() - 4096, 8192);
  streaming.release(0, file.data() + fileBytes, 4096);
  streaming.release(0, file.data(), 0);
}

// Each thread waits with a unit of its own, and lets it go with the next.
TEST(Streaming, ThreadsDoNotTakeEachOthersUnits) {
  MappedFile file = mapFile();
  Streaming streaming(file.bytes(), 2);
  ASSERT_NE(sum(file), 0);
  const auto release = [&](int64_t thread, size_t place) {
    streaming.release(thread, file.data() + place * unit + unit / 2, 1);
  };
  const auto isThere = [&](size_t place) {
    return mappedPages(file.data() + place * unit, unit) > 0;
  };
  release(0, 0);
  release(1, 1);
  EXPECT_TRUE(isThere(0) && isThere(1));
  release(1, 2);
  EXPECT_TRUE(isThere(0) && !isThere(1) && isThere(2));
  streaming.releaseWaiting();
  EXPECT_EQ(mappedPages(file.data(), 3 * unit), 0u);
}

TEST(Streaming, FetchedValuesAreNotMapped) {
  TemporaryFolder folder;
  std::string content(fileBytes, 0);
  for (size_t i = 0; i < fileBytes; ++i)
    content[i] = char(i % 251);
  platform::File open;
  auto file = MappedFile::open(folder.write("pages", content), &open);
  ASSERT_TRUE(file.isOk() && open.isOpen());
  const char *base = file.value().data();
  Streaming streaming(file.value().bytes(), 1, &open);
  hone_frame frame = {};
  frame.streaming = streaming.handle();
  std::string row(3000, 0);
  hone_fetch(&frame, row.data(), base + 4097, int64_t(row.size()));
  EXPECT_EQ(row, content.substr(4097, row.size()));
  EXPECT_EQ(mappedPages(base, fileBytes), 0u);

  // Values outside the file, and another's memory, are read in place.
  Streaming withoutFile(file.value().bytes(), 1);
  frame.streaming = withoutFile.handle();
  row.assign(row.size(), 0);
  hone_fetch(&frame, row.data(), base + 4097, int64_t(row.size()));
  EXPECT_EQ(row, content.substr(4097, row.size()));
  frame.streaming = streaming.handle();
  hone_fetch(&frame, row.data(), content.data(), int64_t(row.size()));
  EXPECT_EQ(row, content.substr(0, row.size()));
  frame.streaming = nullptr;
  hone_fetch(&frame, row.data(), content.data() + 5, int64_t(row.size()));
  EXPECT_EQ(row, content.substr(5, row.size()));
}

// Two programs of one process: neither stops the other from streaming.
TEST(Streaming, EachProgramLetsItsOwnFileGo) {
  MappedFile first = mapFile(), second = mapFile();
  Streaming ofFirst(first.bytes(), 1), ofSecond(second.bytes(), 1);
  hone_frame frames[3] = {};
  frames[0].streaming = ofFirst.handle();
  frames[1].streaming = ofSecond.handle();
  ASSERT_EQ(sum(first), sum(second));
  hone_release(&frames[1], first.data(), int64_t(fileBytes));
  hone_release(&frames[2], first.data(), int64_t(fileBytes));
  EXPECT_EQ(mappedPages(first.data(), fileBytes), fileBytes / 4096);
  hone_release(&frames[0], first.data(), int64_t(fileBytes));
  EXPECT_LE(mappedPages(first.data(), fileBytes), unit / 4096);
  EXPECT_EQ(mappedPages(second.data(), fileBytes), fileBytes / 4096);
  hone_release(&frames[1], second.data(), int64_t(fileBytes));
  EXPECT_LE(mappedPages(second.data(), fileBytes), unit / 4096);
}
