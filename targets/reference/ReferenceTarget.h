//===- ReferenceTarget.h - The oracle of the other targets ----------------===//
//
// This machine without vectors, kernels and caches: slow, small, and a literal
// reading of the tile dialect's manual.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_REFERENCE_REFERENCETARGET_H
#define HONE_TARGETS_REFERENCE_REFERENCETARGET_H

#include "targets/Target.h"

namespace hone {

/// Null if `request` does not ask for "reference".
llvm::Expected<std::unique_ptr<Target>>
createReferenceTarget(const TargetRequest &request);

} // namespace hone

#endif // HONE_TARGETS_REFERENCE_REFERENCETARGET_H
