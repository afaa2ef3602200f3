//===- LossDerivatives.cpp - Tangent of the loss, gradient of the head ----===//
//
// Both run the loss's forward again, over the same tiles: see LossRows.cpp.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/LossRows.h"

#include "dialects/Hone/Numerics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace hone;
using namespace hone::loss;

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
