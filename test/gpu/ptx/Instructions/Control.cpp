//===- Control.cpp - Branches, ends, barriers, fences ---------------------===//

#include "Lanewise.h"

#include "../Workgroup.h"

namespace hone::ptx {
namespace {

bool decodeBranch(KernelBuilder &builder, const Statement &statement,
                  Instruction &instruction) {
  const bool isKnown =
      statement.opcode == "bra" || statement.opcode == "bra.uni";
  return isKnown && builder.branch(statement, instruction);
}

bool decodeExit(KernelBuilder &, const Statement &statement,
                Instruction &instruction) {
  instruction.kind = Kind::Exit;
  return statement.operands.empty();
}

/// Barriers of all threads, called 0. Others would need a count of threads.
bool decodeBarrier(KernelBuilder &builder, const Statement &statement,
                   Instruction &instruction) {
  for (const char *known :
       {"bar.sync", "barrier.sync", "barrier.sync.aligned", "bar.cta.sync",
        "barrier.cta.sync", "barrier.cta.sync.aligned"})
    if (statement.opcode == known) {
      instruction.kind = Kind::Barrier;
      if (statement.operands.size() == 1 &&
          statement.operands[0].kind == Operand::Integer &&
          statement.operands[0].bits == 0)
        return true;
      return builder.fail(statement.line, "only barrier 0 is executed, which "
                                          "all threads of a workgroup share");
    }
  return false;
}

void runWarpBarrier(Warp &warp, const Instruction &instruction, uint32_t mask) {
  uint32_t members = 0;
  eachLane(mask, [&](unsigned lane) {
    members |= warp.lanes<uint32_t>(instruction.operands[0])[lane];
  });
  if (warp.takesPart(instruction, members, mask) && mask == warp.living())
    warp.synchronize();
}

bool decodeWarpBarrier(KernelBuilder &builder, const Statement &statement,
                       Instruction &instruction) {
  instruction.warpWide = true;
  instruction.run = runWarpBarrier;
  return statement.operands.size() == 1 &&
         builder.place(statement, statement.operands[0], 4,
                       instruction.operands[0]);
}

/// A fence orders nothing that a barrier does not.
void runFence(Warp &, const Instruction &, uint32_t) {}

void runTrap(Warp &warp, const Instruction &instruction, uint32_t mask) {
  warp.fault(Fault::Trap, instruction, unsigned(__builtin_ctz(mask)),
             "the kernel stops itself");
}

} // namespace

void addControlOperations(Operations &table) {
  table.add("bra", decodeBranch);
  table.add("ret", decodeExit);
  table.add("ret.uni", decodeExit);
  table.add("exit", decodeExit);
  table.add("bar", decodeBarrier);
  table.add("barrier", decodeBarrier);
  table.add("bar.warp.sync", decodeWarpBarrier);
  table.add("membar.cta", "", runFence);
  table.add("membar.gl", "", runFence);
  table.add("trap", "", runTrap);
}

} // namespace hone::ptx
