//===- LongRepeats.cpp - Repeats that lie far apart in an archive ---------===//
//
// A name of the format, the number of bytes, and then in turn: how many bytes
// follow as they are, these, and how many are copied from how far back. Numbers
// have seven bits in each byte, the lowest first, and a bit for another byte.
//
// A repeat is found by blocks, as rsync does: those that begin at multiples of
// their size are known by their hash, and the hash of the block at each place
// is made of the one before it.
//
//===----------------------------------------------------------------------===//

#include "bench/gpu-kit/LongRepeats.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

using namespace hone;

static constexpr std::string_view kName = "hone-repeats-1\n";
static constexpr size_t kBlock = 32;
/// A shorter repeat costs about as much as gzip's code for it.
static constexpr size_t kLeast = 48;
/// gzip sees nearer repeats.
static constexpr size_t kNear = 32 * 1024;
static constexpr uint64_t kMost = uint64_t(1) << 32;
static constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;

static void putNumber(std::string &to, uint64_t number) {
  for (; number >= 0x80; number >>= 7)
    to += static_cast<char>(number | 0x80);
  to += static_cast<char>(number);
}

static bool takeNumber(std::string_view &from, uint64_t &number) {
  number = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    number |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return false;
}

namespace {

/// The places of earlier blocks, by their hash; the last one of equals.
class KnownBlocks {
public:
  explicit KnownBlocks(std::string_view bytes)
      : bytes(bytes), places(1 << 23) {}

  static uint64_t hash(const char *block) {
    uint64_t sum = 0;
    for (size_t i = 0; i < kBlock; ++i)
      sum = sum * kFactor + static_cast<unsigned char>(block[i]);
    return sum;
  }
  /// The hash of the block that begins one byte after one with hash `sum`,
  /// which begins with `first`.
  static uint64_t next(uint64_t sum, char first, char following) {
    static const uint64_t highest = [] {
      uint64_t power = 1;
      for (size_t i = 1; i < kBlock; ++i)
        power *= kFactor;
      return power;
    }();
    return (sum - static_cast<unsigned char>(first) * highest) * kFactor +
           static_cast<unsigned char>(following);
  }

  /// All blocks that end at `end` or before.
  void addUntil(size_t end) {
    for (; added + kBlock <= end; added += kBlock)
      placeOf(hash(bytes.data() + added)) = uint32_t(added / kBlock) + 1;
  }
  /// Where the block at `at` was before.
  std::optional<size_t> find(size_t at, uint64_t sum) {
    const uint32_t number = placeOf(sum);
    const size_t place = (size_t(number) - 1) * kBlock;
    if (number == 0 || memcmp(&bytes[place], &bytes[at], kBlock) != 0)
      return std::nullopt;
    return place;
  }

private:
  uint32_t &placeOf(uint64_t sum) {
    return places[(sum * kFactor >> 32) % places.size()];
  }

  std::string_view bytes;
  std::vector<uint32_t> places; ///< number of a block, from 1; 0: none
  size_t added = 0;
};

} // namespace

std::optional<std::string> hone::shortenRepeats(std::string_view bytes) {
  if (bytes.size() > kMost)
    return std::nullopt;
  std::string result(kName);
  putNumber(result, bytes.size());
  KnownBlocks known(bytes);
  size_t written = 0, at = 0;
  auto putLiteral = [&](size_t end) {
    putNumber(result, end - written);
    result += bytes.substr(written, end - written);
    written = end;
  };
  uint64_t sum = 0;
  bool isCurrent = false; // `sum` is that of the block at `at`
  while (at + kBlock <= bytes.size()) {
    known.addUntil(at);
    if (!isCurrent)
      sum = KnownBlocks::hash(&bytes[at]);
    isCurrent = true;
    if (auto place = known.find(at, sum); place && at - *place > kNear) {
      size_t from = *place, begin = at, end = at + kBlock;
      while (begin > written && from > 0 && bytes[from - 1] == bytes[begin - 1])
        --from, --begin;
      const size_t distance = begin - from;
      while (end < bytes.size() && bytes[end] == bytes[end - distance])
        ++end;
      if (end - begin >= kLeast) {
        putLiteral(begin);
        putNumber(result, end - begin);
        putNumber(result, distance);
        written = at = end;
        isCurrent = false;
        continue;
      }
    }
    if (at + kBlock < bytes.size())
      sum = KnownBlocks::next(sum, bytes[at], bytes[at + kBlock]);
    ++at;
  }
  if (written < bytes.size())
    putLiteral(bytes.size());
  return result;
}

std::optional<std::string> hone::restoreRepeats(std::string_view shortened) {
  uint64_t size = 0;
  if (shortened.substr(0, kName.size()) != kName)
    return std::nullopt;
  shortened.remove_prefix(kName.size());
  if (!takeNumber(shortened, size) || size > kMost)
    return std::nullopt;
  std::string bytes;
  while (bytes.size() < size) {
    uint64_t literal = 0, length = 0, distance = 0;
    if (!takeNumber(shortened, literal) || literal > shortened.size() ||
        literal > size - bytes.size())
      return std::nullopt;
    bytes += shortened.substr(0, literal);
    shortened.remove_prefix(literal);
    if (bytes.size() == size)
      break;
    if (!takeNumber(shortened, length) || !takeNumber(shortened, distance) ||
        length == 0 || length > size - bytes.size() || distance == 0 ||
        distance > bytes.size())
      return std::nullopt;
    // A repeat may overlap itself: then it has a period.
    const size_t from = bytes.size() - distance;
    for (uint64_t done = 0; done < length;) {
      const uint64_t part = std::min(length - done, distance);
      bytes.append(bytes, from + done % distance, part);
      done += part;
    }
  }
  if (!shortened.empty())
    return std::nullopt;
  return bytes;
}
