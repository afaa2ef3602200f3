//===- Workgroup.h - Warps that share memory and barriers -----------------===//

#pragma once

#include "Machine.h"
#include "Warp.h"

namespace hone::ptx {

class Workgroup {
public:
  Workgroup(Machine &machine, const Launch &launch);

  /// Runs the workgroup at `place` to its end. False: it could not go on.
  bool run(std::array<uint32_t, 3> place);

  /// Whether each warp has fenced its writes before the last barrier.
  bool isFenced() const;

  Machine &machine;
  const Launch &launch;
  const Kernel &kernel;
  std::array<uint32_t, 3> place = {};
  uint32_t startTime = 0, epoch = 0, needed = 0;
  std::vector<char> shared;
  Shadow sharedShadow;
  uint64_t instructionsLeft = 0;      ///< until it is stuck
  std::vector<uint64_t> instructions; ///< by warp

private:
  void fillSpecials(Warp &warp, unsigned number);
  bool passBarrier();

  uint32_t threads = 0;
  uint32_t lastBarrier = kNone; ///< that began this epoch
  std::unique_ptr<char[]> registers;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<unsigned> order;
};

} // namespace hone::ptx
