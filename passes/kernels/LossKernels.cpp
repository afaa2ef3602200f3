//===- LossKernels.cpp - Output head and cross-entropy by tiles -----------===//
//
// The softmax is taken online over tiles of the vocabulary, as attention takes
// it over keys: a row keeps its maximum and its sum so far, and the sum is
// rescaled when the maximum grows. So a tile of the head is read once, for all
// rows, and only its logits exist. Rows without a target are left out from the
// start: the others are packed, and put back in their places at the end.
//
// The target's own term is kept out of the sums. Where the model is sure of the
// target, 1 - p(target) would cancel; the sum of the other terms does not.
//
// Smoothed labels take a share of the target's weight to all words alike, so
// they add terms of sums over the whole vocabulary: of logits, of their
// tangents, and of the head's rows.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/LossKernels.h"

#include "dialects/Hone/Numerics.h"
#include "dialects/Hone/Sizes.h"
#include "passes/kernels/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace hone;

namespace {
/// The buffers that the loss and its tangent share. "Packed" counts only the
/// rows that have a target.
struct LossBuffers {
  Value x, weight, targets;
  Value total;        ///< the sum of `terms`
  Value logits;       ///< of one tile; [packed rows, tile]
  Value scores;       ///< as takeTile leaves them; may be narrower
  Value packedX;      ///< [packed rows, hidden]
  Value rowOf;        ///< the row of each packed row; last, their count
  Value maxima;       ///< of the logits so far
  Value sums;         ///< of exp(logit - maximum), without the target's
  Value targetLogits; ///< of each packed row
  Value terms;        ///< the result of each packed row
  Type element;       ///< that logits are computed in
  int64_t hidden, vocabulary;
  int64_t part; ///< entries of the vocabulary of one sum of dx
  RoundedLoss rounded;
  double smoothing; ///< of labels; 0: none
};

/// Entries [first, first + width) of the vocabulary.
struct VocabularyTile {
  Value first;
  int64_t width;
};
} // namespace

template <typename LossLike>
static LossBuffers lossBuffers(LossLike op, KernelBuilder &k, Value total) {
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  LossBuffers in;
  in.x = k.buffer(op.getX());
  in.weight = k.buffer(op.getWeight());
  in.targets = k.buffer(op.getTargets());
  in.total = k.buffer(total);
  unsigned next = 0;
  for (Value *buffer : {&in.logits, &in.packedX, &in.rowOf, &in.maxima,
                        &in.sums, &in.targetLogits, &in.terms})
    *buffer = k.workspace(op, next++);
  in.scores = in.logits;
  in.part = lossPartColumns(op);
  in.element = computeType(getElementTypeOrSelf(op.getX().getType()));
  in.hidden = weight.getDimSize(1);
  in.vocabulary = weight.getDimSize(0);
  in.smoothing = op.getSmoothing() ? op.getSmoothing()->convertToDouble() : 0.0;
  return in;
}

//===----------------------------------------------------------------------===//
// Rows that have a target
//===----------------------------------------------------------------------===//

static Value hasTarget(KernelBuilder &k, const LossBuffers &in, Value row) {
  Value target = k.load(in.targets, row);
  Value ignored = arith::ConstantOp::create(
      k, k.getI32IntegerAttr(numerics::kIgnoredTarget));
  return arith::CmpIOp::create(k, arith::CmpIPredicate::ne, target, ignored);
}

/// How many rows are packed: after the batch's, since a placement for fewer
/// rows has no more of the buffer.
static Value packedCount(KernelBuilder &k, const LossBuffers &in) {
  return k.loadIndex(in.rowOf, k.rows());
}

