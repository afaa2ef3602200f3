//===- SampleIds.h - The ids of a sample ----------------------------------===//

#pragma once

#include "base/Status.h"
#include "text/Tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace hone::rt {

/// The ids of a sample; of those that no sample has room for only the number,
/// the largest and the last.
class SampleIds : public TokenSink {
public:
  /// Keeps the first `limit` ids.
  explicit SampleIds(uint64_t limit) : SampleIds(limit, limit) {}
  /// Keeps the first `front` ids and the last `limit - front`.
  SampleIds(uint64_t limit, uint64_t front) : limit(limit), front(front) {}

  void clear() {
    kept.clear();
    count = 0;
    largest = -1;
    oldest = front;
  }
  bool append(const int32_t *ids, size_t size) override {
    for (size_t i = 0; i < size; ++i) {
      if (kept.size() < limit) {
        kept.push_back(ids[i]);
      } else if (front < limit) {
        kept[oldest] = ids[i];
        oldest = oldest + 1 < limit ? oldest + 1 : front;
      }
      largest = std::max(largest, ids[i]);
    }
    count += size;
    if (size != 0)
      last = ids[size - 1];
    return true;
  }
  void add(int32_t id) { append(&id, 1); }
  /// Puts the kept ids in order again, after the last id.
  void finish() {
    std::rotate(
        kept.begin() + ptrdiff_t(std::min<uint64_t>(front, kept.size())),
        kept.begin() + ptrdiff_t(std::min<uint64_t>(oldest, kept.size())),
        kept.end());
    oldest = front;
  }

  std::vector<int32_t> kept;
  uint64_t count = 0;
  int32_t largest = -1, last = -1;

private:
  uint64_t limit, front;
  uint64_t oldest = front; ///< of the last ids: where the next one goes
};

/// Whether the model has all ids of `sample`, from `place`. Errors:
/// TokenizerMisfit.
inline Status checkLargest(const SampleIds &sample, int64_t vocabularySize,
                           const std::string &place) {
  if (sample.largest < vocabularySize)
    return Status::ok();
  return Status(ErrorCode::TokenizerMisfit, place,
                "the tokenizer gives the id " + std::to_string(sample.largest) +
                    ", but the model's vocabulary has " +
                    std::to_string(vocabularySize) + " entries",
                "compile the model with the tokenizer that belongs to it");
}

} // namespace hone::rt
