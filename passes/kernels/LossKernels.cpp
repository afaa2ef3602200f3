//===- LossKernels.cpp - Output head and cross-entropy by chunks of rows --===//
//
// The logits of kLossRows rows exist at a time and once: the loss reads them,
// then they become d(loss)/d(logits) in place and are multiplied by the head
// again; the tangent reads them beside their tangents. A chunk without a target
// costs no product.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/Numerics.h"
#include "passes/kernels/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hone;

namespace {
/// What the loss and its tangent share.
struct LossBuffers {
  Value x, weight, targets;
  Value total;            ///< the sum over rows of `rowTerms`
  Value logits, rowTerms; ///< of one chunk of rows
  Type element;
  int64_t hidden, vocabulary;
};

/// Of one row of logits; `sum` is that of exp(logit - maximum), in double.
struct Exponentials {
  Value maximum, sum;
};
} // namespace

/// The workspace begins with the logits and ends with the rows' terms.
template <typename LossLike>
static LossBuffers lossBuffers(LossLike op, KernelBuilder &k, Value total,
                               unsigned rowTerms) {
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  return {k.buffer(op.getX()),
          k.buffer(op.getWeight()),
          k.buffer(op.getTargets()),
          k.buffer(total),
          k.workspace(op, 0),
          k.workspace(op, rowTerms),
          cast<RankedTensorType>(op.getX().getType()).getElementType(),
          /*hidden=*/weight.getDimSize(1),
          /*vocabulary=*/weight.getDimSize(0)};
}

static Value hasTarget(KernelBuilder &k, const LossBuffers &in, Value row) {
  Value target = k.load(in.targets, row);
  Value ignored = arith::ConstantOp::create(
      k, k.getI32IntegerAttr(numerics::kIgnoredTarget));
  return arith::CmpIOp::create(k, arith::CmpIPredicate::ne, target, ignored);
}

static Value anyTarget(KernelBuilder &k, const LossBuffers &in, Value first,
                       Value count) {
  Value none = arith::ConstantOp::create(k, k.getBoolAttr(false));
  auto scan =
      scf::ForOp::create(k, k.index(0), count, k.index(1), none,
                         [&](OpBuilder &, Location, Value i, ValueRange found) {
                           Value here = hasTarget(k, in, k.add(first, i));
                           Value any = arith::OrIOp::create(k, found[0], here);
                           scf::YieldOp::create(k, any);
                         });
  return scan.getResult(0);
}

/// The sum of `term` over the vocabulary, in double over blocks of it.
static Value sumOverVocabulary(KernelBuilder &k, const LossBuffers &in,
                               function_ref<Value(Value)> term) {
  Type f64 = k.getF64Type();
  Value columns = k.index(in.vocabulary);
  auto sums = scf::ForOp::create(
      k, k.index(0), columns, k.index(numerics::kLossColumns), k.real(f64, 0.0),
      [&](OpBuilder &, Location, Value first, ValueRange total) {
        Value width =
            k.min(k.index(numerics::kLossColumns), k.sub(columns, first));
        Value part = k.reduce(width, tile::Combine::add, in.element,
                              [&](Value j) { return term(k.add(first, j)); });
        Value next = k.add(total[0], k.convert(f64, part));
        scf::YieldOp::create(k, next);
      });
  return sums.getResult(0);
}

/// Leaves exp(logit - maximum) in row `i` of the logits if `keep`.
static Exponentials sumExponentials(KernelBuilder &k, const LossBuffers &in,
                                    Value i, bool keep) {
  Value maximum =
      k.reduce(k.index(in.vocabulary), tile::Combine::max, in.element,
               [&](Value j) { return k.load(in.logits, {i, j}); });
  Value sum = sumOverVocabulary(k, in, [&](Value j) {
    Value e = k.exp(k.sub(k.load(in.logits, {i, j}), maximum));
    if (keep)
      k.store(e, in.logits, {i, j});
    return e;
  });
  return {maximum, sum};
}

/// The loss of row `first + i`, and its dlogits in place of its logits if
/// `withSlopes`; zeros if the row has no target.
static void emitRowLoss(KernelBuilder &k, const LossBuffers &in,
                        bool withSlopes, Value first, Value i) {
  Type f64 = k.getF64Type();
  Value row = k.add(first, i), columns = k.index(in.vocabulary);
  auto withTarget = [&] {
    Value target = k.loadIndex(in.targets, row);
    Value logit = k.loadAs(f64, in.logits, {i, target});
    auto [maximum, sum] = sumExponentials(k, in, i, /*keep=*/withSlopes);
    Value lse = k.add(k.convert(f64, maximum), math::LogOp::create(k, sum));
    k.store(k.sub(lse, logit), in.rowTerms, i);
    if (!withSlopes)
      return;
    Value reciprocal = k.convert(in.element, k.div(k.real(f64, 1.0), sum));
    k.map(columns, [&](ValueRange j) {
      Value e = k.load(in.logits, {i, j[0]});
      k.store(k.mul(e, reciprocal), in.logits, {i, j[0]});
    });
    Value p = k.load(in.logits, {i, target});
    k.store(k.sub(p, k.real(in.element, 1.0)), in.logits, {i, target});
  };
  auto withoutTarget = [&] {
    k.store(k.real(f64, 0.0), in.rowTerms, i);
    if (!withSlopes)
      return;
    Value zero = k.real(in.element, 0.0);
    k.map(columns, [&](ValueRange j) { k.store(zero, in.logits, {i, j[0]}); });
  };
  k.when(hasTarget(k, in, row), withTarget, withoutTarget);
}

