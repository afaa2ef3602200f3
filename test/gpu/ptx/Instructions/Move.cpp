//===- Move.cpp - mov: registers, addresses, vectors ----------------------===//

#include "Lanewise.h"

namespace hone::ptx {
namespace {

template <typename T>
void runMove(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const T *from = warp.lanes<T>(instruction.operands[1]);
  T *to = warp.lanes<T>(instruction.operands[0]);
  if (mask == ~0u)
    memmove(to, from, kLanes * sizeof(T));
  else
    eachLane(mask, [&](unsigned lane) { to[lane] = from[lane]; });
}

void runMovePredicate(Warp &warp, const Instruction &instruction,
                      uint32_t mask) {
  const uint32_t from = warp.predicate(instruction.operands[1]);
  uint32_t &to = warp.predicate(instruction.operands[0]);
  to = (to & ~mask) | (from & mask);
}

/// The first operand from all others, the low one first.
void runPack(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const unsigned part = instruction.elementBytes, whole = instruction.widths[0];
  char *to = warp.lanes<char>(instruction.operands[0]);
  eachLane(mask, [&](unsigned lane) {
    char bytes[8] = {};
    for (unsigned i = 0; i < instruction.elements; ++i)
      memcpy(bytes + i * part,
             warp.lanes<char>(instruction.operands[1 + i]) + lane * part, part);
    memcpy(to + lane * whole, bytes, whole);
  });
}

/// All others from the first.
void runUnpack(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const unsigned part = instruction.elementBytes, whole = instruction.widths[0];
  const char *from = warp.lanes<char>(instruction.operands[0]);
  eachLane(mask, [&](unsigned lane) {
    char bytes[8];
    memcpy(bytes, from + lane * whole, whole);
    for (unsigned i = 0; i < instruction.elements; ++i)
      memcpy(warp.lanes<char>(instruction.operands[1 + i]) + lane * part,
             bytes + i * part, part);
  });
}

bool decodeMove(KernelBuilder &builder, const Statement &statement,
                Instruction &instruction) {
  const std::vector<std::string_view> words = wordsOf(statement.opcode);
  if (words.size() != 2 || statement.operands.size() != 2)
    return false;
  unsigned width = 0;
  if (words[1] == "pred") {
    instruction.run = runMovePredicate;
  } else {
    const std::string_view bits = words[1].substr(1);
    width = bits == "16" ? 2 : bits == "32" ? 4 : bits == "64" ? 8 : 0;
    if (width == 0)
      return false;
    instruction.run = width == 2   ? runMove<uint16_t>
                      : width == 4 ? runMove<uint32_t>
                                   : runMove<uint64_t>;
  }
  const bool unpacks = statement.operands[0].kind == Operand::Vector;
  if (!unpacks && statement.operands[1].kind != Operand::Vector)
    return builder.place(statement, statement.operands[0], width,
                         instruction.operands[0]) &&
           builder.place(statement, statement.operands[1], width,
                         instruction.operands[1]);
  const Operand &vector = statement.operands[unpacks ? 0 : 1];
  instruction.elements = uint8_t(vector.parts.size());
  if (width == 0 || (instruction.elements != 2 && instruction.elements != 4))
    return false;
  instruction.elementBytes = uint8_t(width / instruction.elements);
  if (instruction.elementBytes < 2)
    return false;
  instruction.widths[0] = uint8_t(width);
  instruction.run = unpacks ? runUnpack : runPack;
  if (!builder.place(statement, statement.operands[unpacks ? 1 : 0], width,
                     instruction.operands[0]))
    return false;
  for (unsigned i = 0; i < instruction.elements; ++i)
    if (!builder.place(statement, vector.parts[i], instruction.elementBytes,
                       instruction.operands[1 + i]))
      return false;
  return true;
}

} // namespace

void addMoveOperations(Operations &table) { table.add("mov", decodeMove); }

} // namespace hone::ptx
