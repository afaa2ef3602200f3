//===- GpuKernels.h - Ops that a GPU computes in its own way --------------===//
//
// Attention, by blocks of scores (BlockAttention.cpp) or in registers; tiles.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/kernels/TargetKernels.h"
#include "targets/gpu/Kernel.h"

namespace hone {

class GpuKernels : public TargetKernels {
public:
  explicit GpuKernels(const simt::DeviceFeatures &device) : device(device) {}

  llvm::StringRef dialect() const override;
  bool emit(mlir::Operation *op, KernelBuilder &k) const override;
  tile::Blocks blocksOf(mlir::Operation *op, int64_t rows,
                        const KernelSettings &settings) const override;
  int64_t productTiles() const override;
  bool roundsThinProducts() const override { return device.matrixUnits; }
  std::string refusal(mlir::Operation *op) const override;

private:
  const simt::DeviceFeatures device;
};

inline constexpr int64_t kFewestAttentionRows = 4;
/// Rows that a workgroup handles together: the most of 64 and 32 with which two
/// workgroups have room, or else of 16, 8 and 4 with which one has.
/// `bytesPerRow` and `bytes` are those of its private buffers for each row and
/// in all. No bit depends on it.
int64_t rowsWithRoom(const simt::DeviceFeatures &device, int64_t bytesPerRow,
                     int64_t bytes);

// BlockAttention.cpp
/// Features of a head with which a workgroup has room for the fewest rows of
/// any kernel of `op`, at most; none: it is no attention.
std::optional<int64_t> mostHeadFeatures(mlir::Operation *op,
                                        const simt::DeviceFeatures &device);
void emitBlockAttention(AttentionOp op, KernelBuilder &k,
                        const simt::DeviceFeatures &device);
void emitBlockAttention(CachedAttentionOp op, KernelBuilder &k,
                        const simt::DeviceFeatures &device);
void emitBlockAttention(AttentionTangentOp op, KernelBuilder &k,
                        const simt::DeviceFeatures &device);
void emitBlockAttention(AttentionAdjointOp op, KernelBuilder &k,
                        const simt::DeviceFeatures &device);

// RegisterAttention.cpp, for devices with matrix units; false, with nothing
// emitted: not for these types and heads.
bool emitRegisterAttention(AttentionOp op, KernelBuilder &k,
                           const simt::DeviceFeatures &device);
bool emitRegisterAttention(AttentionAdjointOp op, KernelBuilder &k,
                           const simt::DeviceFeatures &device);

} // namespace hone
