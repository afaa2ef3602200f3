//===- Copy.cpp - cp.async ------------------------------------------------===//
//
// The bytes arrive when their group is waited for. From the copy on until then
// the target counts as written by the lane, so that others race with it, and as
// not yet written, so that nobody reads it; the source is read at both ends.
//
//===----------------------------------------------------------------------===//

#include "Banks.h"
#include "Lanewise.h"

#include <set>

namespace hone::ptx {
namespace {

Shadow &sharedOf(Warp &warp) { return warp.workgroup().sharedShadow; }

uint64_t registerAt(Warp &warp, const Instruction &instruction, unsigned index,
                    unsigned lane) {
  return instruction.widths[index] == 4
             ? warp.lanes<uint32_t>(instruction.operands[index])[lane]
             : warp.lanes<uint64_t>(instruction.operands[index])[lane];
}

// The decoder keeps two offsets in one number.
uint64_t targetOf(Warp &warp, const Instruction &instruction, unsigned lane) {
  return registerAt(warp, instruction, 0, lane) +
         uint64_t(int64_t(int32_t(instruction.immediate)));
}

/// Reads the existing part of the source: part(at, from, bytes). False: a
/// fault.
template <typename Part>
bool readSource(Warp &warp, const Warp::Copy &copy, Part part) {
  for (unsigned i = 0; i < copy.sourceBytes;) {
    const unsigned bytes = copy.sourceBytes == copy.bytes ? copy.bytes
                           : copy.sourceBytes - i >= 4    ? 4
                                                          : 1;
    const char *from = warp.read(*copy.instruction, Space::Global,
                                 copy.from + i, bytes, copy.lane);
    if (!from)
      return false;
    part(i, from, bytes);
    i += bytes;
  }
  return true;
}

uint64_t sourceOf(Warp &warp, const Instruction &instruction, unsigned lane) {
  return registerAt(warp, instruction, 1, lane) +
         uint64_t(instruction.immediate >> 32);
}

/// A cache gets one request for all bytes from one of its lines into one line
/// of shared memory.
void countLines(Warp &warp, const Instruction &instruction, uint32_t mask) {
  constexpr uint64_t kLine = 128;
  Workgroup &group = warp.workgroup();
  if (!group.machine.options().countsBankConflicts)
    return;
  std::set<std::pair<uint64_t, uint64_t>> lines;
  eachLane(mask, [&](unsigned lane) {
    lines.insert({sourceOf(warp, instruction, lane) / kLine,
                  targetOf(warp, instruction, lane) / kLine});
  });
  group.launch.counts->lines[&instruction - group.kernel.code.data()] +=
      lines.size();
}

// Operands: target, source, and how many bytes of the source there are.
void runCopy(Warp &warp, const Instruction &instruction, uint32_t mask) {
  countConflicts(
      warp, instruction, mask, instruction.elementBytes,
      [&](unsigned lane) { return targetOf(warp, instruction, lane); });
  countLines(warp, instruction, mask);
  eachLane(mask, [&](unsigned lane) {
    Warp::Copy copy;
    copy.lane = lane;
    copy.batch = warp.batches[lane];
    copy.bytes = instruction.elementBytes;
    copy.to = targetOf(warp, instruction, lane);
    copy.from = sourceOf(warp, instruction, lane);
    copy.sourceBytes = std::min<unsigned>(
        copy.bytes, warp.lanes<uint32_t>(instruction.operands[2])[lane]);
    copy.instruction = &instruction;
    if (!warp.write(instruction, Space::Shared, copy.to, copy.bytes, lane))
      return;
    sharedOf(warp).setWritten(copy.to, copy.bytes, false);
    if (copy.sourceBytes) {
      // Nothing beyond these bytes is read, but the whole must be aligned.
      const uint64_t misaligned = copy.from & (copy.bytes - 1);
      if (misaligned) {
        warp.fault(Fault::Misaligned, instruction, lane,
                   std::to_string(copy.bytes) + " bytes of the source");
        return;
      }
      if (!readSource(warp, copy, [](unsigned, const char *, unsigned) {}))
        return;
    }
    warp.copies.push_back(copy);
  });
}

void land(Warp &warp, const Warp::Copy &copy) {
  const Instruction &instruction = *copy.instruction;
  char bytes[16] = {};
  readSource(warp, copy, [&](unsigned at, const char *from, unsigned part) {
    memcpy(bytes + at, from, part);
  });
  if (char *to = warp.write(instruction, Space::Shared, copy.to, copy.bytes,
                            copy.lane))
    memcpy(to, bytes, copy.bytes);
}

/// All copies in batches before `end` of a lane land.
void landBefore(Warp &warp, uint32_t mask, unsigned pending, bool all) {
  std::vector<Warp::Copy> rest;
  for (const Warp::Copy &copy : warp.copies) {
    const bool isOf = mask >> copy.lane & 1;
    if (isOf && (all || copy.batch + pending < warp.batches[copy.lane]))
      land(warp, copy);
    else
      rest.push_back(copy);
  }
  warp.copies.swap(rest);
}

void runCommit(Warp &warp, const Instruction &, uint32_t mask) {
  eachLane(mask, [&](unsigned lane) { ++warp.batches[lane]; });
}
void runWait(Warp &warp, const Instruction &instruction, uint32_t mask) {
  landBefore(warp, mask, unsigned(instruction.immediate), false);
}
void runWaitAll(Warp &warp, const Instruction &, uint32_t mask) {
  landBefore(warp, mask, 0, true);
}

bool decodeCopy(KernelBuilder &builder, const Statement &statement,
                Instruction &instruction) {
  const std::vector<std::string_view> words = wordsOf(statement.opcode);
  if (words.size() < 3 || words[1] != "async")
    return false;
  const std::vector<Operand> &operands = statement.operands;
  if (words[2] == "commit_group") {
    instruction.run = runCommit;
    return operands.empty();
  }
  if (words[2] == "wait_all") {
    instruction.run = runWaitAll;
    return operands.empty();
  }
  if (words[2] == "wait_group") {
    instruction.run = runWait;
    if (operands.size() != 1 || operands[0].kind != Operand::Integer)
      return false;
    instruction.immediate = int64_t(operands[0].bits);
    return true;
  }
  if ((words[2] != "ca" && words[2] != "cg") || words.size() < 5 ||
      (words[3] != "shared" && words[3] != "shared::cta") ||
      words[4] != "global")
    return false;
  for (size_t i = 5; i < words.size(); ++i)
    if (words[i].substr(0, 3) != "L2:" && words[i].substr(0, 4) != "L2::")
      return false;
  if (operands.size() < 3 || operands.size() > 4 ||
      operands[2].kind != Operand::Integer)
    return false;
  const uint64_t bytes = operands[2].bits;
  if (bytes != 16 && (words[2] == "cg" || (bytes != 4 && bytes != 8)))
    return builder.fail(statement.line,
                        "a copy has 4, 8 or 16 bytes, and 16 with .cg");
  instruction.elementBytes = uint8_t(bytes);
  if (!builder.address(statement, operands[0], instruction, 0))
    return false;
  const int64_t toOffset = instruction.immediate;
  if (!builder.address(statement, operands[1], instruction, 1))
    return false;
  instruction.immediate = instruction.immediate << 32 | (toOffset & 0xffffffff);
  instruction.run = runCopy;
  return builder.place(statement, operands[operands.size() - 1], 4,
                       instruction.operands[2]);
}

} // namespace

void addCopyOperations(Operations &table) { table.add("cp", decodeCopy); }

} // namespace hone::ptx
