//===- AttentionKernels.cpp - Causal attention by strips of rows ----------===//
//
// Scores, and the weights that replace them, are one strip at a time
// (AttentionStrips.h) from the products that make them to the products that
// read them.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/AttentionKernels.h"

#include "dialects/Hone/Numerics.h"
#include "passes/kernels/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

Value hone::weightOf(KernelBuilder &k, Value dot, Value scale, Value maximum) {
  return k.exp(
      math::FmaOp::create(k, dot, scale, arith::NegFOp::create(k, maximum)));
}

Value hone::softmaxRow(KernelBuilder &k, Strips &strips, Value strip,
                       const QueryRow &query, Value keys, Value scale,
                       Value reciprocals) {
  Type element = scale.getType();
  Value i = query.i;
  Value maximum =
      k.reduce(query.seen, tile::Combine::max, element, [&](Value c) {
        return k.mul(k.load(strip, {i, k.add(query.from, c)}), scale);
      });
  Value sum = k.reduce(query.seen, tile::Combine::add, element, [&](Value c) {
    Value at = k.add(query.from, c);
    Value weight = weightOf(k, k.load(strip, {i, at}), scale, maximum);
    k.store(weight, strip, {i, at});
    return weight;
  });
  strips.zeroOutside(strip, i, query.from, k.add(query.from, query.seen), keys);
  k.store(k.div(k.real(element, 1.0), sum), reciprocals, i);
  return maximum;
}

void hone::emitKernel(AttentionOp op, KernelBuilder &k) {
  AttentionSizes sizes = AttentionSizes::of(op, k);
  Value q = k.buffer(op.getQ()), key = k.buffer(op.getK());
  Value v = k.buffer(op.getV()), y = k.buffer(op.getY());
  Value normalizer =
      op.getNormalizer() ? k.buffer(op.getNormalizer()) : Value();
  Strips strips(k, sizes);

  SmallVector<MemRefType> scratch = {strips.stripType(), strips.rowTermType()};
  strips.addResults(scratch, 1);
  forEachQueryStrip(
      k, sizes, scratch, [&](const QueryStrip &s, ValueRange buffers) {
        Value strip = buffers[0], reciprocals = buffers[1];
        HeadResult result =
            strips.resultAt({y, s.first, s.column}, buffers.back());
        strips.dots(strip, {q, s.first, s.column}, {key, s.origin, s.kvColumn},
                    s.count, s.keys);
        forEachQuery(k, sizes, s, [&](const QueryRow &query) {
          Value maximum = softmaxRow(k, strips, strip, query, s.keys,
                                     sizes.scale, reciprocals);
          if (!normalizer)
            return;
          Value at = k.mul(s.head, k.index(2));
          k.store(maximum, normalizer, {query.row, at});
          k.store(k.load(reciprocals, query.i), normalizer,
                  {query.row, k.add(at, k.index(1))});
        });
        strips.weightedSum(result.sums, strip, {v, s.origin, s.kvColumn},
                           s.count, s.keys, /*accumulate=*/false,
                           normalizedBy(k, reciprocals));
        strips.finish(result, s.count);
      });
}

//===----------------------------------------------------------------------===//
// Tangent
//===----------------------------------------------------------------------===//

/// The result of softmaxRow, from the normalizer that the forward kept.
static void weightRow(KernelBuilder &k, Strips &strips, Value strip,
                      const QueryRow &query, const QueryStrip &s, Value scale,
                      Value normalizer, Value reciprocals) {
  Value at = k.mul(s.head, k.index(2)), next = k.add(at, k.index(1));
  Value maximum = k.load(normalizer, {query.row, at});
  k.map(query.seen, [&](ValueRange c) {
    Value column = k.add(query.from, c[0]);
    Value dot = k.load(strip, {query.i, column});
    k.store(weightOf(k, dot, scale, maximum), strip, {query.i, column});
  });
  strips.zeroOutside(strip, query.i, query.from, k.add(query.from, query.seen),
                     s.keys);
  k.store(k.load(normalizer, {query.row, next}), reciprocals, query.i);
}

