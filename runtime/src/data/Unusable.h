//===- Unusable.h - Samples that cannot be used ---------------------------===//

#pragma once

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hone::rt {

/// Counts errors by their code, each with its first message.
class UnusableSamples {
public:
  /// Whether an error is of one sample alone: the others can be used.
  static bool isOfSample(const Status &status);

  void add(const Status &status);
  uint64_t count() const { return all; }
  /// Each after a line end; empty when there are none.
  std::string notes() const;

private:
  struct Reason {
    ErrorCode code;
    uint64_t count;
    Message first;
  };
  std::vector<Reason> reasons;
  uint64_t all = 0;
};

} // namespace hone::rt