/// Fills `rowOf`: a row's place is the number of rows before it that have a
/// target.
static void packRows(KernelBuilder &k, const LossBuffers &in) {
  int64_t group = k.blocks().countedRows;
  auto toWord = [&](Value index) -> Value {
    return arith::IndexCastOp::create(k, k.getI32Type(), index);
  };
  auto targets = [&](Value first, Value count, int64_t most) {
    return k.countIf(count, most, [&](Value j) {
      return hasTarget(k, in, k.add(first, j));
    });
  };
  k.parallel(k.ceilDiv(k.rows(), group), {}, [&](Value i, ValueRange) {
    Value first = k.mul(i, k.index(group));
    Value count = k.min(k.index(group), k.sub(k.rows(), first));
    Value before = targets(k.index(0), first, k.maxRows());
    k.each(count, [&](ValueRange j) {
      Value row = k.add(first, j[0]);
      k.when(hasTarget(k, in, row), [&] {
        Value place = k.add(before, targets(first, j[0], group));
        k.store(toWord(row), in.rowOf, place);
      });
    });
    Value isLast = arith::CmpIOp::create(k, arith::CmpIPredicate::eq,
                                         k.add(first, count), k.rows());
    k.when(isLast, [&] {
      Value all = k.add(before, targets(first, count, group));
      k.store(toWord(all), in.rowOf, k.rows());
    });
  });
}

/// Runs the body for each packed row, in parallel.
static void forEachPacked(KernelBuilder &k, const LossBuffers &in,
                          ArrayRef<MemRefType> scratch,
                          function_ref<void(Value, ValueRange)> body) {
  k.parallel(k.rows(), scratch, [&](Value i, ValueRange buffers) {
    Value isPacked = arith::CmpIOp::create(k, arith::CmpIPredicate::ult, i,
                                           packedCount(k, in));
    k.when(isPacked, [&] { body(i, buffers); });
  });
}

/// Runs the body for each tile of products with as many rows as are packed, if
/// there are any. `mostRows`, `mostColumns`: of a tile; 0: any.
static void
forEachPackedTile(KernelBuilder &k, const LossBuffers &in, int64_t columns,
                  int64_t terms, int64_t mostRows, int64_t mostColumns,
                  function_ref<void(const KernelBuilder::Tile &)> body) {
  KernelBuilder::Tiling tiling{k.rows(), columns, terms};
  tiling.rowBlock = mostRows;
  tiling.columnBlock = mostColumns;
  tiling.mayRound = true;
  k.forEachTile(in.element, tiling, [&](const KernelBuilder::Tile &tile) {
    KernelBuilder::Tile packed = tile;
    Value count = packedCount(k, in);
    Value any =
        arith::CmpIOp::create(k, arith::CmpIPredicate::ugt, count, tile.row);
    k.when(any, [&] {
      packed.rows = k.min(tile.rows, k.sub(count, tile.row));
      body(packed);
    });
  });
}

/// to[i] = from[rowOf[i]] for packed row `i`.
static void packRow(KernelBuilder &k, const LossBuffers &in, Value from,
                    Value to, Value i) {
  Value row = k.loadIndex(in.rowOf, i);
  k.map(k.index(in.hidden), [&](ValueRange j) {
    k.store(k.load(from, {row, j[0]}), to, {i, j[0]});
  });
}

/// to[row] = from[place of row] for rows that have one; the others become zero.
static void unpackRows(KernelBuilder &k, const LossBuffers &in, Value from,
                       Value to) {
  k.forEachRow([&](Value row) {
    auto writeRow = [&](function_ref<Value(Value)> value) {
      k.map(k.index(in.hidden),
            [&](ValueRange j) { k.store(value(j[0]), to, {row, j[0]}); });
    };
    auto copy = [&] {
      Value place =
          k.search(k.index(0), packedCount(k, in), k.maxRows(), [&](Value i) {
            return arith::CmpIOp::create(k, arith::CmpIPredicate::ult,
                                         k.loadIndex(in.rowOf, i), row);
          });
      writeRow([&](Value j) { return k.load(from, {place, j}); });
    };
    k.when(hasTarget(k, in, row), copy,
           [&] { writeRow([&](Value) { return k.real(in.element, 0.0); }); });
  });
}

