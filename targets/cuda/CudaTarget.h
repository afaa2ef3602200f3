//===- CudaTarget.h - NVIDIA GPUs, as PTX text ----------------------------===//
//
// Kernels are text that the program holds and the driver compiles; entries are
// code of the host, through targets/host.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/Target.h"

namespace hone {

/// For the triple nvptx64-nvidia-cuda, null for others; fails on an
/// architecture that Hone does not know.
llvm::Expected<std::unique_ptr<Target>>
createCudaTarget(const TargetRequest &request);

void registerCudaTargetPasses();
void registerCudaDialects(mlir::DialectRegistry &registry);

} // namespace hone
