//===- MachineCosts.h - The costs of kernels on a machine -----------------===//
//
// Rates of the whole machine, and costs of families of kernels that were
// learned on it. A family without costs has the rates. The same costs give the
// same plan: nothing is measured while planning.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/plan/StepCounts.h"

#include <algorithm>

namespace hone {

/// Seconds for one flop, byte, fill and launch of a family's kernels.
struct FamilyCosts {
  double flop = 0, byte = 0, fill = 0, launch = 0;

  double seconds(const StepCounts &counts) const {
    return counts.flops * flop + (counts.rowBytes + counts.fillBytes) * byte +
           counts.fills * fill + counts.launches * launch;
  }
};

struct MachineCosts {
  MachineProfile rates;
  std::map<std::string, FamilyCosts> families;
  /// The rate of the file that values rest in: of writing or reading, the
  /// slower.
  double diskBytesPerSecond = 1e9;
  double stepSeconds = 0;  ///< of a step, beside its counted kernels
  std::string digest = {}; ///< SHA-256 of the file; empty: nominal rates
  int64_t threads = 0;     ///< that were measured; 0: unknown

  /// The seconds of kernels of one family.
  double seconds(const std::string &family, const StepCounts &counts,
                 bool bfloat16Products) const {
    auto known = families.find(family);
    return known == families.end() ? counts.seconds(rates, bfloat16Products)
                                   : known->second.seconds(counts);
  }
  /// The seconds of a step.
  double seconds(const FamilyCounts &step, bool bfloat16Products) const {
    // A sum of integers, rounded once.
    if (families.empty())
      return sumOf(step).seconds(rates, bfloat16Products);
    double sum = stepSeconds;
    for (const auto &[family, counts] : step)
      sum += seconds(family, counts, bfloat16Products);
    return sum;
  }
  /// The seconds of a step that computes for `computing` seconds and meanwhile
  /// writes so many bytes to a file and reads them again: it writes beside the
  /// forwards of layers, a third of the time at least, and reads beside their
  /// backwards. The step waits for bytes that the disk has not moved in that
  /// time.
  double secondsWithFile(double computing, int64_t bytes) const {
    const double late = double(bytes) / diskBytesPerSecond - computing / 3;
    // Each way a core copies all of it.
    return computing + 2 * double(bytes) / copiedBytesPerSecond +
           2 * std::max(late, 0.0);
  }
  /// The estimate by which plans are compared: of the counts of a step's
  /// kernels, with so many bytes of a batch in a file.
  double seconds(const FamilyCounts &step, bool bfloat16Products,
                 int64_t bytesInFile) const {
    return secondsWithFile(seconds(step, bfloat16Products), bytesInFile);
  }
  /// The rate of a thread beside those that compute.
  static constexpr double copiedBytesPerSecond = 1e10;
};

} // namespace hone
