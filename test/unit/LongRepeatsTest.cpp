//===- LongRepeatsTest.cpp - Repeats within an archive --------------------===//

#include "bench/gpu-kit/LongRepeats.h"

#include "gtest/gtest.h"

#include <random>

using namespace hone;

static std::string randomBytes(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes;
  for (size_t i = 0; i < count; ++i)
    bytes += static_cast<char>(random());
  return bytes;
}

/// That it is restored; how long it was meanwhile.
static size_t shortenedSize(const std::string &bytes) {
  const std::optional<std::string> shortened = shortenRepeats(bytes);
  EXPECT_TRUE(shortened);
  EXPECT_EQ(restoreRepeats(shortened.value_or("")), bytes);
  return shortened.value_or("").size();
}

TEST(LongRepeats, AreReplacedWhereverTheyBegin) {
  const std::string part = randomBytes(1000, 1);
  for (size_t between : {40000, 40001, 40017, 40031}) {
    const std::string bytes = part + randomBytes(between, 2) + part;
    EXPECT_LT(shortenedSize(bytes), bytes.size() - 960) << between;
  }
}

TEST(LongRepeats, ThatGzipSeesAreLeftToIt) {
  const std::string part = randomBytes(1000, 1);
  const std::string bytes = part + randomBytes(1000, 2) + part;
  EXPECT_GT(shortenedSize(bytes), bytes.size());
}

TEST(LongRepeats, OfAnythingAreRestored) {
  for (size_t count : {0, 1, 31, 32, 33, 70000})
    shortenedSize(randomBytes(count, 3));
  // Longer than the distance: a period.
  const std::string period = randomBytes(50000, 4);
  const std::string bytes = period + period + period + period.substr(0, 77);
  EXPECT_LT(shortenedSize(bytes), period.size() + 40);
  EXPECT_GT(shortenedSize(std::string(200000, '\0')), size_t(200000))
      << "gzip sees what a byte repeats";
}

TEST(LongRepeats, MoreThanFourGibibytesAreRefusedUnread) {
  EXPECT_FALSE(shortenRepeats({"", (size_t(1) << 32) + 1}));
}

TEST(LongRepeats, NothingElseIsRestored) {
  const std::string part = randomBytes(1000, 1);
  const std::string whole =
      shortenRepeats(part + randomBytes(40000, 2) + part + "end").value_or("");
  ASSERT_FALSE(whole.empty());
  for (size_t count = 0; count < whole.size(); count += count < 100 ? 1 : 997)
    EXPECT_FALSE(restoreRepeats(whole.substr(0, count))) << count;
  EXPECT_FALSE(restoreRepeats(whole + "x"));
  EXPECT_FALSE(restoreRepeats("hone-repeats-2\n" + whole.substr(15)));
  const std::string name = "hone-repeats-1\n";
  // Ten bytes: none as they are, five from before the first.
  EXPECT_FALSE(restoreRepeats(name + std::string("\x0a\x00\x05\x01", 4)));
  // One, and then ten of it, of two in all.
  EXPECT_FALSE(restoreRepeats(name + std::string("\x02\x01x\x0a\x01", 5)));
  EXPECT_EQ(restoreRepeats(name + std::string("\x0b\x01x\x0a\x01", 5)),
            std::string(11, 'x'));
  // A number that does not end.
  EXPECT_FALSE(restoreRepeats(name + std::string(20, '\xff')));
}
