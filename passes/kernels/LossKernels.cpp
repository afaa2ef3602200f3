//===- LossKernels.cpp - Output head and cross-entropy by chunks of rows --===//
//
// The logits of kLossRows rows exist at a time and once: the loss reads them,
// then they become d(loss)/d(logits) in place and are multiplied by the head
// again. A chunk without a target costs no product.
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
struct LossBuffers {
  Value x, weight, targets, loss;
  Value dx; ///< null if not asked for
  Value logits, rowLosses;
  Type element;
  int64_t hidden, vocabulary;
};
} // namespace

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

/// The log-sum-exp of one row of logits, in double. Leaves exp(logit - max) in
/// the row if `keep`; `sum` is their sum.
static Value logSumExp(KernelBuilder &k, const LossBuffers &in, Value i,
                       bool keep, Value &sum) {
  Type f64 = k.getF64Type();
  Value columns = k.index(in.vocabulary);
  Value maximum = k.reduce(columns, tile::Combine::max, in.element,
                           [&](Value j) { return k.load(in.logits, {i, j}); });
  auto sums = scf::ForOp::create(
      k, k.index(0), columns, k.index(numerics::kLossColumns), k.real(f64, 0.0),
      [&](OpBuilder &, Location, Value first, ValueRange total) {
        Value width =
            k.min(k.index(numerics::kLossColumns), k.sub(columns, first));
        Value part =
            k.reduce(width, tile::Combine::add, in.element, [&](Value j) {
              Value at = k.add(first, j);
              Value e = k.exp(k.sub(k.load(in.logits, {i, at}), maximum));
              if (keep)
                k.store(e, in.logits, {i, at});
              return e;
            });
        Value next = k.add(total[0], k.convert(f64, part));
        scf::YieldOp::create(k, next);
      });
  sum = sums.getResult(0);
  return k.add(k.convert(f64, maximum), math::LogOp::create(k, sum));
}

/// The loss of row `first + i`, and its dlogits in place of its logits if dx is
/// asked for; zeros if the row has no target.
static void emitRowLoss(KernelBuilder &k, const LossBuffers &in, Value first,
                        Value i) {
  Value row = k.add(first, i), columns = k.index(in.vocabulary);
  auto withTarget = [&] {
    Value target = k.loadIndex(in.targets, row);
    Value logit = k.loadAs(k.getF64Type(), in.logits, {i, target});
    Value sum;
    Value lse = logSumExp(k, in, i, bool(in.dx), sum);
    k.store(k.sub(lse, logit), in.rowLosses, i);
    if (!in.dx)
      return;
    Value reciprocal =
        k.convert(in.element, k.div(k.real(k.getF64Type(), 1.0), sum));
    k.map(columns, [&](ValueRange j) {
      Value e = k.load(in.logits, {i, j[0]});
      k.store(k.mul(e, reciprocal), in.logits, {i, j[0]});
    });
    Value p = k.load(in.logits, {i, target});
    k.store(k.sub(p, k.real(in.element, 1.0)), in.logits, {i, target});
  };
  auto withoutTarget = [&] {
    k.store(k.real(k.getF64Type(), 0.0), in.rowLosses, i);
    if (!in.dx)
      return;
    Value zero = k.real(in.element, 0.0);
    k.map(columns, [&](ValueRange j) { k.store(zero, in.logits, {i, j[0]}); });
  };
  k.when(hasTarget(k, in, row), withTarget, withoutTarget);
}

static void emitLogits(KernelBuilder &k, const LossBuffers &in, Value first,
                       Value count) {
  KernelBuilder::Tiling tiling{count, in.vocabulary,
                               numerics::dotBlock(in.hidden)};
  k.forEachTile(in.element, tiling, [&](const KernelBuilder::Tile &tile) {
    Value zero = k.index(0);
    KernelBuilder::Product product{{in.logits, zero, tile.column},
                                   {in.x, first, zero},
                                   {in.weight, tile.column, zero},
                                   tile.rows,
                                   tile.columns,
                                   k.index(in.hidden)};
    product.transposeW = true;
    k.product(tile.panel, product);
  });
}

/// dx = dlogits W for the rows of the chunk.
static void emitInputAdjoint(KernelBuilder &k, const LossBuffers &in,
                             Value first, Value count) {
  KernelBuilder::Tiling tiling{count, in.hidden,
                               numerics::dotBlock(in.vocabulary)};
  k.forEachTile(in.element, tiling, [&](const KernelBuilder::Tile &tile) {
    Value zero = k.index(0);
    k.product(tile.panel, {{in.dx, first, tile.column},
                           {in.logits, zero, zero},
                           {in.weight, zero, tile.column},
                           tile.rows,
                           tile.columns,
                           k.index(in.vocabulary)});
  });
}

static void emitChunk(KernelBuilder &k, const LossBuffers &in, Value first,
                      Value count) {
  emitLogits(k, in, first, count);
  k.parallel(count, {},
             [&](Value i, ValueRange) { emitRowLoss(k, in, first, i); });
  k.loop(k.index(0), count, 1, [&](Value i) {
    Value total = k.add(k.load(in.loss, {}), k.load(in.rowLosses, i));
    k.store(total, in.loss, {});
  });
  if (in.dx)
    emitInputAdjoint(k, in, first, count);
}

void hone::emitKernel(LinearCrossEntropyOp op, KernelBuilder &k) {
  auto weightType = cast<RankedTensorType>(op.getWeight().getType());
  LossBuffers in;
  in.x = k.buffer(op.getX());
  in.weight = k.buffer(op.getWeight());
  in.targets = k.buffer(op.getTargets());
  in.loss = k.buffer(op.getLoss());
  in.dx = op.getDx() ? k.buffer(op.getDx()) : Value();
  in.logits = k.workspace(op, 0);
  in.rowLosses = k.workspace(op, 1);
  in.element = cast<RankedTensorType>(op.getX().getType()).getElementType();
  in.vocabulary = weightType.getDimSize(0);
  in.hidden = weightType.getDimSize(1);

  int64_t chunk = cast<MemRefType>(in.logits.getType()).getDimSize(0);
  k.store(k.real(k.getF64Type(), 0.0), in.loss, {});
  k.loop(k.index(0), k.rows(), chunk, [&](Value first) {
    Value count = k.min(k.index(chunk), k.sub(k.rows(), first));
    auto zeroAdjoint = [&] {
      Value zero = k.real(in.element, 0.0);
      k.map({count, k.index(in.hidden)}, [&](ValueRange point) {
        k.store(zero, in.dx, {k.add(first, point[0]), point[1]});
      });
    };
    function_ref<void()> otherwise = nullptr;
    if (in.dx)
      otherwise = zeroAdjoint;
    k.when(
        anyTarget(k, in, first, count), [&] { emitChunk(k, in, first, count); },
        otherwise);
  });
}