/// Terms of a sum that are read together before one thread adds them.
static constexpr int64_t kStagedTerms = 1024;

/// total = the first `count` of `terms`, in order; `count` is emitted inside.
static void sumInOrder(KernelBuilder &k, Value total, Value terms,
                       function_ref<Value()> count) {
  auto staged = MemRefType::get({kStagedTerms}, k.getF64Type());
  k.parallel(k.index(1), staged, [&](Value, ValueRange own) {
    Value none = k.index(0), whole = count();
    auto sum = scf::ForOp::create(
        k, none, whole, k.index(kStagedTerms), k.real(k.getF64Type(), 0.0),
        [&](OpBuilder &, Location, Value first, ValueRange before) {
          Value here = k.min(k.index(kStagedTerms), k.sub(whole, first));
          k.map(here, [&](ValueRange j) {
            k.store(k.load(terms, k.add(first, j[0])), own[0], j[0]);
          });
          auto added = scf::ForOp::create(
              k, none, here, k.index(1), before,
              [&](OpBuilder &, Location, Value j, ValueRange sum) {
                scf::YieldOp::create(k, k.add(sum[0], k.load(own[0], j)));
              });
          scf::YieldOp::create(k, added.getResults());
        });
    k.store(sum.getResult(0), total, {});
  });
}

//===----------------------------------------------------------------------===//
// Online softmax
//===----------------------------------------------------------------------===//

void hone::forEachHeadPiece(KernelBuilder &k, Value head, bool streamed,
                            function_ref<void(Value, int64_t)> emitPiece) {
  auto body = [&](Value first, int64_t width) {
    emitPiece(first, width);
    if (streamed)
      k.release(head, first, k.index(width));
  };
  int64_t vocabulary = cast<MemRefType>(head.getType()).getDimSize(0);
  int64_t width = std::min(vocabulary, k.lossColumns());
  int64_t whole = vocabulary - vocabulary % width;
  k.loop(k.index(0), k.index(whole), width,
         [&](Value first) { body(first, width); });
  if (whole < vocabulary)
    body(k.index(whole), vocabulary - whole);
}

static void
forEachVocabularyTile(KernelBuilder &k, const LossBuffers &in, bool streamed,
                      function_ref<void(const VocabularyTile &)> emitTile) {
  forEachHeadPiece(k, in.weight, streamed, [&](Value first, int64_t width) {
    emitTile({first, width});
  });
}

/// logits (+)= x W^T for one tile.
static void emitLogits(KernelBuilder &k, const LossBuffers &in,
                       const VocabularyTile &vocabulary, Value x, Value weight,
                       Value logits, bool accumulate = false) {
  forEachPackedTile(k, in, vocabulary.width, numerics::dotBlock(in.hidden), 0,
                    0, [&](const KernelBuilder::Tile &tile) {
                      Value zero = k.index(0),
                            first = k.add(vocabulary.first, tile.column);
                      KernelBuilder::Product product = k.productFor(
                          tile, logits, {x, tile.row, zero},
                          {weight, first, zero}, k.index(in.hidden));
                      product.transposeW = true;
                      product.accumulate = accumulate;
                      product.readAhead = true;
                      k.product(product);
                    });
}

/// sums[i] += the elements of `from` for packed row `i`, over one tile.
static void addTile(KernelBuilder &k, const LossBuffers &in,
                    const VocabularyTile &vocabulary, Value sums, Value from,
                    Value i) {
  Value sum =
      k.reduce(k.index(vocabulary.width), tile::Combine::add, in.element,
               [&](Value j) { return k.load(from, {i, j}); });
  k.store(k.add(k.load(sums, i), k.convert(k.getF64Type(), sum)), sums, i);
}

/// smoothing * (ofTarget - ofAll / vocabulary), in double: smoothed labels add
/// it to a row's result.
static Value smoothed(KernelBuilder &k, const LossBuffers &in, Value ofTarget,
                      Value ofAll) {
  Type f64 = k.getF64Type();
  Value mean = k.div(ofAll, k.real(f64, double(in.vocabulary)));
  return k.mul(k.real(f64, in.smoothing), k.sub(ofTarget, mean));
}