/// Turns dots of tangents into scale * w * (dot - sum of p * dot), where w are
/// the row's weights and p = w * reciprocal.
static void tangentRow(KernelBuilder &k, Strips &strips, Value slopes,
                       Value weights, const QueryRow &query, Value keys,
                       Value scale, Value reciprocal) {
  Value i = query.i;
  Value sum =
      k.reduce(query.seen, tile::Combine::add, scale.getType(), [&](Value c) {
        Value at = k.add(query.from, c);
        return k.mul(k.load(weights, {i, at}), k.load(slopes, {i, at}));
      });
  Value mean = k.mul(sum, reciprocal);
  k.map(query.seen, [&](ValueRange c) {
    Value at = k.add(query.from, c[0]);
    Value change = k.sub(k.load(slopes, {i, at}), mean);
    Value weight = k.mul(k.load(weights, {i, at}), scale);
    k.store(k.mul(weight, change), slopes, {i, at});
  });
  strips.zeroOutside(slopes, i, query.from, k.add(query.from, query.seen),
                     keys);
}

void hone::emitKernel(AttentionTangentOp op, KernelBuilder &k) {
  AttentionSizes sizes = AttentionSizes::of(op, k);
  auto bufferOrNull = [&](Value value) {
    return value ? k.buffer(value) : Value();
  };
  Value q = k.buffer(op.getQ()), key = k.buffer(op.getK());
  Value v = k.buffer(op.getV()), ty = k.buffer(op.getTy());
  Value tq = bufferOrNull(op.getTq()), tk = bufferOrNull(op.getTk());
  Value tv = bufferOrNull(op.getTv());
  Value normalizer = bufferOrNull(op.getNormalizer());
  bool scoresChange = tq || tk;
  Strips strips(k, sizes);

  SmallVector<MemRefType> scratch = {strips.stripType(), strips.rowTermType()};
  if (scoresChange)
    scratch.push_back(strips.stripType());
  strips.addResults(scratch, 1);
  forEachQueryStrip(
      k, sizes, scratch, [&](const QueryStrip &s, ValueRange buffers) {
        Value weights = buffers[0], reciprocals = buffers[1];
        HeadResult result =
            strips.resultAt({ty, s.first, s.column}, buffers.back());
        Value slopes = scoresChange ? buffers[2] : Value();
        auto dots = [&](Value strip, Value left, Value right, bool accumulate) {
          strips.dots(strip, {left, s.first, s.column},
                      {right, s.origin, s.kvColumn}, s.count, s.keys,
                      accumulate);
        };
        dots(weights, q, key, /*accumulate=*/false);
        if (tq)
          dots(slopes, tq, key, /*accumulate=*/false);
        if (tk)
          dots(slopes, q, tk, /*accumulate=*/bool(tq));

        forEachQuery(k, sizes, s, [&](const QueryRow &query) {
          if (normalizer)
            weightRow(k, strips, weights, query, s, sizes.scale, normalizer,
                      reciprocals);
          else
            softmaxRow(k, strips, weights, query, s.keys, sizes.scale,
                       reciprocals);
          if (scoresChange)
            tangentRow(k, strips, slopes, weights, query, s.keys, sizes.scale,
                       k.load(reciprocals, query.i));
        });

        auto normalized = normalizedBy(k, reciprocals);
        auto addSum = [&](Value strip, Value right, bool isFirst, bool isLast) {
          strips.weightedSum(result.sums, strip, {right, s.origin, s.kvColumn},
                             s.count, s.keys, /*accumulate=*/!isFirst,
                             isLast ? KernelBuilder::Epilogue(normalized)
                                    : nullptr);
        };
        if (scoresChange)
          addSum(slopes, v, /*isFirst=*/true, /*isLast=*/!tv);
        if (tv)
          addSum(weights, tv, /*isFirst=*/!scoresChange, /*isLast=*/true);
        strips.finish(result, s.count);
      });
}

//===----------------------------------------------------------------------===//
// Adjoint
//===----------------------------------------------------------------------===//

