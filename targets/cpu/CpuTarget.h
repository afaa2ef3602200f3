//===- CpuTarget.h - x86-64 and AArch64 with vectors ----------------------===//
//
// One emitter for all CPUs; their differences are in CpuDescription.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/Target.h"

namespace hone {

/// Null for a triple that this LLVM cannot compile for; fails on one without a
/// runtime, and on a CPU that LLVM does not know.
llvm::Expected<std::unique_ptr<Target>>
createCpuTarget(const TargetRequest &request);

void registerCpuDialect(mlir::DialectRegistry &registry);

} // namespace hone