static void startRow(KernelBuilder &k, const LossBuffers &in, Value i) {
  Type f64 = k.getF64Type();
  packRow(k, in, in.x, in.packedX, i);
  k.store(k.real(f64, leastOf(in.element)), in.maxima, i);
  k.store(k.real(f64, 0.0), in.sums, i);
}

/// Takes the logits of one tile into the maximum and the sum of packed row `i`
/// and leaves exp(logit - maximum) in their place, zero for the target's.
/// `rescale` multiplies all else that was summed with the old maximum by its
/// argument; `takeTarget` sees where in the tile the target is, if it is. `own`
/// may be null: private memory for a row of the tile, without which scores may
/// not take the place of logits.
static void takeTile(KernelBuilder &k, const LossBuffers &in,
                     const VocabularyTile &vocabulary, Value i, Value own,
                     function_ref<void(Value factor)> rescale,
                     function_ref<void(Value column)> takeTarget = nullptr) {
  Type f64 = k.getF64Type();
  Value width = k.index(vocabulary.width);
  Value before = k.loadAs(in.element, in.maxima, i);
  Value logits = own ? own : in.logits, at = own ? k.index(0) : i;
  auto copy = [&](Value j) {
    Value logit = k.load(in.logits, {i, j});
    k.store(logit, own, {at, j});
    return logit;
  };
  const bool copiesInMaximum = own && in.rounded.copiesInMaximum;
  if (own && !copiesInMaximum)
    k.map(width, [&](ValueRange j) { copy(j[0]); });
  Value highest =
      k.reduce(width, tile::Combine::max, in.element, [&](Value j) -> Value {
        return copiesInMaximum ? copy(j) : k.load(logits, {at, j});
      });
  Value maximum = arith::MaximumFOp::create(k, before, highest);
  // Unordered, so that a NaN gets into the sum.
  Value grown =
      arith::CmpFOp::create(k, arith::CmpFPredicate::UNE, maximum, before);
  k.when(grown, [&] {
    Value factor = k.exp(k.sub(before, maximum));
    k.store(k.convert(f64, maximum), in.maxima, i);
    k.store(k.mul(k.load(in.sums, i), k.convert(f64, factor)), in.sums, i);
    rescale(factor);
  });

  Value row = k.loadIndex(in.rowOf, i);
  Value column = k.sub(k.loadIndex(in.targets, row), vocabulary.first);
  Value isHere =
      arith::CmpIOp::create(k, arith::CmpIPredicate::ult, column, width);
  k.when(isHere, [&] {
    k.store(k.loadAs(f64, logits, {at, column}), in.targetLogits, i);
    if (takeTarget)
      takeTarget(column);
    k.store(k.real(in.element, -HUGE_VAL), logits, {at, column});
  });

  Value sum = k.reduce(width, tile::Combine::add, in.element, [&](Value j) {
    Value e = k.exp(k.sub(k.load(logits, {at, j}), maximum));
    k.store(e, in.scores, {i, j});
    return e;
  });
  k.store(k.add(k.load(in.sums, i), k.convert(f64, sum)), in.sums, i);
}

/// The sum of packed row `i` with the target's term.
static Value wholeSum(KernelBuilder &k, const LossBuffers &in, Value i) {
  Value distance = k.sub(k.load(in.targetLogits, i), k.load(in.maxima, i));
  return k.add(k.load(in.sums, i), k.exp(distance));
}

//===----------------------------------------------------------------------===//
// Loss
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Tangent
//===----------------------------------------------------------------------===//

