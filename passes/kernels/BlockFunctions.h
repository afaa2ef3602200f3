//===- BlockFunctions.h - Blocks and entries as functions on memory -------===//
//
// The two halves of hone-convert-to-tiles. A block's function takes all the
// memory it touches outside its scratch as arguments, so one function serves
// every layer; an entry's function is the only place that knows the arena.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"
#include "passes/kernels/KernelBuilder.h"
#include "passes/kernels/TargetKernels.h"
#include "passes/module/ParameterTable.h"
#include "passes/module/WeightStorage.h"
#include "passes/place/OffsetTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace hone {

/// The arguments of a block's function after rows and scratch: arguments,
/// parameters (each as its stored tensors), inputs, caches, results, gradients,
/// and the hashes (i64) of random streams that ops draw from; each in order of
/// first use.
struct BlockInterface {
  llvm::MapVector<llvm::StringRef, ParameterOp> parameters;
  llvm::MapVector<llvm::StringRef, InputOp> inputs;
  llvm::MapVector<llvm::StringRef, CacheOp> caches;
  llvm::MapVector<llvm::StringRef, GradientOp> gradients;
  llvm::SmallVector<RandomSource> random;
};

struct TileOptions {
  KernelSettings settings;
  int64_t maxRows;
  const OffsetTable &offsets;
  const TargetKernels *kernels = nullptr; ///< null: none
};

BlockInterface describeBlock(BlockOp block);

/// Creates the function of `block` beside it. Fails with a diagnostic at an op
/// that has no kernel or no memory.
mlir::LogicalResult createBlockFunction(BlockOp block,
                                        const BlockInterface &interface,
                                        const TileOptions &options);

/// The functions of updates and the like, by kind of op and function type, on
/// which alone their bodies depend.
using SharedFunctions =
    llvm::DenseMap<std::pair<mlir::OperationName, mlir::Type>,
                   mlir::func::FuncOp>;

/// Creates the function `hone_entry_<name>`, with the attribute `tile.entry`,
/// beside `entry`. `interfaces` is by block name; `shared` grows by the
/// functions that no other entry of the module has made yet.
mlir::LogicalResult
createEntryFunction(EntryOp entry, const ParameterTable &table,
                    const llvm::StringMap<BlockInterface> &interfaces,
                    SharedFunctions &shared, const TileOptions &options);

/// The function that runs an entry, and the one that runs a function of
/// scalars.
inline std::string entryFunctionName(llvm::StringRef entry) {
  return ("hone_entry_" + entry).str();
}
inline std::string scalarEntryName(llvm::StringRef function) {
  return ("hone_" + function).str();
}

/// Creates the function scalarEntryName, with the attributes `tile.entry` and
/// `tile.host`, if it is not there yet.
void createScalarEntry(ScalarOp op);

/// Memory of a tensor: the row count becomes the most rows there may be.
mlir::MemRefType bufferType(mlir::Type type, int64_t maxRows);

/// The value at a constant offset from `base`: a buffer or memory.
mlir::Value viewAt(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value base, int64_t offset, mlir::Type type);

/// `bytes` after an offset that placement chose, as an index.
mlir::Value offsetOf(mlir::OpBuilder &builder, mlir::Location loc,
                     const OffsetTable &offsets, const PlacedOffset &offset,
                     int64_t bytes = 0);
/// A view of the memory from `base` on.
mlir::Value viewAt(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value base, const OffsetTable &offsets,
                   const PlacedOffset &offset, mlir::Type type,
                   int64_t bytes = 0);
/// A view of the slot, with no more bytes than it has in a placement.
mlir::Value viewAt(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value base, const OffsetTable &offsets, SlotAttr slot,
                   mlir::Type type);

} // namespace hone
