//===- Warp.h - 32 lanes that execute a kernel ----------------------------===//

#pragma once

#include "Machine.h"

#include <cstring>

namespace hone::ptx {

class Workgroup;

/// Calls `body` for each lane in `mask`. All lanes at once are a plain loop,
/// which the compiler makes vector instructions of.
template <typename Body> inline void eachLane(uint32_t mask, Body body) {
  if (mask == ~0u) {
    for (unsigned lane = 0; lane < kLanes; ++lane)
      body(lane);
    return;
  }
  for (; mask; mask &= mask - 1)
    body(unsigned(__builtin_ctz(mask)));
}

class Warp {
public:
  enum State { Ready, AtBarrier, Ended };

  /// `registers`: as many bytes as the kernel's. `threads`: how many lanes
  /// live.
  Warp(Workgroup &group, uint32_t index, char *registers);

  void begin(unsigned threads);
  /// Runs until a barrier or the end. All lanes together, or one after another.
  State run();

  template <typename T> T *lanes(uint32_t place) {
    return reinterpret_cast<T *>(registers + place);
  }
  uint32_t &predicate(uint32_t place) { return *lanes<uint32_t>(place); }

  /// The machine's own memory for a lane's access of `bytes`; null after a
  /// fault. `byWarp`: all lanes get it.
  const char *read(const Instruction &instruction, Space space,
                   uint64_t address, unsigned bytes, unsigned lane,
                   bool byWarp = false);
  char *write(const Instruction &instruction, Space space, uint64_t address,
              unsigned bytes, unsigned lane);
  /// The same for the lanes in `mask`, at the address of operand 0.
  void readLanes(const Instruction &instruction, uint32_t mask, unsigned bytes,
                 const char *(&from)[kLanes]);
  void writeLanes(const Instruction &instruction, uint32_t mask, unsigned bytes,
                  char *(&to)[kLanes]);

  /// Of lane `lane`: the address that the instruction's operand `index` gives.
  uint64_t address(const Instruction &instruction, unsigned index,
                   unsigned lane) {
    const uint64_t base =
        instruction.widths[index] == 4
            ? lanes<uint32_t>(instruction.operands[index])[lane]
            : lanes<uint64_t>(instruction.operands[index])[lane];
    return base + uint64_t(instruction.immediate);
  }

  void fault(Fault::Kind kind, const Instruction &instruction, unsigned lane,
             const std::string &what);
  /// Whether `members` are the lanes in `mask`; else a fault.
  bool takesPart(const Instruction &instruction, uint32_t members,
                 uint32_t mask);
  /// Lanes may rely on earlier writes of others of this warp.
  void synchronize();

  // Copies in flight: see Instructions/Copy.cpp.
  struct Copy {
    uint64_t to = 0, from = 0;
    unsigned bytes = 0, sourceBytes = 0, lane = 0, batch = 0;
    const Instruction *instruction = nullptr;
  };
  std::vector<Copy> copies;
  std::array<unsigned, kLanes> batches = {}; ///< committed, by lane

  // Products of matrix units under way: see Instructions/GroupMatrix.cpp.
  struct GroupProduct {
    std::array<uint64_t, 2> sides = {}; ///< their descriptors
    unsigned batch = 0;
    const Instruction *instruction = nullptr;
  };
  std::vector<GroupProduct> products;
  unsigned productBatches = 0; ///< committed

  /// Shared memory that this warp has written is for matrix units that read it
  /// by themselves, once a barrier follows.
  void fenceAsync() { isUnfenced = wasUnfenced = false; }
  bool cameUnfenced() const { return wasUnfenced; }

  Workgroup &workgroup() { return group; }
  uint32_t number() const { return index; }
  /// The instruction that it waits at.
  uint32_t at() const { return pc; }
  uint32_t waiting() const { return current; }
  uint32_t living() const { return live; }
  /// Past a barrier: at the next instruction, in a new epoch.
  void pass();

private:
  State runTogether();
  State runOneByOne();
  State runLane(unsigned lane);
  bool branch(const Instruction &instruction, uint32_t mask);
  uint32_t guarded(const Instruction &instruction, uint32_t mask) {
    if (instruction.guard == kNone)
      return mask;
    const uint32_t bits = predicate(instruction.guard);
    return mask & (instruction.guardNegated ? ~bits : bits);
  }
  bool isBarrier(const Instruction &instruction) const;
  /// The innermost lanes that still live; false: none do.
  bool resume();
  /// The allocation that has these bytes; null: none.
  const Region *regionOf(uint64_t address, unsigned bytes);
  char *locate(const Instruction &instruction, Space &space, uint64_t address,
               unsigned bytes, unsigned lane, uint64_t &offset);
  Actor actor(const Instruction &instruction, Space space, unsigned lane) const;
  char *access(const Instruction &instruction, Space space, uint64_t address,
               unsigned bytes, unsigned lane, bool isWrite, bool byWarp);
  template <bool isWrite, typename Place>
  void accessLanes(const Instruction &instruction, uint32_t mask,
                   unsigned bytes, Place (&places)[kLanes]);
  void tell(const Conflict &conflict, const Instruction &instruction,
            Space space, uint64_t address, unsigned bytes, unsigned lane,
            bool isWrite);

  /// Lanes that wait until others are where they meet.
  struct Path {
    uint32_t lanes, pc, reconvergence;
  };

  Workgroup &group;
  const uint32_t index;
  char *const registers;
  uint32_t started = 0, live = 0, current = 0, pc = 0, reconvergence = kNone;
  uint32_t now = 0;
  /// Has written shared memory since its last fence; the same before the last
  /// barrier.
  bool isUnfenced = false, wasUnfenced = false;
  std::vector<Path> paths;
  std::array<uint32_t, kLanes> lanePcs = {}; ///< one by one
  std::array<State, kLanes> laneStates = {};
  const Region *lastRegion = nullptr;
  uint64_t generation = ~0ull;
  std::vector<char> local, localWritten; ///< of all lanes, one after another
};

} // namespace hone::ptx
