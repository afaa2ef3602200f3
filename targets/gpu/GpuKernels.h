//===- GpuKernels.h - Ops that a GPU computes in its own way --------------===//
//
// Attention: its scores are never all there, see BlockAttention.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TARGETS_GPU_GPUKERNELS_H
#define HONE_TARGETS_GPU_GPUKERNELS_H

#include "passes/kernels/TargetKernels.h"

namespace hone {

class GpuKernels : public TargetKernels {
public:
  /// `sharedBytes`: of a workgroup, at most.
  explicit GpuKernels(int64_t sharedBytes) : sharedBytes(sharedBytes) {}

  bool emit(mlir::Operation *op, KernelBuilder &k) const override;

private:
  int64_t sharedBytes;
};

/// Rows that a workgroup handles together: the most of 64 and 32 with which two
/// workgroups have room, or else of 16, 8 and 4 with which one has.
/// `bytesPerRow` and `bytes` are what its private buffers take for each row and
/// in all. No bit depends on it.
int64_t attentionRows(int64_t sharedBytes, int64_t bytesPerRow, int64_t bytes);

// BlockAttention.cpp
void emitBlockAttention(AttentionOp op, KernelBuilder &k, int64_t sharedBytes);
void emitBlockAttention(AttentionTangentOp op, KernelBuilder &k,
                        int64_t sharedBytes);
void emitBlockAttention(AttentionAdjointOp op, KernelBuilder &k,
                        int64_t sharedBytes);

} // namespace hone

#endif // HONE_TARGETS_GPU_GPUKERNELS_H
