//===- LossKernels.cpp - Output head and cross-entropy by tiles -----------===//
//
// See LossRows.cpp. Smoothed labels take a share of the target's weight to all
// words alike, so they add terms of sums over the whole vocabulary: of logits,
// of their tangents (LossDerivatives.cpp), and of the head's rows.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/LossRows.h"

#include "dialects/Hone/Numerics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace hone;
using namespace hone::loss;

/// dx += e W, where e is one tile as takeTile left it. Each part of the tile
/// has a dx of its own after the other's. With `headSum`, that += the head's
/// rows, as a product with as many `ones`: each piece of the head while it is
/// near.
static void addInputAdjoint(KernelBuilder &k, const LossBuffers &in,
                            const VocabularyTile &vocabulary, Value dx,
                            Value headSum, Value ones) {
  const int64_t part = std::min(in.part, vocabulary.width);
  const int64_t parts = llvm::divideCeil(vocabulary.width, part);
  int64_t block = k.blockColumns(in.element);
  if (in.rounded.dxColumns)
    block = std::min(block, in.rounded.dxColumns);
  // No tile of a product has columns of two parts.
  const int64_t columns =
      parts == 1 ? in.hidden : int64_t(llvm::alignTo(in.hidden, block)) * parts;
  forEachPackedTile(
      k, in, columns, numerics::dotBlock(part), in.rounded.dxRows,
      in.rounded.dxColumns, [&](const KernelBuilder::Tile &whole) {
        Value zero = k.index(0), first = zero, last = k.index(vocabulary.width);
        Value offset = zero;
        KernelBuilder::Tile tile = whole;
        if (parts > 1) {
          Value number = k.div(whole.column, k.index(columns / parts));
          tile.column = k.rem(whole.column, k.index(columns / parts));
          if (in.hidden % block != 0)
            tile.columns =
                k.min(whole.columns, k.sub(k.index(in.hidden), tile.column));
          first = k.mul(number, k.index(part));
          offset = k.mul(number, k.index(in.hidden));
        }
        Value depth = parts == 1 ? last
                      : vocabulary.width % part == 0
                          ? k.index(part)
                          : k.min(k.index(part), k.sub(last, first));
        KernelBuilder::Product product = k.productFor(
            tile, dx, {in.scores, tile.row, first},
            {in.weight, k.add(vocabulary.first, first), tile.column}, depth);
        product.c.column = k.add(offset, tile.column);
        product.accumulate = true;
        product.readAhead = true;
        k.product(product);
        if (!headSum)
          return;
        Value isFirst =
            arith::CmpIOp::create(k, arith::CmpIPredicate::eq, tile.row, zero);
        if (parts > 1)
          isFirst = arith::AndIOp::create(
              k, isFirst,
              arith::CmpIOp::create(k, arith::CmpIPredicate::eq, first, zero));
        k.when(isFirst, [&] {
          auto addHead = [&](Value from) {
            product.w.row = k.add(vocabulary.first, from);
            product.c = {headSum, zero, tile.column};
            product.a = {ones, zero, zero};
            product.rows = k.index(1);
            product.readAhead = false;
            product.fewRows = true;
            k.product(product);
          };
          for (int64_t i = 0; i < parts; ++i) {
            if (parts > 1)
              product.depth =
                  k.index(std::min(part, vocabulary.width - i * part));
            addHead(k.index(i * part));
          }
        });
      });
}

/// Sets every element of `row`, memref<1 x length>.
static void fillRow(KernelBuilder &k, Value row, double value) {
  auto type = cast<MemRefType>(row.getType());
  Value number = k.real(type.getElementType(), value);
  k.once([&] {
    k.map(k.index(type.getDimSize(1)),
          [&](ValueRange j) { k.store(number, row, {k.index(0), j[0]}); });
  });
}

