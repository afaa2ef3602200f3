//===- CpuKernels.h - Ops that a CPU computes in its own way --------------===//

#pragma once

#include "passes/kernels/TargetKernels.h"

namespace hone {

class CpuKernels : public TargetKernels {
public:
  /// `hasPairs`: an instruction multiplies pairs of bfloat16.
  explicit CpuKernels(bool hasPairs) : hasPairs(hasPairs) {}

  llvm::StringRef dialect() const override;
  bool emit(mlir::Operation *op, KernelBuilder &k) const override;
  int64_t attentionIterations() const override { return 4; }
  bool roundsThinProducts() const override { return hasPairs; }

private:
  bool hasPairs;
};

// TransposedAttention.cpp, which needs hone.attention_iterations.
void emitTransposedAttention(AttentionOp op, KernelBuilder &k);
void emitTransposedAttention(AttentionAdjointOp op, KernelBuilder &k);

} // namespace hone