void hone::emitKernel(LinearCrossEntropyTangentOp op, KernelBuilder &k) {
  Type f64 = k.getF64Type();
  LossBuffers in = lossBuffers(op, k, op.getTloss());
  Value tx = op.getTx() ? k.buffer(op.getTx()) : Value();
  Value tw = op.getTw() ? k.buffer(op.getTw()) : Value();
  Value tangents = k.workspace(op, 7), packedTx = k.workspace(op, 8);
  // The tangent of the target's logit, and the sum of e * tangent of the
  // others.
  Value targetTangents = k.workspace(op, 9), slopes = k.workspace(op, 10);
  Value tangentSums = in.smoothing > 0 ? k.workspace(op, 11) : Value();

  auto takeRow = [&](const VocabularyTile &vocabulary, Value i) {
    auto rescale = [&](Value factor) {
      k.store(k.mul(k.load(slopes, i), k.convert(f64, factor)), slopes, i);
    };
    auto takeTarget = [&](Value column) {
      k.store(k.loadAs(f64, tangents, {i, column}), targetTangents, i);
    };
    takeTile(k, in, vocabulary, i, /*own=*/{}, rescale, takeTarget);
    if (tangentSums)
      addTile(k, in, vocabulary, tangentSums, tangents, i);
    Value slope = k.reduce(k.index(vocabulary.width), tile::Combine::add,
                           in.element, [&](Value j) {
                             return k.mul(k.load(in.logits, {i, j}),
                                          k.load(tangents, {i, j}));
                           });
    k.store(k.add(k.load(slopes, i), k.convert(f64, slope)), slopes, i);
  };
  auto finish = [&](Value i, ValueRange) {
    Value base = k.mul(k.load(targetTangents, i), k.load(in.sums, i));
    Value slope = k.div(k.sub(k.load(slopes, i), base), wholeSum(k, in, i));
    if (tangentSums)
      slope = k.add(slope, smoothed(k, in, k.load(targetTangents, i),
                                    k.load(tangentSums, i)));
    k.store(slope, in.terms, i);
  };

  packRows(k, in);
  forEachPacked(k, in, {}, [&](Value i, ValueRange) {
    startRow(k, in, i);
    if (tx)
      packRow(k, in, tx, packedTx, i);
    k.store(k.real(f64, 0.0), slopes, i);
    if (tangentSums)
      k.store(k.real(f64, 0.0), tangentSums, i);
  });
  forEachVocabularyTile(
      k, in, op.getStreamed(), [&](const VocabularyTile &vocabulary) {
        emitLogits(k, in, vocabulary, in.packedX, in.weight, in.logits);
        if (tx)
          emitLogits(k, in, vocabulary, packedTx, in.weight, tangents);
        if (tw)
          emitLogits(k, in, vocabulary, in.packedX, tw, tangents,
                     /*accumulate=*/static_cast<bool>(tx));
        forEachPacked(k, in, {},
                      [&](Value i, ValueRange) { takeRow(vocabulary, i); });
      });
  forEachPacked(k, in, {}, finish);
  sumInOrder(k, in.total, in.terms, [&] { return packedCount(k, in); });
}

//===----------------------------------------------------------------------===//
// Gradient of the head
//===----------------------------------------------------------------------===//

/// Turns the logits of one tile into dloss * (p - q) for packed row `i`, whose
/// `in.terms` is dloss over the sum with the target's term; q is the label.
static void emitLogitAdjoints(KernelBuilder &k, const LossBuffers &in,
                              const VocabularyTile &vocabulary, Value dloss,
                              Value i) {
  Type f64 = k.getF64Type();
  Value width = k.index(vocabulary.width);
  Value maximum = k.loadAs(in.element, in.maxima, i);
  Value factor = k.loadAs(in.element, in.terms, i);
  // A smoothed label's share of each word, and the target's loss of weight.
  Value share, lost;
  if (in.smoothing > 0) {
    double each = in.smoothing / double(in.vocabulary);
    Value adjoint = k.load(dloss, {});
    share = k.convert(in.element, k.mul(adjoint, k.real(f64, each)));
    lost = k.mul(adjoint, k.real(f64, in.smoothing - each));
  }
  k.map(width, [&](ValueRange j) {
    Value e = k.exp(k.sub(k.load(in.logits, {i, j[0]}), maximum));
    Value p = k.mul(e, factor);
    k.store(share ? k.sub(p, share) : p, in.logits, {i, j[0]});
  });
  Value row = k.loadIndex(in.rowOf, i);
  Value column = k.sub(k.loadIndex(in.targets, row), vocabulary.first);
  Value isHere =
      arith::CmpIOp::create(k, arith::CmpIPredicate::ult, column, width);
  k.when(isHere, [&] {
    Value others = k.mul(k.load(in.sums, i), k.load(in.terms, i));
    Value minus = lost ? k.sub(lost, others) : arith::NegFOp::create(k, others);
    k.store(minus, in.logits, {i, column});
  });
}

