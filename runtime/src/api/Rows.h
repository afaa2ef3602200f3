//===- Rows.h - A caller's rows as samples --------------------------------===//
//
// The rows stay the caller's; only the places of the sequences are stored.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "hone/hone.h"
#include "module/Module.h"
#include "step/SampleSource.h"

#include <vector>

namespace hone::rt {

class Rows final : public SampleSource {
public:
  /// Errors: BadData naming the first row that a step of `module` cannot take.
  static Result<Rows> read(const hone_rows &rows, const Module &module);

  uint64_t sampleCount() const override { return starts.size() - 1; }
  uint64_t targetCount() const override { return targets; }
  Sample sample(uint64_t index) const override;

private:
  hone_rows rows{};
  std::vector<uint64_t> starts; ///< of sequences, and the end of the last
  uint64_t targets = 0;
};

} // namespace hone::rt
