//===- StagedSide.h - One side of a product in shared memory --------------===//
//
// Terms go through shared memory a stage at a time. Several stages are there at
// once where copies can be in flight: a stage is multiplied while those after
// it arrive.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/gpu/TeamBuilder.h"

#include "dialects/Tile/TileDialect.h"

namespace hone::simt {

/// Stages in shared memory, at most.
inline constexpr int64_t kStagesInFlight = 4;
/// Stages of a side that is converted late: one is multiplied while the next
/// one is made, and copies of two more are on the way while one's are read.
inline constexpr int64_t kLateStages = 2, kLateCopies = kStagesInFlight - 1;
/// Bytes of a place's terms of a stage, whatever their type.
inline constexpr int64_t kStageBytes = 64;
/// Bytes that a thread copies at once, and the padding that keeps rows in
/// different banks.
inline constexpr int64_t kChunkBytes = 16;

/// Shared bytes of a stage of `places` rows or columns, at most.
int64_t stageBytes(int64_t places);

class StagedSide {
public:
  enum Which { Left, Right };

  /// The side of `op` with `places` in a tile, `terms` of a stage and elements
  /// of `type`. `group`: how many neighbouring places a thread has, or two;
  /// none: a matrix unit reads it, in rows of whole chunks.
  StagedSide(tile::ProductOp op, Which which, int64_t places, mlir::Type type,
             std::optional<int64_t> group, int64_t terms, TeamBuilder &b);

  /// Terms of a stage whose sides have no wider type.
  static int64_t termsOf(mlir::Type type) {
    return kStageBytes * 8 / type.getIntOrFloatBitWidth();
  }
  /// The type in which a side is staged that is multiplied as `element`:
  /// narrower numbers as they are stored, if copies bring them, since widening
  /// them is exact.
  static mlir::Type typeFor(tile::ProductOp op, Which which, int64_t places,
                            mlir::Type element, const DeviceFeatures &device);
  /// Whether copies of it can be in flight.
  bool isInFlight() const { return way == Way::InFlight; }
  /// Whether a converted side can be in flight too, as it is stored: each
  /// thread converts its own copies, when they are there.
  bool canConvertLate() const {
    return way == Way::Converted && type.isBF16() &&
           sourceType().getElementType().isF32();
  }
  /// From now on it is, or not. Of more than one stage at a time.
  void convertLate(bool late) { isLate = late; }
  bool isConvertedLate() const { return isLate; }
  /// Whether all chunks of the tile that begins at `place` are whole if `end`
  /// terms are; null: that is not worth code of its own.
  mlir::Value isWhole(mlir::Value place, mlir::Value end);
  /// From now on all chunks are whole, or each of them is asked.
  void assumeWhole(bool whole) { areAllWhole = whole; }
  /// Bytes of shared memory for so many stages.
  int64_t bytes(int64_t stages) const;
  /// Its stages are in shared memory from byte `offset` of `memory` on, and its
  /// first place is `place` of the op's.
  void begin(mlir::Value memory, mlir::Value offset, int64_t stages,
             mlir::Value place);
  /// Brings the terms from `t` on into stage `slot`; terms outside [0, end) are
  /// `padding`. Copies in flight are the thread's own to wait for.
  void bring(mlir::Value slot, mlir::Value t, mlir::Value end, double padding);
  /// Of a side that is converted late: makes the stage of the terms from `t` on
  /// out of the thread's own copies, which are there.
  void settle(mlir::Value slot, mlir::Value t, mlir::Value end, double padding);
  /// Where the element of a term and a place of a stage is in `stages`.
  llvm::SmallVector<mlir::Value> indices(mlir::Value slot, mlir::Value term,
                                         mlir::Value place);

  /// Stage `slot` from `place` on: element [t, i] is term t of the place i
  /// further on. It is for places that are neighbours in memory.
  mlir::Value from(mlir::Value slot, mlir::Value place);