/// Numbers of f32 in a cache line.
static constexpr int64_t kLineNumbers = 16;

void hone::storeKeyEnd(KernelBuilder &k, const AttentionSizes &sizes, Value row,
                       Value ends) {
  Value start = k.loadIndex(sizes.starts, row);
  Value end = k.search(row, k.rows(), k.maxRows(), [&](Value other) {
    return arith::CmpIOp::create(k, arith::CmpIPredicate::eq,
                                 k.loadIndex(sizes.starts, other), start);
  });
  if (sizes.window)
    end = k.min(end, k.add(row, k.index(*sizes.window)));
  k.store(arith::IndexCastOp::create(k, k.getI32Type(), end), ends, row);
}

void hone::emitKeyEnds(KernelBuilder &k, const AttentionSizes &sizes,
                       Value ends) {
  k.forEachRow([&](Value row) { storeKeyEnd(k, sizes, row, ends); });
}

AttentionAdjointOperands AttentionAdjointOperands::of(AttentionAdjointOp op,
                                                      KernelBuilder &k) {
  return {AttentionSizes::of(op, k), k.buffer(op.getDy()), k.buffer(op.getQ()),
          k.buffer(op.getK()),       k.buffer(op.getV()),  k.workspace(op, 0),
          k.workspace(op, 1),        k.workspace(op, 2),   k.workspace(op, 3)};
}

void hone::emitRowTerms(KernelBuilder &k, const AttentionAdjointOperands &in,
                        Value y, Value normalizer) {
  Value headDim = k.index(in.sizes.headDim);
  k.forEachHead(in.sizes.heads, [&](Value row, Value head) {
    Value column = k.mul(head, headDim);
    Value term =
        k.reduce(headDim, tile::Combine::add, in.sizes.element, [&](Value j) {
          Value at = k.add(column, j);
          return k.mul(k.load(in.dy, {row, at}), k.load(y, {row, at}));
        });
    k.store(term, in.terms, {head, row});
    Value at = k.mul(head, k.index(2)), next = k.add(at, k.index(1));
    k.store(k.load(normalizer, {row, at}), in.maxima, {head, row});
    k.store(k.load(normalizer, {row, next}), in.reciprocals, {head, row});
  });
}

/// dq: a strip of queries over the keys they see.
static void emitQueryAdjoint(KernelBuilder &k,
                             const AttentionAdjointOperands &in, Value dq) {
  Value scale = in.sizes.scale;
  Strips strips(k, in.sizes);
  SmallVector<MemRefType> scratch = {strips.stripType(), strips.stripType()};
  strips.addResults(scratch, 1);
  forEachQueryStrip(
      k, in.sizes, scratch, [&](const QueryStrip &s, ValueRange buffers) {
        Value scores = buffers[0], slopes = buffers[1];
        HeadResult result =
            strips.resultAt({dq, s.first, s.column}, buffers.back());
        strips.dots(scores, {in.q, s.first, s.column},
                    {in.key, s.origin, s.kvColumn}, s.count, s.keys);
        strips.dots(slopes, {in.dy, s.first, s.column},
                    {in.v, s.origin, s.kvColumn}, s.count, s.keys);
        forEachQuery(k, in.sizes, s, [&](const QueryRow &query) {
          Value i = query.i, row = query.row;
          Value term = k.load(in.terms, {s.head, row});
          Value maximum = k.load(in.maxima, {s.head, row});
          Value reciprocal = k.load(in.reciprocals, {s.head, row});
          k.map(query.seen, [&](ValueRange c) {
            Value at = k.add(query.from, c[0]);
            Value p =
                k.mul(weightOf(k, k.load(scores, {i, at}), scale, maximum),
                      reciprocal);
            Value ds = k.mul(p, k.sub(k.load(slopes, {i, at}), term));
            k.store(k.mul(ds, scale), slopes, {i, at});
          });
          strips.zeroOutside(slopes, i, query.from,
                             k.add(query.from, query.seen), s.keys);
        });
        strips.weightedSum(result.sums, slopes, {in.key, s.origin, s.kvColumn},
                           s.count, s.keys, /*accumulate=*/false);
        strips.finish(result, s.count);
      });
}

