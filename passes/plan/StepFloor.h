//===- StepFloor.h - The least time of a step, kernel by kernel -----------===//
//
// The roofline of each op: the longest of its counts over the machine's rates.
// The others may be done meanwhile. An estimate, as all of CostEstimate.h:
// nothing is measured, and two ops that one kernel computes stand as two.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/plan/CostEstimate.h"

namespace hone {

class StepFloor {
public:
  /// A kernel, and which of its terms is the largest.
  struct Row {
    KernelCounts counted;
    double seconds;
    const char *boundBy; ///< "products", "arithmetic", "bytes", "panels", ...
  };

  /// `bfloat16Products`: as StepCounts::seconds has it.
  static StepFloor of(std::vector<KernelCounts> kernels,
                      const MachineCosts &costs, bool bfloat16Products);

  /// Longest first.
  const std::vector<Row> &rows() const { return sorted; }
  double seconds() const { return total; }

  /// The longest `shown` rows for a person, and the others as one.
  std::string table(size_t shown = 12) const;

private:
  std::vector<Row> sorted;
  double total = 0;
};

} // namespace hone
