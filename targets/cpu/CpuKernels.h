//===- CpuKernels.h - Ops that a CPU computes in its own way --------------===//

#pragma once

#include "passes/kernels/TargetKernels.h"

namespace hone {

class CpuKernels : public TargetKernels {
public:
  bool emit(mlir::Operation *op, KernelBuilder &k) const override;
  int64_t attentionIterations() const override { return 4; }
};

// TransposedAttention.cpp, which needs hone.attention_iterations.
void emitTransposedAttention(AttentionOp op, KernelBuilder &k);
void emitTransposedAttention(AttentionAdjointOp op, KernelBuilder &k);

} // namespace hone
