//===- TokenCache.h - Tokenised samples in a file -------------------------===//
//
// Written once, then mapped: training reads samples from the page cache, so
// the heap does not grow with the data. Everything is checked again when a
// cache is opened, because generated code indexes tables with these ids.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/MappedFile.h"
#include "base/OutputFile.h"
#include "base/Status.h"
#include "data/DataLines.h"

#include <cstdint>
#include <string>

namespace hone::rt {

/// Counts that end a cache file, as it stores them.
struct TokenCacheFooter {
  char magic[8]; ///< "HONEDAT1"
  uint32_t format;
  uint32_t vocabularySize;
  uint64_t samples, tokens, targets;
  uint64_t noteBytes;
};

/// A cache's facts of a sample beside its tokens.
struct SampleMark {
  /// It is of the same line of the data as the sample before: another piece,
  /// another turn, another candidate.
  static constexpr uint16_t Continues = 1;
  /// It is a candidate that is not the right one: of a task, never trained on.
  static constexpr uint16_t Wrong = 2;
};

/// Layout, little-endian; sample i has n = (offset[i+1] - offset[i]) / 2
/// tokens and begins at 4 * offset[i]:
///   i32 ids[n], i32 targets[n]    for each sample
///   u64 offset[samples + 1]       in units of 4 bytes, with the sample's mark
///                                 in the upper 16 bits
///   notes, padded with spaces to a multiple of 8
///   TokenCacheFooter
class TokenCacheWriter {
public:
  /// Writes to `path`, or without one to a file in `directory` that has no
  /// name and lasts as long as it is mapped. Errors: CannotCreate.
  Status open(const std::string &directory, const std::string &path);

  /// `labels[i]` belongs to ids[i]; the target of i is the label of i + 1.
  /// Errors: IoError.
  Status add(const int32_t *ids, const int32_t *labels, size_t count,
             uint16_t mark = 0);
  /// The same with targets. Errors: IoError.
  Status addTargets(const int32_t *ids, const int32_t *targets, size_t count,
                    uint16_t mark);

  /// The whole cache, mapped. Errors: IoError.
  Result<MappedFile> commit(DataFormat format, int64_t vocabularySize,
                            std::string notes);

  uint64_t samples() const { return sampleCount; }
  uint64_t tokens() const { return tokenCount; }
  uint64_t targets() const { return targetCount; }

private:
  OutputFile data, offsets;
  bool isNamed = false;
  std::vector<int32_t> shifted;
  uint64_t sampleCount = 0, tokenCount = 0, targetCount = 0;
};

/// The two halves of an offset as a file has it.
inline constexpr int OffsetBits = 48;
inline constexpr uint64_t OffsetMask = (uint64_t(1) << OffsetBits) - 1;

class TokenCache {
public:
  /// Checks all of `file`. Errors: BadData when it is damaged, for another
  /// vocabulary, or has a sample that is longer than the batch was compiled
  /// for.
  static Result<TokenCache> open(MappedFile file, int64_t vocabularySize,
                                 int64_t maxSequenceLength);

  /// Whether a file of this name in a cache's folder is one.
  static bool isName(const std::string &name);

  const TokenCacheFooter &footer() const { return counts; }
  std::string_view notes() const;
  const int32_t *ids(uint64_t sample) const;
  const int32_t *targets(uint64_t sample) const {
    return ids(sample) + length(sample);
  }
  uint64_t length(uint64_t sample) const {
    return (offset(sample + 1) - offset(sample)) / 2;
  }
  /// Bits of SampleMark.
  uint16_t mark(uint64_t sample) const {
    return uint16_t(word(sample) >> OffsetBits);
  }

  /// Lets the pages go that were read so far: after every sample, where these
  /// are read in any order, since each may bring in HONE_RESIDENT_UNIT_BYTES.
  void release() const { file.release(0, file.size()); }

private:
  uint64_t word(uint64_t sample) const;
  uint64_t offset(uint64_t sample) const { return word(sample) & OffsetMask; }
  bool check(int64_t vocabularySize, int64_t maxSequenceLength);

  MappedFile file;
  TokenCacheFooter counts{};
};

} // namespace hone::rt