/// dx = (dxSums - sum * W[target]) / (the sum with the target's term), for
/// packed row `i`, where dx may be dxSums, of which each part of a tile has its
/// own; `part` is one of a row. With smoothed labels also
/// smoothing * (W[target] - headSum / vocabulary). With `streamed`, the pages
/// of the target's weights go at once: rows are far apart.
static void finishInputAdjoint(KernelBuilder &k, const LossBuffers &in,
                               bool streamed, Value dxSums, Value dx,
                               Value whole, Value headSum, Value part,
                               Value i) {
  Type f64 = k.getF64Type();
  Value one = k.real(f64, 1.0);
  Value factor = k.convert(in.element, k.div(one, whole));
  Value pushed = k.div(k.load(in.sums, i), whole);
  if (headSum)
    pushed = k.sub(pushed, k.real(f64, in.smoothing));
  Value others = k.convert(in.element, pushed);
  Value share = k.real(in.element, in.smoothing / double(in.vocabulary));
  Value target = k.loadIndex(in.targets, k.loadIndex(in.rowOf, i));
  int64_t width = cast<MemRefType>(part.getType()).getDimSize(1);
  int64_t sums = cast<MemRefType>(dxSums.getType()).getDimSize(1);
  Value hidden = k.index(in.hidden);
  k.loop(k.index(0), hidden, width, [&](Value first) {
    Value columns = k.min(k.index(width), k.sub(hidden, first));
    k.readRow(part, in.weight, target, first, columns, streamed);
    k.map(columns, [&](ValueRange j) {
      Value column = k.add(first, j[0]);
      Value all = k.load(dxSums, {i, column});
      for (int64_t at = in.hidden; at < sums; at += in.hidden)
        all = k.add(all, k.load(dxSums, {i, k.add(k.index(at), column)}));
      Value pull = k.mul(all, factor);
      Value push = k.mul(k.load(part, {k.index(0), j[0]}), others);
      Value sum = k.sub(pull, push);
      if (headSum)
        sum = k.sub(sum, k.mul(share, k.load(headSum, {k.index(0), column})));
      k.store(sum, dx, {i, column});
    });
  });
}

namespace {

/// The loss, with its adjoint dx if the op has one.
class LossEmitter {
public:
  /// With `roundsScores`, the terms of dx are rounded to bfloat16, as their
  /// product would do, and lie in the place of the logits.
  LossEmitter(LinearCrossEntropyOp op, KernelBuilder &k, bool roundsScores,
              const RoundedLoss &rounded);
  void emit();

private:
  void start(Value i);
  void takeVocabulary(const VocabularyTile &vocabulary);
  void rescale(Value i, Value factor);
  /// `part`: private memory, see finishInputAdjoint.
  void finish(Value i, Value part);

  LinearCrossEntropyOp op;
  KernelBuilder &k;
  const bool roundsScores;
  LossBuffers in;
  Value dx;       ///< null: there is none
  Value dxSums;   ///< of packed rows; [packed rows, columns]
  Value packedDx; ///< dx when it is complete
  Value zero, columns;
  Value logitSums;     ///< of each packed row; null without smoothing
  Value headSum, ones; ///< see addInputAdjoint
};

} // namespace

LossEmitter::LossEmitter(LinearCrossEntropyOp op, KernelBuilder &k,
                         bool roundsScores, const RoundedLoss &rounded)
    : op(op), k(k), roundsScores(roundsScores),
      in(lossBuffers(op, k, op.getLoss())),
      dx(op.getDx() ? k.buffer(op.getDx()) : Value()), dxSums(dx),
      packedDx(in.packedX) {
  in.rounded = rounded;
  // A dx that is narrower than its sums has the packed rows of x until it is
  // complete. The workspace has dx packed at the end, in place of all that it
  // had before.
  auto sums = cast<MemRefType>(in.packedX.getType());
  if (op.sumsApart() || sums.getDimSize(1) > in.hidden)
    std::swap(dxSums, in.packedX);
  if (roundsScores) {
    auto logits = cast<MemRefType>(in.logits.getType());
    auto type = MemRefType::get(
        {logits.getDimSize(0), 2 * logits.getDimSize(1)}, k.getBF16Type());
    in.scores = tile::ViewOp::create(k, type, in.logits, k.index(0));
  }
  zero = k.real(in.element, 0.0);
  columns = k.index(dx ? cast<MemRefType>(dxSums.getType()).getDimSize(1)
                       : in.hidden);
  if (in.smoothing <= 0)
    return;
  logitSums = k.workspace(op, 7);
  if (dx) {
    headSum = k.workspace(op, 8);
    ones = k.workspace(op, 9);
  }
}

