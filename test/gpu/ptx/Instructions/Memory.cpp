//===- Memory.cpp - ld and st ---------------------------------------------===//

#include "Banks.h"
#include "Lanewise.h"

namespace hone::ptx {
namespace {

void countShared(Warp &warp, const Instruction &instruction, uint32_t mask,
                 unsigned address, unsigned bytes) {
  if (instruction.space == Space::Shared)
    countConflicts(warp, instruction, mask, bytes, [&](unsigned lane) {
      return warp.address(instruction, address, lane);
    });
}

// Operands: the address, then the elements.
void runLoad(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const unsigned part = instruction.elementBytes,
                 bytes = part * instruction.elements;
  countShared(warp, instruction, mask, 0, bytes);
  const char *from[kLanes];
  warp.readLanes(instruction, mask, bytes, from);
  eachLane(mask, [&](unsigned lane) {
    for (unsigned i = 0; i < instruction.elements; ++i) {
      const unsigned width = instruction.widths[1 + i];
      char *to = warp.lanes<char>(instruction.operands[1 + i]) + lane * width;
      uint64_t bits = 0;
      if (from[lane])
        memcpy(&bits, from[lane] + i * part, part);
      if (instruction.isSigned && part < 8)
        bits = uint64_t(int64_t(bits << (64 - 8 * part)) >> (64 - 8 * part));
      memcpy(to, &bits, width);
    }
  });
}

/// Elements as wide as their registers.
template <typename T>
void runLoadWhole(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const unsigned elements = instruction.elements;
  countShared(warp, instruction, mask, 0, elements * sizeof(T));
  static constexpr T zeros[32 / sizeof(T)] = {};
  const char *from[kLanes];
  warp.readLanes(instruction, mask, elements * sizeof(T), from);
  for (unsigned i = 0; i < elements; ++i) {
    T *to = warp.lanes<T>(instruction.operands[1 + i]);
    eachLane(mask, [&](unsigned lane) {
      const char *at =
          from[lane] ? from[lane] : reinterpret_cast<const char *>(zeros);
      memcpy(&to[lane], at + i * sizeof(T), sizeof(T));
    });
  }
}

void runStore(Warp &warp, const Instruction &instruction, uint32_t mask) {
  const unsigned part = instruction.elementBytes,
                 bytes = part * instruction.elements;
  countShared(warp, instruction, mask, 0, bytes);
  char *to[kLanes];
  warp.writeLanes(instruction, mask, bytes, to);
  eachLane(mask, [&](unsigned lane) {
    for (unsigned i = 0; to[lane] && i < instruction.elements; ++i)
      memcpy(to[lane] + i * part,
             warp.lanes<char>(instruction.operands[1 + i]) +
                 lane * instruction.widths[1 + i],
             part);
  });
}

bool decodeAccess(KernelBuilder &builder, const Statement &statement,
                  Instruction &instruction) {
  const std::vector<std::string_view> words = wordsOf(statement.opcode);
  const bool isLoad = words[0] == "ld";
  if (statement.operands.size() != 2)
    return false;
  instruction.elements = 1;
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "global")
      instruction.space = Space::Global;
    else if (word == "const" && isLoad)
      instruction.space = Space::Global;
    else if (word == "shared" || word == "shared::cta")
      instruction.space = Space::Shared;
    else if (word == "local")
      instruction.space = Space::Local;
    else if (word == "param" && isLoad)
      instruction.space = Space::Param;
    else if (word == "v2" || word == "v4" || word == "v8")
      instruction.elements = uint8_t(word[1] - '0');
    else if (word == "nc" && isLoad)
      instruction.isNonCoherent = true;
    else if (word != "weak" && word != "ca" && word != "cg" && word != "cs" &&
             word != "lu" && word != "wb" && word != "wt" &&
             word.substr(0, 2) != "L1" && word.substr(0, 2) != "L2")
      return builder.fail(statement.line, "`" + std::string(statement.opcode) +
                                              "`: ." + std::string(word) +
                                              " is not executed");
  }
  const std::string_view type = words.back();
  const std::string_view bits = type.substr(std::min<size_t>(1, type.size()));
  instruction.elementBytes = bits == "8"    ? 1
                             : bits == "16" ? 2
                             : bits == "32" ? 4
                             : bits == "64" ? 8
                                            : 0;
  const unsigned bytes = instruction.elementBytes * instruction.elements;
  if (bytes == 0 || bytes > 32)
    return false;
  instruction.isSigned = type[0] == 's';
  const Operand &value = statement.operands[isLoad ? 0 : 1];
  if (!builder.address(statement, statement.operands[isLoad ? 1 : 0],
                       instruction, 0))
    return false;
  const bool isVector = value.kind == Operand::Vector;
  if ((isVector ? value.parts.size() : 1) != instruction.elements)
    return builder.fail(statement.line,
                        "`" + std::string(statement.opcode) + "` has " +
                            std::to_string(instruction.elements) +
                            " values in braces");
  for (unsigned i = 0; i < instruction.elements; ++i)
    if (!builder.widePlace(statement, isVector ? value.parts[i] : value,
                           instruction.elementBytes,
                           instruction.operands[1 + i],
                           instruction.widths[1 + i]))
      return false;
  instruction.run = isLoad ? runLoad : runStore;
  bool isWhole = isLoad;
  for (unsigned i = 0; i < instruction.elements; ++i)
    isWhole &= instruction.widths[1 + i] == instruction.elementBytes;
  if (isWhole)
    instruction.run = instruction.elementBytes == 2   ? runLoadWhole<uint16_t>
                      : instruction.elementBytes == 4 ? runLoadWhole<uint32_t>
                                                      : runLoadWhole<uint64_t>;
  return true;
}

} // namespace

void addMemoryOperations(Operations &table) {
  table.add("ld", decodeAccess);
  table.add("st", decodeAccess);
}

} // namespace hone::ptx
