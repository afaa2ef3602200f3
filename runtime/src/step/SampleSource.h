//===- SampleSource.h - Where the samples of a step come from -------------===//

#pragma once

#include <cstdint>

namespace hone::rt {

/// One training sequence.
struct Sample {
  const int32_t *ids;     ///< [length]
  const int32_t *targets; ///< [length]: the next token, or -100 for no loss;
                          ///< the last is always -100
  int64_t length;
};

class SampleSource {
public:
  virtual ~SampleSource() = default;

  /// At least 1.
  virtual uint64_t sampleCount() const = 0;
  /// Tokens that a loss is taken from; at least 1.
  virtual uint64_t targetCount() const = 0;
  /// Valid as long as this object. `index` is below sampleCount().
  virtual Sample sample(uint64_t index) const = 0;

  /// Whether samples are candidates, of which those of one line compete and one
  /// is right.
  virtual bool hasCandidates() const { return false; }
  /// Whether `index` is of the same line of the data as the sample before it.
  virtual bool continues(uint64_t index) const { return false; }
  /// Whether it is a candidate that is not the right one.
  virtual bool isWrong(uint64_t index) const { return false; }

  /// Lets the pages go that samples were read from: a batch at a time.
  virtual void release() const {}
};

} // namespace hone::rt
