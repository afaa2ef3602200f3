//===- LossRows.h - Rows that have a target, by tiles of the head ---------===//
//
// The loss and its derivatives share these; see LossRows.cpp.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/kernels/Kernels.h"
#include "passes/kernels/LossKernels.h"

#include "dialects/Hone/Sizes.h"

#include "mlir/IR/TypeUtilities.h"

namespace hone::loss {

/// The buffers that the loss and its tangent share. "Packed" counts only the
/// rows that have a target.
struct LossBuffers {
  mlir::Value x, weight, targets;
  mlir::Value total;        ///< the sum of `terms`
  mlir::Value logits;       ///< of one tile; [packed rows, tile]
  mlir::Value scores;       ///< as takeTile leaves them; may be narrower
  mlir::Value packedX;      ///< [packed rows, hidden]
  mlir::Value rowOf;        ///< the row of each packed row; last, their count
  mlir::Value maxima;       ///< of the logits so far
  mlir::Value sums;         ///< of exp(logit - maximum), without the target's
  mlir::Value targetLogits; ///< of each packed row
  mlir::Value terms;        ///< the result of each packed row
  mlir::Type element;       ///< that logits are computed in
  int64_t hidden, vocabulary;
  int64_t part; ///< entries of the vocabulary of one sum of dx
  RoundedLoss rounded;
  double smoothing; ///< of labels; 0: none
};

/// Entries [first, first + width) of the vocabulary.
struct VocabularyTile {
  mlir::Value first;
  int64_t width;
};

template <typename LossLike>
LossBuffers lossBuffers(LossLike op, KernelBuilder &k, mlir::Value total) {
  auto weight = llvm::cast<mlir::RankedTensorType>(op.getWeight().getType());
  LossBuffers in;
  in.x = k.buffer(op.getX());
  in.weight = k.buffer(op.getWeight());
  in.targets = k.buffer(op.getTargets());
  in.total = k.buffer(total);
  unsigned next = 0;
  for (mlir::Value *buffer : {&in.logits, &in.packedX, &in.rowOf, &in.maxima,
                              &in.sums, &in.targetLogits, &in.terms})
    *buffer = k.workspace(op, next++);
  in.scores = in.logits;
  in.part = lossPartColumns(op);
  in.element = computeType(mlir::getElementTypeOrSelf(op.getX().getType()));
  in.hidden = weight.getDimSize(1);
  in.vocabulary = weight.getDimSize(0);
  in.smoothing = op.getSmoothing() ? op.getSmoothing()->convertToDouble() : 0.0;
  return in;
}

/// Fills `rowOf`: a row's place is the number of rows before it that have a
/// target.
void packRows(KernelBuilder &k, const LossBuffers &in);

/// How many rows are packed: after the batch's, since a placement for fewer
/// rows has no more of the buffer.
mlir::Value packedCount(KernelBuilder &k, const LossBuffers &in);

/// Runs the body for each packed row, in parallel.
void forEachPacked(
    KernelBuilder &k, const LossBuffers &in,
    llvm::ArrayRef<mlir::MemRefType> scratch,
    llvm::function_ref<void(mlir::Value, mlir::ValueRange)> body);

/// Runs the body for each tile of products with as many rows as are packed, if
/// there are any. `mostRows`, `mostColumns`: of a tile; 0: any.
void forEachPackedTile(
    KernelBuilder &k, const LossBuffers &in, int64_t columns, int64_t terms,
    int64_t mostRows, int64_t mostColumns,
    llvm::function_ref<void(const KernelBuilder::Tile &)> body);

/// to[i] = from[rowOf[i]] for packed row `i`.
void packRow(KernelBuilder &k, const LossBuffers &in, mlir::Value from,
             mlir::Value to, mlir::Value i);

/// to[row] = from[place of row] for rows that have one; the others become zero.
void unpackRows(KernelBuilder &k, const LossBuffers &in, mlir::Value from,
                mlir::Value to);

/// total = the first `count` of `terms`, in order; `count` is emitted inside.
void sumInOrder(KernelBuilder &k, mlir::Value total, mlir::Value terms,
                llvm::function_ref<mlir::Value()> count);

void forEachVocabularyTile(
    KernelBuilder &k, const LossBuffers &in, bool streamed,
    llvm::function_ref<void(const VocabularyTile &)> emitTile);

/// logits (+)= x W^T for one tile.
void emitLogits(KernelBuilder &k, const LossBuffers &in,
                const VocabularyTile &vocabulary, mlir::Value x,
                mlir::Value weight, mlir::Value logits,
                bool accumulate = false);

/// sums[i] += the elements of `from` for packed row `i`, over one tile.
void addTile(KernelBuilder &k, const LossBuffers &in,
             const VocabularyTile &vocabulary, mlir::Value sums,
             mlir::Value from, mlir::Value i);

/// smoothing * (ofTarget - ofAll / vocabulary), in double: smoothed labels add
/// it to a row's result.
mlir::Value smoothed(KernelBuilder &k, const LossBuffers &in,
                     mlir::Value ofTarget, mlir::Value ofAll);

/// Packs row `i` of x, which has no logits yet.
void startRow(KernelBuilder &k, const LossBuffers &in, mlir::Value i);

/// Takes the logits of one tile into the maximum and the sum of packed row `i`
/// and leaves exp(logit - maximum) in their place, zero for the target's.
/// `rescale` multiplies all else that was summed with the old maximum by its
/// argument; `takeTarget` sees where in the tile the target is, if it is. `own`
/// may be null: private memory for a row of the tile, without which scores may
/// not take the place of logits.
void takeTile(
    KernelBuilder &k, const LossBuffers &in, const VocabularyTile &vocabulary,
    mlir::Value i, mlir::Value own,
    llvm::function_ref<void(mlir::Value factor)> rescale,
    llvm::function_ref<void(mlir::Value column)> takeTarget = nullptr);

/// The sum of packed row `i` with the target's term.
mlir::Value wholeSum(KernelBuilder &k, const LossBuffers &in, mlir::Value i);

} // namespace hone::loss
