//===- Exchange.cpp - Lanes that read each other's registers --------------===//

#include "Lanewise.h"

namespace hone::ptx {
namespace {

/// The lanes that those in `mask` say take part, in the register at `place`.
uint32_t membersAt(Warp &warp, uint32_t place, uint32_t mask) {
  uint32_t members = 0;
  const uint32_t *masks = warp.lanes<uint32_t>(place);
  eachLane(mask, [&](unsigned lane) { members |= masks[lane]; });
  return members;
}

enum class Shuffle { Up, Down, Butterfly, Index };

// Operands: result, its predicate, value, lane, clamp and mask, members.
template <Shuffle how>
void runShuffle(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const uint32_t members = membersAt(warp, instruction.operands[5], mask);
  if (!warp.takesPart(instruction, members, mask))
    return;
  const uint32_t *values = warp.lanes<uint32_t>(instruction.operands[2]);
  const uint32_t *by = warp.lanes<uint32_t>(instruction.operands[3]);
  const uint32_t *limits = warp.lanes<uint32_t>(instruction.operands[4]);
  uint32_t results[kLanes], inRange = 0;
  bool isMissing = false;
  unsigned missing = 0;
  eachLane(mask, [&](unsigned lane) {
    const int segment = int(limits[lane] >> 8 & 31);
    const int clamp = int(limits[lane] & 31), step = int(by[lane] & 31);
    const int most = (int(lane) & segment) | (clamp & ~segment);
    const int least = int(lane) & segment;
    int source = 0;
    bool is = false;
    switch (how) {
    case Shuffle::Up:
      source = int(lane) - step;
      is = source >= most;
      break;
    case Shuffle::Down:
      source = int(lane) + step;
      is = source <= most;
      break;
    case Shuffle::Butterfly:
      source = int(lane) ^ step;
      is = source <= most;
      break;
    case Shuffle::Index:
      source = least | (step & ~segment);
      is = source <= most;
      break;
    }
    if (!is)
      source = int(lane);
    if (!(mask >> source & 1)) {
      isMissing = true;
      missing = lane;
    }
    results[lane] = values[source];
    inRange |= uint32_t(is) << lane;
  });
  if (isMissing)
    warp.fault(Fault::DivergentWarp, instruction, missing,
               "it reads a lane that does not take part");
  uint32_t *to = warp.lanes<uint32_t>(instruction.operands[0]);
  eachLane(mask, [&](unsigned lane) { to[lane] = results[lane]; });
  uint32_t &predicate = warp.predicate(instruction.operands[1]);
  predicate = (predicate & ~mask) | (inRange & mask);
}

bool decodeShuffle(KernelBuilder &builder, const Statement &statement,
                   Instruction &instruction) {
  const std::vector<std::string_view> words = wordsOf(statement.opcode);
  const std::vector<Operand> &operands = statement.operands;
  if (words.size() != 4 || words[1] != "sync" || words[3] != "b32" ||
      operands.size() != 5)
    return false;
  instruction.warpWide = true;
  instruction.run = words[2] == "up"     ? runShuffle<Shuffle::Up>
                    : words[2] == "down" ? runShuffle<Shuffle::Down>
                    : words[2] == "bfly" ? runShuffle<Shuffle::Butterfly>
                    : words[2] == "idx"  ? runShuffle<Shuffle::Index>
                                         : nullptr;
  instruction.operands[1] = builder.sink(0);
  if (!operands[0].also.empty()) {
    const KernelBuilder::Register *also =
        builder.findRegister(operands[0].also);
    if (!also || also->width != 0)
      return false;
    instruction.operands[1] = also->place;
  }
  static const unsigned places[5] = {0, 2, 3, 4, 5};
  for (unsigned i = 0; i < 5; ++i)
    if (!builder.place(statement, operands[i], 4,
                       instruction.operands[places[i]]))
      return false;
  return instruction.run != nullptr;
}

enum class Vote { All, Any, Uniform, Ballot };

// Operands: result, predicate, members. Immediate: whether it is negated.
template <Vote how>
void runVote(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const uint32_t members = membersAt(warp, instruction.operands[2], mask);
  if (!warp.takesPart(instruction, members, mask))
    return;
  uint32_t bits = warp.predicate(instruction.operands[1]);
  bits = (instruction.immediate ? ~bits : bits) & mask;
  if (how == Vote::Ballot) {
    uint32_t *to = warp.lanes<uint32_t>(instruction.operands[0]);
    eachLane(mask, [&](unsigned lane) { to[lane] = bits; });
    return;
  }
  const bool is = how == Vote::All   ? bits == mask
                  : how == Vote::Any ? bits != 0
                                     : bits == mask || bits == 0;
  uint32_t &to = warp.predicate(instruction.operands[0]);
  to = is ? to | mask : to & ~mask;
}

bool decodeVote(KernelBuilder &builder, const Statement &statement,
                Instruction &instruction) {
  const std::vector<std::string_view> words = wordsOf(statement.opcode);
  if (words.size() != 4 || words[1] != "sync" || statement.operands.size() != 3)
    return false;
  const bool isBallot = words[2] == "ballot";
  if (words[3] != (isBallot ? "b32" : "pred"))
    return false;
  instruction.warpWide = true;
  instruction.immediate = statement.operands[1].negated;
  instruction.run = isBallot            ? runVote<Vote::Ballot>
                    : words[2] == "all" ? runVote<Vote::All>
                    : words[2] == "any" ? runVote<Vote::Any>
                    : words[2] == "uni" ? runVote<Vote::Uniform>
                                        : nullptr;
  return builder.place(statement, statement.operands[0], isBallot ? 4 : 0,
                       instruction.operands[0]) &&
         builder.place(statement, statement.operands[1], 0,
                       instruction.operands[1]) &&
         builder.place(statement, statement.operands[2], 4,
                       instruction.operands[2]) &&
         instruction.run != nullptr;
}

void runActiveMask(Warp &warp, const Instruction &instruction, uint32_t mask) {
  uint32_t *to = warp.lanes<uint32_t>(instruction.operands[0]);
  eachLane(mask, [&](unsigned lane) { to[lane] = mask; });
}

struct Add {
  template <typename T> static T of(T a, T b) {
    return T(uint32_t(a) + uint32_t(b));
  }
};
struct Min {
  template <typename T> static T of(T a, T b) { return a < b ? a : b; }
};
struct Max {
  template <typename T> static T of(T a, T b) { return a > b ? a : b; }
};

template <typename Function, typename T>
void runReduce(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const uint32_t members =
      warp.lanes<uint32_t>(instruction.operands[2])[__builtin_ctz(mask)];
  if (!warp.takesPart(instruction, members, mask))
    return;
  const T *values = warp.lanes<T>(instruction.operands[1]);
  T result = values[__builtin_ctz(mask)];
  eachLane(mask & (mask - 1), [&](unsigned lane) {
    result = Function::template of<T>(result, values[lane]);
  });
  T *to = warp.lanes<T>(instruction.operands[0]);
  eachLane(mask, [&](unsigned lane) { to[lane] = result; });
}

template <Handler handler>
bool decodeReduce(KernelBuilder &builder, const Statement &statement,
                  Instruction &instruction) {
  instruction.warpWide = true;
  instruction.run = handler;
  if (statement.operands.size() != 3)
    return false;
  for (unsigned i = 0; i < 3; ++i)
    if (!builder.place(statement, statement.operands[i], 4,
                       instruction.operands[i]))
      return false;
  return true;
}

} // namespace

void addExchangeOperations(Operations &table) {
  table.add("shfl", decodeShuffle);
  table.add("vote", decodeVote);
  table.add("activemask.b32", "w", runActiveMask);
  table.add("redux.sync.add.s32", decodeReduce<runReduce<Add, int32_t>>);
  table.add("redux.sync.add.u32", decodeReduce<runReduce<Add, uint32_t>>);
  table.add("redux.sync.min.s32", decodeReduce<runReduce<Min, int32_t>>);
  table.add("redux.sync.min.u32", decodeReduce<runReduce<Min, uint32_t>>);
  table.add("redux.sync.max.s32", decodeReduce<runReduce<Max, int32_t>>);
  table.add("redux.sync.max.u32", decodeReduce<runReduce<Max, uint32_t>>);
}

} // namespace hone::ptx
