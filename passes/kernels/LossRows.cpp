//===- LossRows.cpp - Rows that have a target, by tiles of the head -------===//
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
//===----------------------------------------------------------------------===//

#include "passes/kernels/LossRows.h"

#include "dialects/Hone/Numerics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::loss;

//===----------------------------------------------------------------------===//
// Rows that have a target
//===----------------------------------------------------------------------===//

static Value hasTarget(KernelBuilder &k, const LossBuffers &in, Value row) {
  Value target = k.load(in.targets, row);
  Value ignored = arith::ConstantOp::create(
      k, k.getI32IntegerAttr(numerics::kIgnoredTarget));
  return arith::CmpIOp::create(k, arith::CmpIPredicate::ne, target, ignored);
}

Value loss::packedCount(KernelBuilder &k, const LossBuffers &in) {
  return k.loadIndex(in.rowOf, k.rows());
}

void loss::packRows(KernelBuilder &k, const LossBuffers &in) {
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

void loss::forEachPacked(KernelBuilder &k, const LossBuffers &in,
                         ArrayRef<MemRefType> scratch,
                         function_ref<void(Value, ValueRange)> body) {
  k.parallel(k.rows(), scratch, [&](Value i, ValueRange buffers) {
    Value isPacked = arith::CmpIOp::create(k, arith::CmpIPredicate::ult, i,
                                           packedCount(k, in));
    k.when(isPacked, [&] { body(i, buffers); });
  });
}

void loss::forEachPackedTile(
    KernelBuilder &k, const LossBuffers &in, int64_t columns, int64_t terms,
    int64_t mostRows, int64_t mostColumns,
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

void loss::packRow(KernelBuilder &k, const LossBuffers &in, Value from,
                   Value to, Value i) {
  Value row = k.loadIndex(in.rowOf, i);
  k.map(k.index(in.hidden), [&](ValueRange j) {
    k.store(k.load(from, {row, j[0]}), to, {i, j[0]});
  });
}

void loss::unpackRows(KernelBuilder &k, const LossBuffers &in, Value from,
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

void loss::sumInOrder(KernelBuilder &k, Value total, Value terms,
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

void loss::forEachVocabularyTile(
    KernelBuilder &k, const LossBuffers &in, bool streamed,
    function_ref<void(const VocabularyTile &)> emitTile) {
  forEachHeadPiece(k, in.weight, streamed, [&](Value first, int64_t width) {
    emitTile({first, width});
  });
}

void loss::emitLogits(KernelBuilder &k, const LossBuffers &in,
                      const VocabularyTile &vocabulary, Value x, Value weight,
                      Value logits, bool accumulate) {
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

void loss::addTile(KernelBuilder &k, const LossBuffers &in,
                   const VocabularyTile &vocabulary, Value sums, Value from,
                   Value i) {
  Value sum =
      k.reduce(k.index(vocabulary.width), tile::Combine::add, in.element,
               [&](Value j) { return k.load(from, {i, j}); });
  k.store(k.add(k.load(sums, i), k.convert(k.getF64Type(), sum)), sums, i);
}

Value loss::smoothed(KernelBuilder &k, const LossBuffers &in, Value ofTarget,
                     Value ofAll) {
  Type f64 = k.getF64Type();
  Value mean = k.div(ofAll, k.real(f64, double(in.vocabulary)));
  return k.mul(k.real(f64, in.smoothing), k.sub(ofTarget, mean));
}

void loss::startRow(KernelBuilder &k, const LossBuffers &in, Value i) {
  Type f64 = k.getF64Type();
  packRow(k, in, in.x, in.packedX, i);
  k.store(k.real(f64, leastOf(in.element)), in.maxima, i);
  k.store(k.real(f64, 0.0), in.sums, i);
}

void loss::takeTile(KernelBuilder &k, const LossBuffers &in,
                    const VocabularyTile &vocabulary, Value i, Value own,
                    function_ref<void(Value factor)> rescale,
                    function_ref<void(Value column)> takeTarget) {
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

Value loss::wholeSum(KernelBuilder &k, const LossBuffers &in, Value i) {
  Value distance = k.sub(k.load(in.targetLogits, i), k.load(in.maxima, i));
  return k.add(k.load(in.sums, i), k.exp(distance));
}
