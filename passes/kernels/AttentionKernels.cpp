//===- AttentionKernels.cpp - Causal attention by strips of rows ----------===//
//
// A thread owns a few query rows of one head (in the adjoint also a few key
// rows of one key head) and holds their scores as one strip. Sequences are
// contiguous, so what a query sees, and what sees a key, is a range of rows:
// masks are bounds of loops, and nothing outside the strip's range is visited.
// Strip column c stands for row `origin + c`.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/Numerics.h"
#include "passes/kernels/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hone;
using numerics::kAttentionRows;

namespace {

/// Sizes that forward and adjoint share, and the strip operations.
class Strips {
public:
  Strips(KernelBuilder &k, Type element, int64_t headDim)
      : k(k), element(element), headDim(headDim), width(k.panelWidth(element)),
        headWidth(k.panelWidth(element, headDim)) {}

  /// `[kAttentionRows, rows]`, with room for one panel more.
  MemRefType stripType() const {
    return MemRefType::get({kAttentionRows, static_cast<int64_t>(llvm::alignTo(
                                                k.maxRows(), width))},
                           element);
  }
  /// The panel for scores: a head's features by a panel of rows.
  MemRefType scorePanelType() const {
    return MemRefType::get({headDim, width}, element);
  }
  /// The panel for weighted sums of rows: rows by a head's features.
  MemRefType sumPanelType() const {
    return MemRefType::get(
        {std::min(k.maxRows(), numerics::kAttentionBlock), headWidth}, element);
  }

  /// strip[i][c] = left[i] . right[c] for i < rows, c < columns.
  void dots(Value strip, Value panel, const KernelBuilder::Piece &left,
            const KernelBuilder::Piece &right, Value rows, Value columns) {
    k.loop(k.index(0), columns, width, [&](Value c) {
      Value zero = k.index(0), whole = k.index(width), depth = k.index(headDim);
      k.fill(panel, right.matrix, k.add(right.row, c), right.column, depth,
             k.min(whole, k.sub(columns, c)), /*transpose=*/true);
      // The last panel's spare columns are zero, and the strip has room.
      tile::ContractOp::create(k, strip, zero, c, left.matrix, left.row,
                               left.column, panel, rows, whole, depth,
                               /*accumulate=*/false, /*transposeA=*/false);
    });
  }

  /// strip[i][c] = 0 for c in [0, from) and [to, columns).
  void zeroOutside(Value strip, Value i, Value from, Value to, Value columns) {
    Value zero = k.real(element, 0.0);
    k.map(from, [&](ValueRange c) { k.store(zero, strip, {i, c[0]}); });
    k.map(k.sub(columns, to),
          [&](ValueRange c) { k.store(zero, strip, {i, k.add(to, c[0])}); });
  }

  /// out[i] (+)= epilogue(sum over c < columns of strip[i][c] * right[c]).
  void weightedSum(const KernelBuilder::Piece &out, Value strip, Value panel,
                   const KernelBuilder::Piece &right, Value rows, Value columns,
                   bool accumulate,
                   KernelBuilder::Epilogue epilogue = nullptr) {
    for (int64_t j = 0; j < headDim; j += headWidth) {
      Value zero = k.index(0), offset = k.index(j);
      KernelBuilder::Product product{
          {out.matrix, out.row, k.add(out.column, offset)},
          {strip, zero, zero},
          {right.matrix, right.row, k.add(right.column, offset)},
          rows,
          k.index(std::min(headWidth, headDim - j)),
          columns};
      product.accumulate = accumulate;
      k.product(panel, product, epilogue, epilogue);
    }
  }

private:
  KernelBuilder &k;
  Type element;
  int64_t headDim, width, headWidth;
};

} // namespace

/// Runs the body for each head and each block of rows, in parallel.
static void forEachHeadBlock(
    KernelBuilder &k, int64_t heads, ArrayRef<MemRefType> scratch,
    function_ref<void(Value head, Value first, Value count, ValueRange)> body) {
  Value blocks = k.ceilDiv(k.rows(), kAttentionRows);
  k.parallel(k.mul(k.index(heads), blocks), scratch,
             [&](Value i, ValueRange buffers) {
               Value size = k.index(kAttentionRows);
               Value first = k.mul(k.rem(i, blocks), size);
               Value count = k.min(size, k.sub(k.rows(), first));
               body(k.div(i, blocks), first, count, buffers);
             });
}

