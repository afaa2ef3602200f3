//===- LaunchGroups.cpp - Which loops share a launch ----------------------===//

#include "targets/gpu/LaunchGroups.h"

#include <algorithm>
#include <map>

using namespace hone::simt;

std::vector<std::vector<unsigned>> hone::simt::groupLaunches(
    const std::vector<LoopSummary> &loops, int64_t mostShared,
    const std::function<bool(unsigned, unsigned)> &dependsOn) {
  // A level ends before the next one begins; of one there may be several
  // launches.
  std::vector<unsigned> levels(loops.size());
  std::map<std::pair<unsigned, int64_t>, std::vector<unsigned>> launches;
  for (unsigned i = 0; i < loops.size(); ++i) {
    for (unsigned j = 0; j < i; ++j)
      if (levels[j] >= levels[i] && dependsOn(i, j))
        levels[i] = levels[j] + 1;
    int64_t shared = loops[i].sharedBytes;
    launches[{levels[i], shared > mostShared ? shared : 0}].push_back(i);
  }
  std::vector<std::vector<unsigned>> groups;
  for (auto &[key, members] : launches)
    groups.push_back(members);
  return groups;
}
