//===- LaunchGroups.h - Which loops share a launch ------------------------===//
//
// The decision of hone-gpu-merge-loops, on plain numbers.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace hone::simt {

/// One of the loops that follow each other.
struct LoopSummary {
  /// Bytes of shared memory that it asks for itself. With much of it few
  /// workgroups run at a time, which would be so of all loops of its launch.
  int64_t sharedBytes = 0;
};

/// Loops by launch, in the order of launches; in each in their own order. A
/// loop is in the first launch after all that it depends on. `dependsOn(i, j)`,
/// j < i: loop i must not begin before j has ended. Loops that ask for more
/// than `mostShared` share a launch with those that ask for exactly as much.
std::vector<std::vector<unsigned>>
groupLaunches(const std::vector<LoopSummary> &loops, int64_t mostShared,
              const std::function<bool(unsigned, unsigned)> &dependsOn);

} // namespace hone::simt
