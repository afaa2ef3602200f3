//===- KernelTimes.h - Times of a program's launches ----------------------===//

#pragma once

#include "base/Json.h"
#include "base/Status.h"
#include "hone/runtime.h"

#include <map>
#include <string>
#include <vector>

namespace hone::simulate {

struct KernelTimes {
  std::vector<double> seconds; ///< of a launch, by kernel; negative: not known
  double stepSeconds = 0;      ///< of a step, beside launches and waits
};

/// The file that `train --profile` wrote.
class Profile {
public:
  /// Errors: as readJsonFile; BadJson for a file without a run's figures.
  static Result<Profile> read(const std::string &path);

  /// Errors: BadJson; OptionsDisagree for a profile of a program with other
  /// kernels than `module`.
  Result<KernelTimes> timesOf(const hone_module &module) const;

private:
  std::string path;
  rt::Json root;
  double steps = 0;
  double computed = 0; ///< seconds of the run in which it did not wait
};

/// Of a plan's estimate: `blocks` are seconds of a step of one batch, by block,
/// of which each launch takes an equal share; `launches` are those of such a
/// step, by kernel. A kernel of no block takes no time.
KernelTimes estimatedTimes(const std::map<std::string, double> &blocks,
                           const hone_module &module,
                           const std::vector<uint64_t> &launches);

} // namespace hone::simulate
