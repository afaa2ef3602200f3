//===- TargetKernels.h - Kernels that a target has of its own -------------===//
//
// Most ops are best served by tile ops, which every target lowers. Where a
// machine wants another algorithm for a whole op, such as attention without
// strips, its target emits that op itself.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PASSES_KERNELS_TARGETKERNELS_H
#define HONE_PASSES_KERNELS_TARGETKERNELS_H

#include "passes/kernels/KernelBuilder.h"

namespace hone {

class TargetKernels {
public:
  virtual ~TargetKernels() = default;

  /// Emits what computes `op`, which keeps to the rules of hone-verify-tiles;
  /// false, with nothing emitted, leaves the op to the kernels of all targets.
  virtual bool emit(mlir::Operation *op, KernelBuilder &k) const = 0;
};

} // namespace hone

#endif // HONE_PASSES_KERNELS_TARGETKERNELS_H
