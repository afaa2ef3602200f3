//===- CpuTarget.h - x86-64 and AArch64 through LLVM ----------------------===//
//
// One emitter for all CPUs: what differs is in CpuDescription.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_CPU_CPUTARGET_H
#define HONE_TARGETS_CPU_CPUTARGET_H

#include "targets/Target.h"

namespace hone {

struct CpuDescription;

/// Fails on a triple that this LLVM cannot compile for, or a CPU it does not
/// know.
llvm::Expected<std::unique_ptr<Target>>
createCpuTarget(const TargetRequest &request);

/// Appends the passes from tile ops to the LLVM dialect.
void buildCpuLoweringPipeline(mlir::OpPassManager &pm,
                              const CpuDescription &cpu);

} // namespace hone

#endif // HONE_TARGETS_CPU_CPUTARGET_H