static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

template <typename AttentionLike> static int64_t headDimOf(AttentionLike op) {
  return cast<RankedTensorType>(op.getQ().getType()).getDimSize(1) /
         static_cast<int64_t>(op.getHeads());
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// exp(scale * dot - maximum), with one rounding before the exponential: scores
/// can be in the hundreds, where a second one would be 1e-5 of the result.
static Value weightOf(KernelBuilder &k, Value dot, Value scale, Value maximum) {
  return k.exp(
      math::FmaOp::create(k, dot, scale, arith::NegFOp::create(k, maximum)));
}

/// Turns dots into exp(score - max) in the strip, zero outside the row's range
/// [from, from + count); stores 1/sum and returns max.
static Value softmaxRow(KernelBuilder &k, Strips &strips, Value strip, Value i,
                        Value from, Value count, Value columns, Value scale,
                        Value reciprocals) {
  Type element = cast<MemRefType>(strip.getType()).getElementType();
  Value maximum = k.reduce(count, tile::Combine::max, element, [&](Value c) {
    return k.mul(k.load(strip, {i, k.add(from, c)}), scale);
  });
  Value sum = k.reduce(count, tile::Combine::add, element, [&](Value c) {
    Value at = k.add(from, c);
    Value weight = weightOf(k, k.load(strip, {i, at}), scale, maximum);
    k.store(weight, strip, {i, at});
    return weight;
  });
  strips.zeroOutside(strip, i, from, k.add(from, count), columns);
  k.store(k.div(k.real(element, 1.0), sum), reciprocals, i);
  return maximum;
}

void hone::emitKernel(AttentionOp op, KernelBuilder &k) {
  Type element = elementOf(op.getQ());
  int64_t heads = op.getHeads(), group = heads / op.getKvHeads();
  int64_t headDim = headDimOf(op);
  Value q = k.buffer(op.getQ()), key = k.buffer(op.getK());
  Value v = k.buffer(op.getV()), y = k.buffer(op.getY());
  Value starts = k.buffer(op.getStarts());
  Value normalizer =
      op.getNormalizer() ? k.buffer(op.getNormalizer()) : Value();
  Value scale = k.real(element, op.getScale().convertToDouble());
  Strips strips(k, element, headDim);

  MemRefType scratch[] = {strips.stripType(), strips.scorePanelType(),
                          strips.sumPanelType(),
                          MemRefType::get({kAttentionRows}, element)};
  forEachHeadBlock(
      k, heads, scratch,
      [&](Value head, Value first, Value count, ValueRange buffers) {
        Value strip = buffers[0], reciprocals = buffers[3];
        Value column = k.mul(head, k.index(headDim));
        Value kvColumn = k.mul(k.div(head, k.index(group)), k.index(headDim));
        Value origin = k.loadIndex(starts, first);
        Value keys = k.sub(k.add(first, count), origin);
        strips.dots(strip, buffers[1], {q, first, column},
                    {key, origin, kvColumn}, count, keys);
        k.loop(k.index(0), count, 1, [&](Value i) {
          Value row = k.add(first, i), start = k.loadIndex(starts, row);
          Value seen = k.add(k.sub(row, start), k.index(1));
          Value maximum = softmaxRow(k, strips, strip, i, k.sub(start, origin),
                                     seen, keys, scale, reciprocals);
          if (!normalizer)
            return;
          Value at = k.mul(head, k.index(2));
          k.store(maximum, normalizer, {row, at});
          k.store(k.load(reciprocals, i), normalizer,
                  {row, k.add(at, k.index(1))});
        });
        strips.weightedSum({y, first, column}, strip, buffers[2],
                           {v, origin, kvColumn}, count, keys,
                           /*accumulate=*/false,
                           [&](Value acc, Value i, Value) {
                             return k.mul(acc, k.load(reciprocals, i));
                           });
      });
}

//===----------------------------------------------------------------------===//
// Adjoint
//===----------------------------------------------------------------------===//

/// ends[i] = the row after the last row of row i's sequence.
static void emitSequenceEnds(KernelBuilder &k, Value starts, Value ends) {
  Value last = k.sub(k.rows(), k.index(1));
  Value state[] = {k.rows(), k.loadIndex(starts, last)};
  scf::ForOp::create(
      k, k.index(0), k.rows(), k.index(1), state,
      [&](OpBuilder &, Location, Value step, ValueRange carried) {
        Value row = k.sub(last, step), start = k.loadIndex(starts, row);
        Value same = arith::CmpIOp::create(k, arith::CmpIPredicate::eq, start,
                                           carried[1]);
        Value end = arith::SelectOp::create(k, same, carried[0],
                                            k.add(row, k.index(1)));
        k.store(arith::IndexCastOp::create(k, k.getI32Type(), end), ends, row);
        scf::YieldOp::create(k, ValueRange{end, start});
      });
}

/// D and the normalizer's two parts, each as [heads, rows], so that a strip
/// over queries reads them in order.
static void emitRowTerms(KernelBuilder &k, AttentionAdjointOp op, Value terms,
                         Value maxima, Value reciprocals) {
  Value dy = k.buffer(op.getDy()), y = k.buffer(op.getY());
  Value normalizer = k.buffer(op.getNormalizer());
  int64_t headDim = headDimOf(op);
  k.forEachRow([&](Value row) {
    k.loop(k.index(0), k.index(op.getHeads()), 1, [&](Value head) {
      Value column = k.mul(head, k.index(headDim));
      Value term =
          k.reduce(k.index(headDim), tile::Combine::add, elementOf(op.getDy()),
                   [&](Value j) {
                     Value at = k.add(column, j);
                     return k.mul(k.load(dy, {row, at}), k.load(y, {row, at}));
                   });
      k.store(term, terms, {head, row});
      Value at = k.mul(head, k.index(2)), next = k.add(at, k.index(1));
      k.store(k.load(normalizer, {row, at}), maxima, {head, row});
      k.store(k.load(normalizer, {row, next}), reciprocals, {head, row});
    });
  });
}

namespace {
/// Operands of the adjoint that its two halves share.
struct AdjointOperands {
  Type element;
  int64_t heads, kvHeads, headDim;
  Value dy, q, key, v, starts;
  Value terms, maxima, reciprocals, ends; ///< workspace
  Value scale;
};
} // namespace

/// dq: a strip of queries over the keys they see.
static void emitQueryAdjoint(KernelBuilder &k, const AdjointOperands &in,
                             Value dq) {
  Strips strips(k, in.element, in.headDim);
  MemRefType scratch[] = {strips.stripType(), strips.stripType(),
                          strips.scorePanelType(), strips.sumPanelType()};
  forEachHeadBlock(
      k, in.heads, scratch,
      [&](Value head, Value first, Value count, ValueRange buffers) {
        Value scores = buffers[0], slopes = buffers[1];
        Value column = k.mul(head, k.index(in.headDim));
        Value kvColumn = k.mul(k.div(head, k.index(in.heads / in.kvHeads)),
                               k.index(in.headDim));
        Value origin = k.loadIndex(in.starts, first);
        Value keys = k.sub(k.add(first, count), origin);
        strips.dots(scores, buffers[2], {in.q, first, column},
                    {in.key, origin, kvColumn}, count, keys);
        strips.dots(slopes, buffers[2], {in.dy, first, column},
                    {in.v, origin, kvColumn}, count, keys);
        k.loop(k.index(0), count, 1, [&](Value i) {
          Value row = k.add(first, i), start = k.loadIndex(in.starts, row);
          Value seen = k.add(k.sub(row, start), k.index(1));
          Value from = k.sub(start, origin);
          Value term = k.load(in.terms, {head, row});
          Value maximum = k.load(in.maxima, {head, row});
          Value reciprocal = k.load(in.reciprocals, {head, row});
          k.map(seen, [&](ValueRange c) {
            Value at = k.add(from, c[0]);
            Value p =
                k.mul(weightOf(k, k.load(scores, {i, at}), in.scale, maximum),
                      reciprocal);
            Value ds = k.mul(p, k.sub(k.load(slopes, {i, at}), term));
            k.store(k.mul(ds, in.scale), slopes, {i, at});
          });
          strips.zeroOutside(slopes, i, from, k.add(from, seen), keys);
        });
        strips.weightedSum({dq, first, column}, slopes, buffers[3],
                           {in.key, origin, kvColumn}, count, keys,
                           /*accumulate=*/false);
      });
}

/// dk and dv: a strip of keys over the queries that see them, for each head of
/// the group in order.
static void emitKeyAdjoint(KernelBuilder &k, const AdjointOperands &in,
                           Value dk, Value dv) {
  Strips strips(k, in.element, in.headDim);
  MemRefType scratch[] = {strips.stripType(), strips.stripType(),
                          strips.scorePanelType(), strips.sumPanelType()};
  int64_t group = in.heads / in.kvHeads;
  forEachHeadBlock(
      k, in.kvHeads, scratch,
      [&](Value kvHead, Value first, Value count, ValueRange buffers) {
        Value weights = buffers[0], slopes = buffers[1];
        Value kvColumn = k.mul(kvHead, k.index(in.headDim));
        Value last = k.add(first, k.sub(count, k.index(1)));
        Value queries = k.sub(k.loadIndex(in.ends, last), first);
        Value zero = k.real(in.element, 0.0);
        k.map({count, k.index(in.headDim)}, [&](ValueRange point) {
          Value row = k.add(first, point[0]), at = k.add(kvColumn, point[1]);
          k.store(zero, dk, {row, at});
          k.store(zero, dv, {row, at});
        });
        k.loop(k.index(0), k.index(group), 1, [&](Value member) {
          Value head = k.add(k.mul(kvHead, k.index(group)), member);
          Value column = k.mul(head, k.index(in.headDim));
          strips.dots(weights, buffers[2], {in.key, first, kvColumn},
                      {in.q, first, column}, count, queries);
          strips.dots(slopes, buffers[2], {in.v, first, kvColumn},
                      {in.dy, first, column}, count, queries);
          k.loop(k.index(0), count, 1, [&](Value i) {
            // Key `first + i` is seen by the queries from itself to the end of
            // its sequence.
            Value row = k.add(first, i);
            Value seen = k.sub(k.loadIndex(in.ends, row), row);
            k.map(seen, [&](ValueRange c) {
              Value at = k.add(i, c[0]), query = k.add(row, c[0]);
              Value p = k.mul(weightOf(k, k.load(weights, {i, at}), in.scale,
                                       k.load(in.maxima, {head, query})),
                              k.load(in.reciprocals, {head, query}));
              Value ds = k.mul(p, k.sub(k.load(slopes, {i, at}),
                                        k.load(in.terms, {head, query})));
              k.store(p, weights, {i, at});
              k.store(k.mul(ds, in.scale), slopes, {i, at});
            });
            Value end = k.add(i, seen);
            strips.zeroOutside(weights, i, i, end, queries);
            strips.zeroOutside(slopes, i, i, end, queries);
          });
          strips.weightedSum({dk, first, kvColumn}, slopes, buffers[3],
                             {in.q, first, column}, count, queries,
                             /*accumulate=*/true);
          strips.weightedSum({dv, first, kvColumn}, weights, buffers[3],
                             {in.dy, first, column}, count, queries,
                             /*accumulate=*/true);
        });
      });
}

void hone::emitKernel(AttentionAdjointOp op, KernelBuilder &k) {
  AdjointOperands in;
  in.element = elementOf(op.getQ());
  in.heads = op.getHeads();
  in.kvHeads = op.getKvHeads();
  in.headDim = headDimOf(op);
  in.dy = k.buffer(op.getDy());
  in.q = k.buffer(op.getQ());
  in.key = k.buffer(op.getK());
  in.v = k.buffer(op.getV());
  in.starts = k.buffer(op.getStarts());
  in.terms = k.workspace(op, 0);
  in.maxima = k.workspace(op, 1);
  in.reciprocals = k.workspace(op, 2);
  in.ends = k.workspace(op, 3);
  in.scale = k.real(in.element, op.getScale().convertToDouble());

  emitSequenceEnds(k, in.starts, in.ends);
  emitRowTerms(k, op, in.terms, in.maxima, in.reciprocals);
  emitQueryAdjoint(k, in, k.buffer(op.getDq()));
  emitKeyAdjoint(k, in, k.buffer(op.getDk()), k.buffer(op.getDv()));
}
