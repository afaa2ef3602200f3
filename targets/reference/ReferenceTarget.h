//===- ReferenceTarget.h - The oracle of the other targets ----------------===//
//
// This machine without vectors, kernels and caches: slow, small, and a literal
// reading of the tile dialect's manual.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/Target.h"

namespace hone {

/// Null if `request` does not ask for "reference".
llvm::Expected<std::unique_ptr<Target>>
createReferenceTarget(const TargetRequest &request);

} // namespace hone
