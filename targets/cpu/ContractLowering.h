//===- ContractLowering.h - tile.contract becomes calls of kernels --------===//
//
// The kernels are KernelLibrary's; here is the code around them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/cpu/CpuDialect.h"
#include "targets/cpu/KernelLibrary.h"

namespace hone {

/// Replaces `op` by calls. Where its epilogue is one that kernels can run and
/// its columns fill them, they write the result themselves; elsewhere they
/// leave their sums in a small scratch tile, and a tile.map, to be lowered like
/// any other, carries them through the epilogue.
void lowerContract(cpu::ContractOp op, KernelLibrary &kernels,
                   const CpuDescription &cpu);

} // namespace hone
