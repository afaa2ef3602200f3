//===- PhaseTimes.h - Where a compilation's time goes ---------------------===//
//
// The lines of `honec --timing` after the passes of each phase.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Timer.h"

#include <string>
#include <vector>

namespace hone {

class PhaseTimes {
public:
  /// From here on, time is that of `phase`.
  void begin(llvm::StringRef phase);
  /// Ends the last phase. A line for each, in order, and one for all: wall
  /// seconds, and CPU seconds of all threads.
  std::string finish();

private:
  struct Phase {
    std::string name;
    llvm::TimeRecord began;
  };
  std::vector<Phase> phases;
};

} // namespace hone
