//===- SampleIds.h - The ids of a sample ----------------------------------===//

#ifndef HONE_RUNTIME_DATA_SAMPLEIDS_H
#define HONE_RUNTIME_DATA_SAMPLEIDS_H

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
  explicit SampleIds(uint64_t limit) : limit(limit) {}

  void clear() {
    kept.clear();
    count = 0;
    largest = -1;
  }
  bool append(const int32_t *ids, size_t size) override {
    for (size_t i = 0; i < size; ++i) {
      if (kept.size() < limit)
        kept.push_back(ids[i]);
      largest = std::max(largest, ids[i]);
    }
    count += size;
    if (size != 0)
      last = ids[size - 1];
    return true;
  }
  void add(int32_t id) { append(&id, 1); }

  std::vector<int32_t> kept;
  uint64_t count = 0;
  int32_t largest = -1, last = -1;

private:
  uint64_t limit;
};

/// Whether the model has all ids of `sample`, from `place`. Errors:
/// TokenizerMisfit.
inline Status checkLargest(const SampleIds &sample, int64_t vocabularySize,
                           const std::string &place) {
  if (sample.largest < vocabularySize)
    return Status::ok();
  return Status::error(
      ErrorCode::TokenizerMisfit,
      {place,
       "the tokenizer gives the id " + std::to_string(sample.largest) +
           ", but the model's vocabulary has " +
           std::to_string(vocabularySize) + " entries",
       "compile the model with the tokenizer that belongs to it"});
}

} // namespace hone::rt

#endif
