//===- ProductLowering.h - tile.product on a workgroup --------------------===//

#pragma once

#include "targets/gpu/GpuDialect.h"
#include "targets/gpu/TeamBuilder.h"

namespace hone::simt {

/// Emits code for `op` before it; `team` is a workgroup.
void lowerProduct(tile::ProductOp op, const Team &team);

/// An upper bound of `value`, if one can be seen.
std::optional<int64_t> upperBound(mlir::Value value);

/// Whether both sides of `op` are bfloat16 in memory, so that a matrix unit
/// reads them as they are.
bool areBFloat16(tile::ProductOp op);

/// Shared bytes of a product with a result of up to `rows` x `columns`, without
/// matrix units or with short stages: four of 64 x 64 are 36 KiB. Long stages
/// of matrix units are twice as long, and take 64 KiB.
int64_t productBytes(int64_t rows, int64_t columns,
                     const DeviceFeatures &device);

/// Workgroups of `kernel` that a multiprocessor should have at a time: two, or
/// three if all that it does is products of small tiles on matrix units, or one
/// if it has a wide tile, or the cotangents of wide keys and two would spill
/// registers, as they always would with groups.
int64_t workgroupsAtOnce(mlir::gpu::GPUFuncOp kernel,
                         const DeviceFeatures &device);

/// Replaces `chain` by code of its own; `distribute` does that for its other
/// ops.
mlir::LogicalResult lowerChain(
    ChainOp chain, const Team &team,
    llvm::function_ref<mlir::LogicalResult(mlir::Operation *)> distribute);

/// c + a b of one matrix unit: 16 rows and 8 columns, 16 terms.
llvm::SmallVector<mlir::Value> multiplyOnce(TeamBuilder &b,
                                            llvm::ArrayRef<mlir::Value> as,
                                            llvm::ArrayRef<mlir::Value> ws,
                                            llvm::ArrayRef<mlir::Value> before);

/// Makes a thread's writes to shared memory visible, after a barrier that
/// follows, to the unit of a group, which reads that memory by itself.
void fenceForGroups(TeamBuilder &b);

/// Whether the result of `op` is surely one tile, and not computed tile by
/// tile.
bool isOneTile(tile::ProductOp op);

} // namespace hone::simt
