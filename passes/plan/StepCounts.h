//===- StepCounts.h - The work of a step on a machine ---------------------===//

#pragma once

#include "passes/plan/MachineProfile.h"

#include <cstdint>
#include <map>
#include <string>

namespace hone {

/// The work of one run of an entry.
struct StepCounts {
  int64_t flops = 0;        ///< all floating-point operations
  int64_t productFlops = 0; ///< those of products with the model's weights
  int64_t rowBytes = 0;     ///< bytes of activations read or written
  /// Weights turned from how they are stored into panels: once for each op that
  /// reads them and each of its tiles of rows.
  int64_t fills = 0;
  int64_t fillBytes = 0; ///< read for that, as stored
  /// Ops that compute, once for each tile of rows: about as many kernels.
  int64_t launches = 0;
  /// Operations of other products: of activations, as in attention and
  /// gradients.
  int64_t rowProductFlops = 0;

  /// `bfloat16Products`: float32_matmul_precision is medium.
  double seconds(const MachineProfile &profile, bool bfloat16Products) const {
    double productRate = bfloat16Products ? profile.bfloat16FlopsPerSecond
                                          : profile.flopsPerSecond;
    int64_t products =
        productFlops + (profile.rowProductsAlike ? rowProductFlops : 0);
    return products / productRate +
           (flops - products) / profile.otherFlopsPerSecond +
           (rowBytes + fillBytes) / profile.bytesPerSecond +
           fills / profile.fillsPerSecond + launches * profile.launchSeconds;
  }
  StepCounts &operator+=(const StepCounts &other) {
    flops += other.flops;
    productFlops += other.productFlops;
    rowProductFlops += other.rowProductFlops;
    rowBytes += other.rowBytes;
    fills += other.fills;
    fillBytes += other.fillBytes;
    launches += other.launches;
    return *this;
  }
  StepCounts operator*(int64_t times) const {
    return {flops * times,          productFlops * times, rowBytes * times,
            fills * times,          fillBytes * times,    launches * times,
            rowProductFlops * times};
  }
};

/// Counts by family of kernels: an op, the elements of its rows, and for a
/// product with a weight how that is stored and whether operands are rounded,
/// "lora_linear f32 int4". Kernels of a family reach the same share of a
/// machine.
using FamilyCounts = std::map<std::string, StepCounts>;

inline StepCounts sumOf(const FamilyCounts &families) {
  StepCounts sum;
  for (const auto &[family, counts] : families)
    sum += counts;
  return sum;
}

} // namespace hone
