//===- ModuleCuts.cpp - Modules that take about as long -------------------===//

#include "passes/parts/ModuleCuts.h"

#include <algorithm>
#include <limits>

namespace hone {

std::vector<int64_t> cutEvenly(const std::vector<double> &seconds,
                               size_t modules) {
  const size_t layers = seconds.size();
  constexpr double never = std::numeric_limits<double>::infinity();
  // slowest[k][i]: of k modules that have the layers from i on.
  std::vector<std::vector<double>> slowest(
      modules + 1, std::vector<double>(layers + 1, never));
  auto next = slowest; // and where their second one begins
  slowest[0][layers] = 0;
  for (size_t k = 1; k <= modules; ++k)
    for (size_t i = 0; i < layers; ++i) {
      double own = 0;
      for (size_t end = i + 1; end <= layers; ++end) {
        own += seconds[end - 1];
        const double both = std::max(own, slowest[k - 1][end]);
        if (both == never || both > slowest[k][i])
          continue;
        slowest[k][i] = both;
        next[k][i] = double(end);
      }
    }
  std::vector<int64_t> cuts;
  size_t at = 0;
  for (size_t k = modules; k > 1; --k) {
    at = size_t(next[k][at]);
    cuts.push_back(int64_t(at));
  }
  return cuts;
}

} // namespace hone
