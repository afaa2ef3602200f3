//===- DriverOptions.h - The device's options from the environment --------===//

#pragma once

#include "../Machine.h"

namespace hone::ptx {

/// Each from HONE_PTX_<NAME>; the README beside has them all.
struct DriverOptions {
  Options machine;
  int devices = 1;
  int capability = 90;       ///< 10 major + minor
  int version = 13000;       ///< 1000 major + 10 minor
  bool skipsKernels = false; ///< launches are counted and do nothing
  bool refusesGraphs = false;
  bool refusesLimits = false; ///< a context's stay as they are at first
  std::string reportFile;     ///< written at the end; empty: none
  /// Which allocation is refused, launch fails with its device, or never ends,
  /// from 1; 0: none.
  uint64_t refusedAllocation = 0, lostLaunch = 0, stuckLaunch = 0;
};

/// Ends the process with a message where the environment has no sense.
DriverOptions readDriverOptions();

} // namespace hone::ptx