/// dw[first + v, :] += sum over packed rows of logits[i, v] x_i.
static void addHeadAdjoint(KernelBuilder &k, const LossBuffers &in,
                           const VocabularyTile &vocabulary, Value dw) {
  KernelBuilder::Tiling tiling{k.index(vocabulary.width), in.hidden,
                               std::min(k.maxRows(), numerics::kGradientRows),
                               k.blocks().weightRows};
  k.forEachTile(in.element, tiling, [&](const KernelBuilder::Tile &tile) {
    Value count = packedCount(k, in), zero = k.index(0);
    Value any =
        arith::CmpIOp::create(k, arith::CmpIPredicate::ugt, count, zero);
    k.when(any, [&] {
      KernelBuilder::Product product =
          k.productFor(tile, dw, {in.logits, zero, tile.row},
                       {in.packedX, zero, tile.column}, count);
      product.c.row = k.add(vocabulary.first, tile.row);
      product.transposeA = true;
      product.accumulate = true;
      k.product(product);
    });
  });
}

void hone::emitKernel(LinearCrossEntropyParameterAdjointOp op,
                      KernelBuilder &k) {
  LossBuffers in = lossBuffers(op, k, Value());
  Value dloss = k.buffer(op.getDloss());
  Value dw = zeroedGradient(op.getDw(), k);
  auto nothing = [](Value) {};
  packRows(k, in);
  forEachPacked(k, in, {}, [&](Value i, ValueRange) { startRow(k, in, i); });
  forEachVocabularyTile(
      k, in, /*streamed=*/false, [&](const VocabularyTile &vocabulary) {
        emitLogits(k, in, vocabulary, in.packedX, in.weight, in.logits);
        forEachPacked(k, in, {}, [&](Value i, ValueRange) {
          takeTile(k, in, vocabulary, i, /*own=*/{}, nothing);
        });
      });
  forEachPacked(k, in, {}, [&](Value i, ValueRange) {
    k.store(k.div(k.load(dloss, {}), wholeSum(k, in, i)), in.terms, i);
  });
  forEachVocabularyTile(
      k, in, /*streamed=*/false, [&](const VocabularyTile &vocabulary) {
        emitLogits(k, in, vocabulary, in.packedX, in.weight, in.logits);
        forEachPacked(k, in, {}, [&](Value i, ValueRange) {
          emitLogitAdjoints(k, in, vocabulary, dloss, i);
        });
        addHeadAdjoint(k, in, vocabulary, dw);
      });
}

void hone::emitKernel(DotOp op, KernelBuilder &k) {
  Type f64 = k.getF64Type();
  Value a = k.buffer(op.getA()), b = k.buffer(op.getB());
  Value product = k.buffer(op.getProduct()), rows = k.workspace(op, 0);
  auto type = cast<RankedTensorType>(op.getA().getType());
  k.forEachRow([&](Value row) {
    Value sum = k.reduce(
        k.index(type.getDimSize(1)), tile::Combine::add, f64, [&](Value j) {
          return k.mul(k.loadAs(f64, a, {row, j}), k.loadAs(f64, b, {row, j}));
        });
    k.store(sum, rows, row);
  });
  sumInOrder(k, product, rows, [&] { return k.rows(); });
}