void LossEmitter::start(Value i) {
  startRow(k, in, i);
  if (logitSums)
    k.store(k.real(k.getF64Type(), 0.0), logitSums, i);
  if (dx)
    k.map(columns, [&](ValueRange j) { k.store(zero, dxSums, {i, j[0]}); });
}

void LossEmitter::rescale(Value i, Value factor) {
  if (dx)
    k.map(columns, [&](ValueRange j) {
      Value sum = k.load(dxSums, {i, j[0]});
      k.store(k.mul(sum, factor), dxSums, {i, j[0]});
    });
}

void LossEmitter::takeVocabulary(const VocabularyTile &vocabulary) {
  emitLogits(k, in, vocabulary, in.packedX, in.weight, in.logits);
  SmallVector<MemRefType, 1> scratch;
  if (roundsScores)
    scratch.push_back(MemRefType::get({1, vocabulary.width}, in.element));
  forEachPacked(k, in, scratch, [&](Value i, ValueRange own) {
    if (logitSums)
      addTile(k, in, vocabulary, logitSums, in.logits, i);
    takeTile(k, in, vocabulary, i, own.empty() ? Value() : own[0],
             [&](Value factor) { rescale(i, factor); });
  });
  if (dx)
    addInputAdjoint(k, in, vocabulary, dxSums, headSum, ones);
}

void LossEmitter::finish(Value i, Value part) {
  Value whole = wholeSum(k, in, i);
  Value distance = k.sub(k.load(in.maxima, i), k.load(in.targetLogits, i));
  Value loss = k.add(distance, math::LogOp::create(k, whole));
  if (logitSums)
    loss = k.add(loss, smoothed(k, in, k.load(in.targetLogits, i),
                                k.load(logitSums, i)));
  k.store(loss, in.terms, i);
  if (dx)
    finishInputAdjoint(k, in, op.getStreamed(), dxSums, packedDx, whole,
                       headSum, part, i);
}

void LossEmitter::emit() {
  packRows(k, in);
  forEachPacked(k, in, {}, [&](Value i, ValueRange) { start(i); });
  if (headSum) {
    fillRow(k, headSum, 0.0);
    fillRow(k, ones, 1.0);
  }
  forEachVocabularyTile(
      k, in, op.getStreamed(),
      [&](const VocabularyTile &vocabulary) { takeVocabulary(vocabulary); });
  SmallVector<MemRefType, 1> scratch;
  if (dx)
    scratch.push_back(MemRefType::get(
        {1, k.blockColumns(in.element, in.hidden)}, in.element));
  forEachPacked(k, in, scratch, [&](Value i, ValueRange own) {
    finish(i, own.empty() ? Value() : own[0]);
  });
  sumInOrder(k, in.total, in.terms, [&] { return packedCount(k, in); });
  if (dx)
    unpackRows(k, in, packedDx, dx);
}

void hone::emitKernel(LinearCrossEntropyOp op, KernelBuilder &k) {
  LossEmitter(op, k, /*roundsScores=*/false, {}).emit();
}

bool hone::emitRoundedLoss(LinearCrossEntropyOp op, KernelBuilder &k,
                           const RoundedLoss &rounded) {
  auto x = cast<RankedTensorType>(op.getX().getType());
  if (!op.getDx() || !k.rounds(computeType(x.getElementType())))
    return false;
  LossEmitter(op, k, /*roundsScores=*/true, rounded).emit();
  return true;
}
