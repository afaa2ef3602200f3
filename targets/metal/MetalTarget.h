//===- MetalTarget.h - Apple's GPUs, as text for Metal --------------------===//
//
// Kernels are text that the program holds and Metal compiles; entries are code
// of the host, through targets/host.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/Target.h"

namespace hone {

/// For the triple metal, null for others; fails on an architecture other than
/// metal3.2, and on features, since there is one text for all of Apple's GPUs.
llvm::Expected<std::unique_ptr<Target>>
createMetalTarget(const TargetRequest &request);

void registerMetalTargetPasses();

} // namespace hone