/// dk and dv: a strip of keys over the queries that see them, for each head of
/// the group in order.
static void emitKeyAdjoint(KernelBuilder &k, const AttentionAdjointOperands &in,
                           Value dk, Value dv) {
  const AttentionSizes &sizes = in.sizes;
  Strips strips(k, sizes);
  SmallVector<MemRefType> scratch = {strips.stripType(), strips.stripType()};
  strips.addResults(scratch, 2);
  forEachHeadBlock(
      k, sizes.kvHeads, numerics::kAttentionRows, scratch,
      [&](const HeadBlock &block, ValueRange buffers) {
        Value kvHead = block.head, first = block.first, count = block.count;
        Value weights = buffers[0], slopes = buffers[1];
        Value kvColumn = k.mul(kvHead, k.index(sizes.headDim));
        Value last = k.add(first, k.sub(count, k.index(1)));
        Value queries = k.sub(k.loadIndex(in.ends, last), first);
        HeadResult keys =
            strips.resultAt({dk, first, kvColumn}, buffers[buffers.size() - 2]);
        HeadResult values =
            strips.resultAt({dv, first, kvColumn}, buffers.back());
        Value zero = k.real(sizes.element, 0.0);
        k.map({count, k.index(sizes.headDim)}, [&](ValueRange point) {
          for (const KernelBuilder::Piece &sums : {keys.sums, values.sums})
            k.store(zero, sums.matrix,
                    {k.add(sums.row, point[0]), k.add(sums.column, point[1])});
        });
        k.loop(k.index(0), k.index(sizes.group()), 1, [&](Value member) {
          Value head = k.add(k.mul(kvHead, k.index(sizes.group())), member);
          Value column = k.mul(head, k.index(sizes.headDim));
          strips.dots(weights, {in.key, first, kvColumn}, {in.q, first, column},
                      count, queries);
          strips.dots(slopes, {in.v, first, kvColumn}, {in.dy, first, column},
                      count, queries);
          k.each(count, [&](ValueRange point) {
            // Key `first + i` is seen by the queries from itself on.
            Value i = point[0], row = k.add(first, i);
            Value end = k.sub(k.loadIndex(in.ends, row), first);
            // From the beginning of a line on, which is faster to read and
            // write; rows before the key itself become zero.
            Value line = k.index(kLineNumbers);
            Value from = k.mul(k.div(i, line), line);
            k.map(k.sub(end, from), [&](ValueRange c) {
              Value at = k.add(from, c[0]), query = k.add(first, at);
              Value p = k.mul(weightOf(k, k.load(weights, {i, at}), sizes.scale,
                                       k.load(in.maxima, {head, query})),
                              k.load(in.reciprocals, {head, query}));
              Value ds = k.mul(p, k.sub(k.load(slopes, {i, at}),
                                        k.load(in.terms, {head, query})));
              k.store(p, weights, {i, at});
              k.store(k.mul(ds, sizes.scale), slopes, {i, at});
            });
            strips.zeroOutside(weights, i, i, end, queries);
            strips.zeroOutside(slopes, i, i, end, queries);
          });
          strips.weightedSum(keys.sums, slopes, {in.q, first, column}, count,
                             queries, /*accumulate=*/true);
          strips.weightedSum(values.sums, weights, {in.dy, first, column},
                             count, queries, /*accumulate=*/true);
        });
        strips.finish(keys, count);
        strips.finish(values, count);
      });
}

void hone::emitKernel(AttentionAdjointOp op, KernelBuilder &k) {
  auto in = AttentionAdjointOperands::of(op, k);
  emitKeyEnds(k, in.sizes, in.ends);
  emitRowTerms(k, in, k.buffer(op.getY()), k.buffer(op.getNormalizer()));
  emitQueryAdjoint(k, in, k.buffer(op.getDq()));
  emitKeyAdjoint(k, in, k.buffer(op.getDk()), k.buffer(op.getDv()));
}
