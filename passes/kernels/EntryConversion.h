//===- EntryConversion.h - An entry as the function the runtime calls -----===//
//
// Resolves every name to a place: regions to offsets in the arena, inputs to
// the batch, slots to the working set, boundary values to the caller's memory,
// and parameters by the calling layer's prefix to a weight or a slice of theta.
//
// EntryFunctions.cpp has calls and the values that they take, EntryVectors.cpp
// the ops that read and write vectors of all trainable elements.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/kernels/BlockFunctions.h"
#include "passes/kernels/Kernels.h"
#include "passes/module/OptimizerState.h"

#include "llvm/ADT/StringMap.h"

namespace hone {

/// Converts one entry to a function with the attribute `tile.entry`.
class EntryConversion {
public:
  EntryConversion(EntryOp entry, const ParameterTable &table,
                  const llvm::StringMap<BlockInterface> &interfaces,
                  SharedFunctions &shared, const TileOptions &options)
      : entry(entry), module(entry->getParentOfType<mlir::ModuleOp>()),
        table(table), state(module, table), interfaces(interfaces),
        shared(shared), settings(options.settings), offsets(options.offsets),
        maxRows(options.maxRows), builder(entry) {}

  mlir::LogicalResult run();

private:
  mlir::FailureOr<PlacedOffset> regionOffset(mlir::Operation *op,
                                             const llvm::Twine &name);
  /// A view of a region of `base`, from its element `element` on.
  mlir::FailureOr<mlir::Value> region(mlir::Operation *op, mlir::Value base,
                                      const llvm::Twine &name,
                                      mlir::MemRefType type,
                                      int64_t element = 0);
  mlir::FailureOr<mlir::Value> region(mlir::Operation *op,
                                      const llvm::Twine &name,
                                      mlir::MemRefType type,
                                      int64_t element = 0) {
    return region(op, arena, name, type, element);
  }
  /// Boundary value `index` of the entry: its arguments, then its results.
  mlir::Value boundary(unsigned index, mlir::Type type);
  /// Where `result` of `op`, whose place is `attr`, is written.
  mlir::FailureOr<mlir::Value>
  placeOf(mlir::Operation *op, mlir::OpResult result, mlir::Attribute attr);
  /// Where the only result of `op` is written.
  mlir::FailureOr<mlir::Value> placeOf(mlir::Operation *op) {
    auto slots =
        op->getAttrOfType<mlir::ArrayAttr>(HoneDialect::getSlotsAttrName());
    return placeOf(op, op->getResult(0), slots ? slots[0] : mlir::Attribute());
  }
  /// Appends the views of the tensors that a parameter is stored in.
  void appendFrozen(mlir::Operation *op, const Parameter &parameter,
                    llvm::SmallVectorImpl<mlir::Value> &arguments);
  mlir::LogicalResult
  appendParameter(CallOp call, ParameterOp op,
                  llvm::SmallVectorImpl<mlir::Value> &arguments);
  mlir::FailureOr<mlir::Value> gradient(CallOp call, llvm::StringRef name,
                                        mlir::Type type);
  /// The offset in the arena of the slice for the layer of `window`, in the
  /// gradient of all parameters.
  mlir::FailureOr<mlir::Value> sliceOfLayer(LayerGradientOp window);
  /// One of the entry's arguments: a number, or element `element` of several.
  mlir::Value numberOf(mlir::Location loc, mlir::Value numbers,
                       std::optional<int64_t> element);
  /// Whether that number is not zero.
  mlir::Value isTrue(mlir::Location loc, mlir::Value condition,
                     std::optional<int64_t> element = std::nullopt);
  /// Emits `body` to run if that is so, and `otherwise` to run if not; without
  /// a condition, `body` alone.
  void emitWhen(mlir::Location loc, mlir::Value condition,
                std::optional<int64_t> element, llvm::function_ref<void()> body,
                llvm::function_ref<void()> otherwise = nullptr);
  /// The arguments with which `call`, whose results have their places, runs the
  /// function of `block` with `scratch`.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  argumentsOf(CallOp call, llvm::StringRef block, mlir::Value scratch);
  /// The slot of `pool` whose number is element `index` of `slots`.
  mlir::Value slotOf(mlir::Location loc, mlir::Value pool, mlir::Value slots,
                     int64_t index);
  mlir::LogicalResult convert(LayerGradientOp op);
  mlir::LogicalResult convert(FoldGradientOp op);
  mlir::LogicalResult convert(PoolOp op);
  mlir::LogicalResult convert(KeepOp op);
  mlir::LogicalResult convert(KeptOp op);
  mlir::LogicalResult convert(ElementOp op);
  mlir::LogicalResult convert(OffloadOp op);
  mlir::LogicalResult convert(ReloadOp op);
  mlir::LogicalResult convert(AwaitOp op);
  mlir::LogicalResult convert(CallOp call);
  mlir::LogicalResult convert(ZeroGradientOp op);
  mlir::LogicalResult convert(ZeroStateOp op);
  mlir::LogicalResult convert(GradientSquaresOp op);
  mlir::LogicalResult convert(ParameterSquaresOp op);
  mlir::LogicalResult convert(EstimateGradientOp op);
  /// The slice that `layers` of `op` name.
  mlir::FailureOr<ThetaSlice> sliceOf(mlir::Operation *op,
                                      mlir::ArrayAttr layers);
  /// A view of the optimizer's state of `slice`.
  mlir::FailureOr<mlir::Value>
  stateOf(mlir::Operation *op, const StateSlot &slot, const ThetaSlice &slice);
  /// A constant that a function of `op` takes.
  mlir::Value tableOf(mlir::Operation *op, llvm::StringRef name,
                      mlir::DenseElementsAttr values);
  /// Emits the tile op of the same name for each tensor that the call reads.
  template <typename TileOp, typename ResidencyOp>
  mlir::LogicalResult convertResidency(ResidencyOp op);
  mlir::LogicalResult convert(UpdateOpInterface op);
  /// The sums of squares of a vector, into the result of `op`.
  template <typename SquaresOp>
  mlir::LogicalResult convertSquares(SquaresOp op, llvm::StringRef vector,
                                     mlir::Type element);
  /// Calls a function of rows and `arguments` that computes `op`. Its body
  /// depends on the kind of `op` and the arguments' types alone. The first call
  /// makes it and names it after `name`: equal layers share one, as they share
  /// blocks.
  void callShared(
      mlir::Operation *op, llvm::StringRef name,
      llvm::ArrayRef<mlir::Value> arguments,
      llvm::function_ref<void(KernelBuilder &, Buffers &, mlir::ValueRange)>
          emitBody);

  EntryOp entry;
  mlir::ModuleOp module;
  const ParameterTable &table;
  const OptimizerState state;
  const llvm::StringMap<BlockInterface> &interfaces;
  SharedFunctions &shared;
  const KernelSettings &settings;
  const OffsetTable &offsets;
  int64_t maxRows;
  mlir::OpBuilder builder;
  Buffers buffers;
  /// Prefix of a layer to where its gradients are, until its update.
  llvm::StringMap<mlir::Value> layerGradients;
  mlir::Value arena, batch, work, rows;
};

} // namespace hone
