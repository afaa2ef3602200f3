//===- Workgroup.cpp - Warps that share memory and barriers ---------------===//

#include "Workgroup.h"

#include <algorithm>
#include <numeric>

namespace hone::ptx {

Workgroup::Workgroup(Machine &machine, const Launch &launch)
    : machine(machine), launch(launch), kernel(*launch.kernel) {
  threads = launch.block[0] * launch.block[1] * launch.block[2];
  const unsigned count = (threads + kLanes - 1) / kLanes;
  shared.resize(kernel.sharedBytes + launch.dynamicShared);
  sharedShadow.reserve(std::max<size_t>(shared.size(), 64));
  const size_t bytes = (size_t(kernel.registerBytes) + 63) / 64 * 64;
  registers.reset(new char[bytes * count + 64]());
  char *first = registers.get();
  first += (64 - reinterpret_cast<uintptr_t>(first) % 64) % 64;
  for (unsigned i = 0; i < count; ++i) {
    char *file = first + bytes * i;
    for (const Constant &constant : kernel.constants) {
      if (constant.width == 0)
        memcpy(file + constant.place, &constant.bits, 4);
      else
        for (unsigned lane = 0; lane < kLanes; ++lane)
          memcpy(file + constant.place + lane * constant.width, &constant.bits,
                 constant.width);
    }
    warps.push_back(std::make_unique<Warp>(*this, i, file));
  }
  instructions.resize(count);
  order.resize(count);
  std::iota(order.begin(), order.end(), 0);
  if (machine.options().order == Order::Descending)
    std::reverse(order.begin(), order.end());
}

void Workgroup::fillSpecials(Warp &warp, unsigned number) {
  for (const auto &[special, at] : kernel.specials) {
    uint32_t *lanes = warp.lanes<uint32_t>(at);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const uint32_t thread = number * kLanes + lane;
      const unsigned axis = unsigned(special) % 3;
      const uint32_t position[3] = {thread % launch.block[0],
                                    thread / launch.block[0] % launch.block[1],
                                    thread / launch.block[0] / launch.block[1]};
      switch (special) {
      case Special::TidX:
      case Special::TidY:
      case Special::TidZ:
        lanes[lane] = position[axis];
        break;
      case Special::CtaidX:
      case Special::CtaidY:
      case Special::CtaidZ:
        lanes[lane] = place[axis];
        break;
      case Special::NtidX:
      case Special::NtidY:
      case Special::NtidZ:
        lanes[lane] = launch.block[axis];
        break;
      case Special::NctaidX:
      case Special::NctaidY:
      case Special::NctaidZ:
        lanes[lane] = launch.grid[axis];
        break;
      case Special::Lane:
        lanes[lane] = lane;
        break;
      case Special::Warp:
        lanes[lane] = number;
        break;
      case Special::DynamicShared:
        lanes[lane] = launch.dynamicShared;
        break;
      }
    }
  }
}

bool Workgroup::run(std::array<uint32_t, 3> at) {
  place = at;
  startTime = epoch = needed = machine.tick();
  lastBarrier = kNone;
  instructionsLeft = machine.options().instructionLimit;
  std::fill(instructions.begin(), instructions.end(), 0);
  if (!shared.empty())
    sharedShadow.setWritten(0, shared.size(), false);
  for (unsigned i = 0; i < warps.size(); ++i) {
    fillSpecials(*warps[i], i);
    warps[i]->begin(std::min(threads - i * kLanes, kLanes));
  }
  for (;;) {
    if (machine.options().order == Order::Random)
      for (size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[machine.random() % i]);
    unsigned ended = 0;
    for (unsigned number : order) {
      Warp &warp = *warps[number];
      const uint64_t left = instructionsLeft;
      if (warp.living() == 0 || warp.run() == Warp::Ended)
        ++ended;
      instructions[number] += left - instructionsLeft;
      launch.counts->longestWarp =
          std::max(launch.counts->longestWarp, instructions[number]);
      if (instructionsLeft == 0)
        return false;
    }
    // The accesses of this epoch show whether the barrier before it was needed:
    // see Actor.
    if (needed == epoch && lastBarrier != kNone)
      launch.counts->needed[lastBarrier] = true;
    if (ended == warps.size())
      return true;
    if (!passBarrier())
      return false;
  }
}

bool Workgroup::isFenced() const {
  return std::none_of(warps.begin(), warps.end(),
                      [](const auto &warp) { return warp->cameUnfenced(); });
}

/// All threads must have come to one barrier.
bool Workgroup::passBarrier() {
  Warp *first = nullptr;
  for (auto &warp : warps)
    if (warp->living() && !first)
      first = warp.get();
  const Instruction &barrier = kernel.code[first->at()];
  for (unsigned i = 0; i < warps.size(); ++i) {
    Warp &warp = *warps[i];
    const unsigned expected = std::min(threads - i * kLanes, kLanes);
    const uint32_t all = expected == kLanes ? ~0u : (1u << expected) - 1;
    if (warp.living() == all && warp.waiting() == all &&
        warp.at() == first->at())
      continue;
    const uint32_t missing = all & ~(warp.living() & warp.waiting());
    const unsigned lane = missing ? unsigned(__builtin_ctz(missing)) : 0;
    std::string what;
    if (warp.living() != all)
      what = "has ended";
    else if (warp.waiting() != all)
      what = "is elsewhere";
    else
      what = "waits at line " + std::to_string(kernel.code[warp.at()].line);
    first->fault(Fault::DivergentBarrier, barrier, 0,
                 "thread " + std::to_string(i * kLanes + lane) + " " + what);
    return false;
  }
  lastBarrier = first->at();
  epoch = machine.tick();
  for (auto &warp : warps)
    warp->pass();
  return true;
}

} // namespace hone::ptx
