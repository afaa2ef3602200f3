//===- CommonRun.h - The run that several folders are of ------------------===//

#pragma once

#include <cstdint>

namespace hone::rt {

/// The run that folders are of, by their names (formats/RunName.h). One that
/// has none is taken for any run's.
struct CommonRun {
  uint64_t name = 0; ///< 0: none says one

  /// Whether a folder that says `own` is of the run that those before are of.
  bool take(uint64_t own) {
    if (name == 0)
      name = own;
    return own == 0 || own == name;
  }
};

} // namespace hone::rt