  /// Terms are neighbours in memory, here and there.
  const bool isAlongTerms;
  mlir::Value stages;

private:
  using Value = mlir::Value;

  enum class Way {
    InFlight,  ///< 16 bytes at a time, from the device's memory as they are
    Converted, ///< as many numbers of another type as 16 bytes hold
    Packed,    ///< numbers of four or eight bits, as many as 16 bytes hold
    Single,    ///< number by number
  };

  Way wayOf();
  int64_t chunk() const {
    return kChunkBytes * 8 / type.getIntOrFloatBitWidth();
  }
  mlir::MemRefType memoryType(int64_t stages) const;
  /// Of copies that are converted late, half a chunk each.
  mlir::MemRefType copiesType() const;
  mlir::TypedValue<mlir::MemRefType> source() {
    return which == Left ? op.getA() : op.getW();
  }
  mlir::MemRefType sourceType() const;
  /// Where a stage is among those that there are.
  Value slotOf(Value slot) {
    return isLate ? b.rem(slot, b.index(kLateStages)) : slot;
  }
  Value count() { return which == Left ? op.getM() : op.getN(); }
  /// Where element `inner` of row `outer` is: see StagedSide.cpp.
  llvm::SmallVector<Value> inLines(Value slot, Value outer, Value inner);
  /// Whether whole tiles have a loop of their own.
  bool hasOwnLoop() const {
    return !group && !isOnlyStage && (way == Way::InFlight || isLate);
  }
  /// Row and column of the source.
  std::pair<Value, Value> sourceAt(Value term, Value place);
  /// A number as it is staged.
  Value staged(Value number);
  /// Whether chunks of the source begin where 16 bytes, or whole bytes and
  /// groups of packed numbers, do.
  Value beginsChunks();
  /// A chunk of a stage: its first term and place, whether it is whole, and
  /// whether nothing of it is there; null: it always, or never, is.
  struct Chunk {
    Value number, term, place, isWhole, isBeyond;
  };
  /// Runs the body for the thread's chunks of a stage.
  void forEachChunk(Value t, Value end,
                    llvm::function_ref<void(const Chunk &)> body);
  /// Brings a chunk that is not whole, number by number.
  void bringNumbers(Value slot, Value t, const Chunk &chunk, Value end,
                    double padding);
  /// Stores a whole chunk that `load` has read, or the terms of a partial one.
  void putChunk(Value slot, Value t, const Chunk &chunk, Value end,
                double padding,
                llvm::function_ref<llvm::SmallVector<Value>()> load);
  /// A chunk as it is staged.
  llvm::SmallVector<Value> loadChunk(Value t, const Chunk &chunk);
  /// Copies a chunk that is converted late.
  void copyChunk(Value t, const Chunk &chunk);
  /// Row and column of a chunk's first number in the source.
  std::pair<Value, Value> chunkAt(Value t, Value term, Value place);
  /// Where half `half` of a chunk's copy is.
  llvm::SmallVector<Value> copyAt(Value t, Value number, int64_t half);
  /// One number, or a chunk whose first one it is; `t` is the stage's.
  void bringNumber(Value slot, Value t, Value term, Value place, Value end,
                   double padding);
  void bringChunk(Value slot, Value t, Value term, Value place);
  /// Fills a chunk that is beyond the last term or place.
  void fillChunk(Value slot, Value term, Value place, double padding);
  /// Stores a chunk's numbers side by side.
  void storeChunk(llvm::ArrayRef<Value> numbers,
                  llvm::SmallVector<Value> indices);

  tile::ProductOp op;
  const Which which;
  const int64_t places;
  const std::optional<int64_t> group;
  const int64_t terms;
  const mlir::Type type;
  TeamBuilder &b;
  const Way way;
  bool isLate = false, isOnlyStage = false, areAllWhole = false;
  Value copies;         ///< of a side that is converted late
  Value memory, begins; ///< where stages are, and from which byte on
  Value first, hasChunks;
};

} // namespace hone::simt
