//===- TileProduct.h - A workgroup's tile of a tile.product ---------------===//
//
// See TileProduct.cpp, and TileResult.cpp for the sums that it leaves.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/gpu/GpuDialect.h"
#include "targets/gpu/Neighbours.h"
#include "targets/gpu/ProductLowering.h"
#include "targets/gpu/RowSums.h"
#include "targets/gpu/StagedSide.h"
#include "targets/gpu/SubgroupProducts.h"
#include "targets/gpu/TileShape.h"

namespace hone::simt {

/// Whether products of `op` are a matrix unit's.
bool usesMatrixUnits(tile::ProductOp op, const DeviceFeatures &device);

/// A tile.product, or one of several on one `c`, in code of a team.
class TileProduct {
public:
  /// Code goes before `op`, or to `place`. `most`: stages in shared memory.
  TileProduct(tile::ProductOp op, const TileShape &shape, const Team &team,
              mlir::OpBuilder::InsertPoint place = {},
              int64_t most = kStagesInFlight);

  /// body(i, j) for each tile of the result, from row and column `i`, `j` of
  /// the op on.
  void forEachTile(llvm::function_ref<void(mlir::Value, mlir::Value)> body);
  /// The numbers of `c`, or zeros if the product does not ask for them.
  llvm::SmallVector<mlir::Value> before(mlir::Value i, mlir::Value j);
  /// The sums of a tile with this product; `had` are the sums before.
  llvm::SmallVector<mlir::Value> addTo(mlir::Value i, mlir::Value j,
                                       mlir::ValueRange had);
  /// Stores them.
  void finish(mlir::Value i, mlir::Value j, mlir::ValueRange sums);
  /// addTo() for the only tile, with blocks of terms over subgroups.
  llvm::SmallVector<mlir::Value> addSplit(const BlockSplit &split,
                                          mlir::ValueRange had);
  /// The same with terms over subgroups, on matrix units.
  llvm::SmallVector<mlir::Value> addThin(const ThinTile &tile,
                                         mlir::ValueRange had);
  /// The same with rows of the batch over subgroups.
  llvm::SmallVector<mlir::Value> addRowSums(const RowSums &tile,
                                            mlir::ValueRange had);

private:
  using Value = mlir::Value;

  /// addTo() on matrix units, and in the blocks of terms that the op says.
  llvm::SmallVector<Value> addMatrices(Value i, Value j, mlir::ValueRange had);
  llvm::SmallVector<Value> addBlocks(mlir::ValueRange had);
  /// The same with copies that stay in flight from block to block.
  llvm::SmallVector<Value> addBlocksInFlight(mlir::ValueRange had);