/// logits = x W^T for the rows of the chunk.
static void emitLogits(KernelBuilder &k, const LossBuffers &in, Value logits,
                       Value x, Value first, Value count) {
  KernelBuilder::Tiling tiling{count, in.vocabulary,
                               numerics::dotBlock(in.hidden)};
  k.forEachTile(in.element, tiling, [&](const KernelBuilder::Tile &tile) {
    Value zero = k.index(0);
    KernelBuilder::Product product{{logits, zero, tile.column},
                                   {x, first, zero},
                                   {in.weight, tile.column, zero},
                                   tile.rows,
                                   tile.columns,
                                   k.index(in.hidden)};
    product.transposeW = true;
    k.product(tile.panel, product);
  });
}

/// dx = dlogits W for the rows of the chunk.
static void emitInputAdjoint(KernelBuilder &k, const LossBuffers &in, Value dx,
                             Value first, Value count) {
  KernelBuilder::Tiling tiling{count, in.hidden,
                               numerics::dotBlock(in.vocabulary)};
  k.forEachTile(in.element, tiling, [&](const KernelBuilder::Tile &tile) {
    Value zero = k.index(0);
    k.product(tile.panel, {{dx, first, tile.column},
                           {in.logits, zero, zero},
                           {in.weight, zero, tile.column},
                           tile.rows,
                           tile.columns,
                           k.index(in.vocabulary)});
  });
}

/// total += the first `count` of `terms`, in order.
static void addInOrder(KernelBuilder &k, Value total, Value terms,
                       Value count) {
  k.loop(k.index(0), count, 1, [&](Value i) {
    k.store(k.add(k.load(total, {}), k.load(terms, i)), total, {});
  });
}

/// Sums the rows' terms by chunks. `emitChunk` computes those of a chunk that
/// has a target; the terms of the others are zero and `otherwise` runs.
static void
forEachChunk(KernelBuilder &k, const LossBuffers &in,
             function_ref<void(Value first, Value count)> emitChunk,
             function_ref<void(Value first, Value count)> otherwise = nullptr) {
  int64_t chunk = cast<MemRefType>(in.logits.getType()).getDimSize(0);
  k.store(k.real(k.getF64Type(), 0.0), in.total, {});
  k.loop(k.index(0), k.rows(), chunk, [&](Value first) {
    Value count = k.min(k.index(chunk), k.sub(k.rows(), first));
    auto none = [&] { otherwise(first, count); };
    k.when(
        anyTarget(k, in, first, count),
        [&] {
          emitChunk(first, count);
          addInOrder(k, in.total, in.rowTerms, count);
        },
        otherwise ? function_ref<void()>(none) : nullptr);
  });
}

void hone::emitKernel(LinearCrossEntropyOp op, KernelBuilder &k) {
  LossBuffers in = lossBuffers(op, k, op.getLoss(), /*rowTerms=*/1);
  Value dx = op.getDx() ? k.buffer(op.getDx()) : Value();
  auto emitChunk = [&](Value first, Value count) {
    emitLogits(k, in, in.logits, in.x, first, count);
    k.parallel(count, {}, [&](Value i, ValueRange) {
      emitRowLoss(k, in, bool(dx), first, i);
    });
    if (dx)
      emitInputAdjoint(k, in, dx, first, count);
  };
  if (!dx)
    return forEachChunk(k, in, emitChunk);
  forEachChunk(k, in, emitChunk, [&](Value first, Value count) {
    Value zero = k.real(in.element, 0.0);
    k.map({count, k.index(in.hidden)}, [&](ValueRange point) {
      k.store(zero, dx, {k.add(first, point[0]), point[1]});
    });
  });
}

//===----------------------------------------------------------------------===//
// Tangent
//===----------------------------------------------------------------------===//

/// The tangent of the loss of row `first + i`. The target's tangent is taken
/// off each term, not off their sum: where the model is sure of the target, the
/// two would cancel.
static void emitRowTangent(KernelBuilder &k, const LossBuffers &in,
                           Value tangents, Value first, Value i) {
  Value row = k.add(first, i);
  auto withTarget = [&] {
    Value target = k.loadIndex(in.targets, row);
    Value base = k.load(tangents, {i, target});
    Value sum = sumExponentials(k, in, i, /*keep=*/true).sum;
    Value slope = sumOverVocabulary(k, in, [&](Value j) {
      Value change = k.sub(k.load(tangents, {i, j}), base);
      return k.mul(k.load(in.logits, {i, j}), change);
    });
    k.store(k.div(slope, sum), in.rowTerms, i);
  };
  auto withoutTarget = [&] {
    k.store(k.real(k.getF64Type(), 0.0), in.rowTerms, i);
  };
  k.when(hasTarget(k, in, row), withTarget, withoutTarget);
}

void hone::emitKernel(LinearCrossEntropyTangentOp op, KernelBuilder &k) {
  LossBuffers in = lossBuffers(op, k, op.getTloss(), /*rowTerms=*/2);
  Value tx = k.buffer(op.getTx()), tangents = k.workspace(op, 1);
  forEachChunk(k, in, [&](Value first, Value count) {
    emitLogits(k, in, in.logits, in.x, first, count);
    emitLogits(k, in, tangents, tx, first, count);
    k.parallel(count, {}, [&](Value i, ValueRange) {
      emitRowTangent(k, in, tangents, first, i);
    });
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
  k.store(k.real(f64, 0.0), product, {});
  addInOrder(k, product, rows, k.rows());
}