  int64_t sums() const { return shape.rowsEach() * shape.columnsEach(); }
  bool multipliesMatrices() const { return isByMatrices; }
  mlir::Type stagedType(StagedSide::Which which, int64_t places) {
    return isByMatrices ? mlir::Type(b.getBF16Type())
                        : StagedSide::typeFor(op, which, places, element,
                                              b.team.state.device);
  }
  /// Whether there is something to do while copies are in flight.
  bool isLong();
  /// The most of `most` stages with which two workgroups have room, or one with
  /// a wide tile, if this kernel is one that should have them.
  int64_t stagesOf(int64_t most);
  llvm::SmallVector<Value> zeros() {
    return llvm::SmallVector<Value>(sums(), b.real(element, 0.0));
  }
  /// The last of [0, count) that is not beyond `i`.
  Value within(Value i, Value count) {
    return b.min(i, b.sub(count, b.index(1)));
  }
  void forEachSum(llvm::function_ref<void(unsigned, Value, Value)> body);
  /// Sums of a lane that lie side by side, from `row` and `column` of the tile.
  struct RowPiece {
    Value row, column;
    llvm::SmallVector<Value> sums;
  };
  /// A lane's sums after each four lanes have exchanged theirs, which a matrix
  /// unit leaves in pairs: each has kMatrixColumns neighbours or, after two
  /// have, half as many.
  llvm::SmallVector<RowPiece> rowPieces(mlir::ValueRange sums, int64_t columns);
  /// Neighbours of a piece: two of float32, stored by 16 bytes each, would
  /// leave half of each sector of memory to another instruction.
  int64_t pieceColumns();
  bool hasRowPieces() const;
  /// Whether all of a tile is inside and begins accesses where it is stored and
  /// where the epilogue reads along. Null: it never does.
  Value storesPieces(Value i, Value j, bool allColumns,
                     NeighbourBody *epilogue);
  void finishPieces(Value i, Value j, mlir::ValueRange sums,
                    NeighbourBody *epilogue);
  /// One by one; of a whole tile, unless pieces of those are stored, several
  /// epilogues before the first store.
  void finishSums(Value i, Value j, mlir::ValueRange sums, bool allColumns,
                  bool storesWholePieces);
  void finishWholeTile(Value i, Value j, mlir::ValueRange sums);
  /// `sum` after the epilogue.
  Value complete(Value sum, Value row, Value column);
  void store(Value sum, Value row, Value column);
  /// Whether all of a tile is inside of the result; of its columns nothing is
  /// asked if there is room for all.
  Value isWhole(Value i, Value j, bool allColumns = false);
  /// The buffer that sums are stored to, and where in it.
  std::pair<Value, llvm::SmallVector<Value>> target(Value row, Value column);
  /// The sums `old` with those of the next block of terms.
  llvm::SmallVector<Value> joined(mlir::ValueRange old, mlir::ValueRange sums,
                                  Value isFirst);
  /// The same with `count` parts in their order, each [rows, columns]; the
  /// first of all parts is number `begin`.
  llvm::SmallVector<Value> joinParts(Value parts, Value count, int64_t rows,
                                     int64_t columns, mlir::ValueRange had,
                                     Value begin);
  /// Adds the numbers that `store(memory, parts)` leaves of each subgroup in
  /// `parts`: so many rows, one every `stride` elements, in `bytes` of
  /// `memory`.
  llvm::SmallVector<Value>
  addParts(int64_t rows, int64_t stride, int64_t bytes, mlir::ValueRange had,
           llvm::function_ref<void(Value, Value)> store);
  /// Code of the team waits for its threads.
  void barrier();
  /// Stages of both sides begin at `offset` of `memory`.
  void begin(Value memory, Value offset, Value i, Value j);
  int64_t stagesBytes() const {
    return left.bytes(stages) + right.bytes(stages);
  }
  /// Carries `values` through the stages of the terms in [from, to), which are
  /// there when body(slot, t, values) multiplies them.
  llvm::SmallVector<Value>
  forEachStage(Value from, Value to, mlir::ValueRange values,
               llvm::function_ref<llvm::SmallVector<Value>(Value, Value,
                                                           mlir::ValueRange)>
                   body);
  /// The same from the first of `count` terms on, with copies in flight. If all
  /// of them are whole stages of a whole tile, no chunk is asked whether it is.
  llvm::SmallVector<Value> forEachStageAhead(
      bool areWhole, Value count, mlir::ValueRange values,
      llvm::function_ref<llvm::SmallVector<Value>(Value, Value,
                                                  mlir::ValueRange)>
          body);
  // Slots are carried as numbers of 32 bits, which take one register.
  Value slotNumber(int64_t slot);
  /// The slot `distance` after `slot`, in turn.
  Value slotAfter(Value slot, int64_t distance = 1);
  Value slotIndex(Value slot);
  /// sums + the terms of a stage.
  llvm::SmallVector<Value> multiply(Value slot, mlir::ValueRange sums);
  llvm::SmallVector<Value> multiplyMatrices(Value slot, mlir::ValueRange sums);
  /// `goesOn`: its products may be under way when the next stage's begin.
  llvm::SmallVector<Value> multiplyGroup(Value slot, mlir::ValueRange sums,
                                         bool goesOn);
  /// Whether four subgroups multiply a stage together.
  bool isByGroups() const {
    return isByMatrices && shape.isByGroups() && left.isAlongTerms &&
           terms == MultiplyGroupOp::kRow;
  }
  /// Stages that are still multiplied while the next one is begun, if copies
  /// are in flight: no other workgroup keeps the units of a wide tile's busy.
  int64_t stagesUnderWay() const {
    constexpr int64_t kFewestStages = 4;
    return isByGroups() && shape.isWide() && stages >= kFewestStages;
  }
  /// Row and column where a tile's part of this subgroup begins.
  std::pair<Value, Value> subgroupBegin();

  tile::ProductOp op;
  const TileShape shape;

public:
  TeamBuilder b;

private:
  const mlir::Type element;
  const bool isByMatrices;
  const mlir::Type leftType, rightType; ///< that they are staged as
  /// Times the terms that 64 bytes of a place hold: stages of a weight on
  /// matrix units have two, which are lines of the device's memory, or four
  /// where a tile is so small that a barrier costs as much as its products.
  const int64_t widening;
  const int64_t terms; ///< of a stage
  StagedSide left, right;
  const bool hasCopies;
  const int64_t stages;
  llvm::SmallVector<Value> rowsOf, columnsOf; ///< of this thread, in a tile
  llvm::SmallVector<int64_t> rowOffsets, columnOffsets; ///< from its first ones
};

} // namespace hone::simt
