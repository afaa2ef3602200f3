//===- BlockAttention.cpp - Attention over blocks of 64 keys --------------===//
//
// FlashAttention (arXiv 2205.14135, 2307.08691): scores are there for one block
// of rows and one of keys at a time, so memory does not grow with the sequence.
// A larger maximum scales the sums from before it was known.
//
// Blocks of keys begin at multiples of 64 of the batch's rows, or of a cache's
// positions. So a row's sums depend on the row's place and sequence alone: a
// block in which it sees nothing changes no bit of them. Keys of a block that
// no row of the workgroup sees are not read: they may be no numbers, and zero
// times one is none.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/GpuKernels.h"

#include "passes/kernels/AttentionKernels.h"
#include "targets/gpu/ProductLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;

/// Keys of a block of scores, or queries where rows are keys.
static constexpr int64_t kBlock = 64;

namespace {

/// Private buffers of a kernel, for each of its rows: scores of a block, and
/// sums of a head's features.
struct RowMemory {
  int64_t strips, results;

  /// With the few terms that a row has beside them.
  int64_t elements(int64_t headDim) const {
    return strips * kBlock + results * headDim + 4;
  }
};

constexpr RowMemory kForward{1, 1}, kTangent{2, 1};
constexpr RowMemory kQueryAdjoint{2, 1}, kKeyAdjoint{2, 2};

/// The columns of a block that a row sees: `seen` of them from column `from`
/// on.
struct SeenRange {
  Value i, row; ///< in the workgroup's rows, and in the batch
  Value from, to, seen;
};

/// The rows of one head that a workgroup owns, block after block of the keys
/// that they see.
class BlockAttention {
public:
  BlockAttention(const AttentionSizes &given, KernelBuilder &k,
                 const simt::DeviceFeatures &device, RowMemory memory,
                 bool readsCaches = false)
      : k(k), sizes(withBlocks(given)), rows(rowsFor(sizes, device, memory)),
        readsCaches(readsCaches), strips(k, sizes, rows) {}

  MemRefType stripType() const { return strips.stripType(); }
  MemRefType termType() const { return strips.rowTermType(); }
  MemRefType sumsType() const {
    return MemRefType::get({rows, sizes.headDim}, sizes.element);
  }

  Value real(double value) { return k.real(sizes.element, value); }
  Value leastScore() { return real(leastOf(sizes.element)); }
  /// body(first, count) for the part of [from, to) in each block of 64.
  void forEachBlock(Value from, Value to,
                    function_ref<void(Value, Value)> body) {
    Value size = k.index(kBlock);
    k.loop(k.mul(k.div(from, size), size), to, kBlock, [&](Value block) {
      Value first = k.createOrFold<arith::MaxUIOp>(k.getLoc(), block, from);
      Value end = k.min(k.add(block, size), to);
      // Products have to see that this is at most a block.
      body(first, k.min(size, k.sub(end, first)));
    });
  }
  /// body(range) for each of `count` rows from `first` on, where row r sees
  /// boundsOf(r), and the block has `width` columns from `origin` on.
  void forEachRow(Value first, Value count, Value origin, Value width,
                  function_ref<std::pair<Value, Value>(Value)> boundsOf,
                  function_ref<void(const SeenRange &)> body) {
    k.each(count, [&](ValueRange point) {
      Value row = k.add(first, point[0]);
      auto [begin, end] = boundsOf(row);
      auto column = [&](Value at) {
        Value inside = k.createOrFold<arith::MaxUIOp>(k.getLoc(), at, origin);
        return k.min(k.sub(inside, origin), width);
      };
      Value to = column(end), from = k.min(column(begin), to);
      body({point[0], row, from, to, k.sub(to, from)});
    });
  }
  /// The keys that a query sees, as rows: positions of its sequence. Where the
  /// keys are a cache, the sequence may have begun before this batch.
  std::pair<Value, Value> keysOf(Value row) {
    Value first = sizes.firstKey(k, row), end = k.add(row, k.index(1));
    if (!readsCaches)
      return {first, end};
    Value start = k.loadIndex(sizes.starts, row);
    return {k.sub(first, start), k.sub(end, start)};
  }

  void fill(Value matrix, ValueRange bounds, Value value) {
    k.map(bounds, [&](ValueRange at) { k.store(value, matrix, at); });
  }
  /// exp(scale * dot - maximum), with one rounding before the exponential.
  Value weightOf(Value dot, Value maximum) {
    return k.exp(math::FmaOp::create(k, dot, sizes.scale,
                                     arith::NegFOp::create(k, maximum)));
  }
  Value reduce(const SeenRange &range, tile::Combine combine,
               function_ref<Value(Value)> termAt) {
    return k.reduce(range.seen, combine, sizes.element,
                    [&](Value c) { return termAt(k.add(range.from, c)); });
  }
  /// Turns dots into weights of the running maximum, zero where nothing is
  /// seen, and adds them to the row's total. Returns the factors of the sums
  /// that were made with the maximum before.
  Value addWeights(Value dots, const SeenRange &range, Value width,
                   Value maxima, Value totals);
  /// Multiplies the columns of each row of `sums` by the row's factor.
  void rescale(Value sums, Value count, Value factors) {
    k.map({count, k.index(sizes.headDim)}, [&](ValueRange at) {
      k.store(k.mul(k.load(sums, at), k.load(factors, at[0])), sums, at);
    });
  }
  void zeroOutside(Value strip, const SeenRange &range, Value width) {
    strips.zeroOutside(strip, range.i, range.from, range.to, width);
  }
  void dots(Value strip, const KernelBuilder::Piece &left,
            const KernelBuilder::Piece &right, Value count, Value width,
            bool accumulate = false) {
    strips.dots(strip, left, right, count, width, accumulate);
  }
  /// sums += strip right.
  void addProduct(Value sums, Value strip, const KernelBuilder::Piece &right,
                  Value count, Value width) {
    strips.weightedSum({sums, k.index(0), k.index(0)}, strip, right, count,
                       width, /*accumulate=*/true);
  }
  /// Stores valueAt(i, j) to the head's part of `result`.
  void finish(const KernelBuilder::Piece &result, Value count,
              function_ref<Value(Value, Value)> valueAt) {
    k.map({count, k.index(sizes.headDim)}, [&](ValueRange at) {
      k.store(valueAt(at[0], at[1]), result.matrix,
              {k.add(result.row, at[0]), k.add(result.column, at[1])});
    });
  }

private:
  static AttentionSizes withBlocks(AttentionSizes sizes) {
    sizes.mostKeys = kBlock;
    return sizes;
  }
  static int64_t rowsFor(const AttentionSizes &sizes,
                         const simt::DeviceFeatures &device, RowMemory memory) {
    int64_t bytes = sizes.element.getIntOrFloatBitWidth() / 8;
    return rowsWithRoom(device, bytes * memory.elements(sizes.headDim),
                        simt::productBytes(kBlock, kBlock, device));
  }

public:
  KernelBuilder &k;
  const AttentionSizes sizes;
  const int64_t rows;

private:
  const bool readsCaches;
  Strips strips;
};

/// Where the parts of a head's rows are.
struct HeadPlaces {
  HeadPlaces(BlockAttention &attention, const HeadBlock &block)
      : first(block.first), count(block.count), head(block.head) {
    KernelBuilder &k = attention.k;
    const AttentionSizes &sizes = attention.sizes;
    column = k.mul(head, k.index(sizes.headDim));
    kvColumn =
        k.mul(k.div(head, k.index(sizes.group())), k.index(sizes.headDim));
    from = attention.keysOf(first).first;
    to = attention.keysOf(k.add(first, k.sub(count, k.index(1)))).second;
  }

  Value first, count, head;
  Value column, kvColumn; ///< where the head's features begin
  Value from, to;         ///< keys that its queries see
};

} // namespace

/// Of the kernel of `op` that needs most.
static std::optional<RowMemory> memoryOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<RowMemory>>(op)
      .Case<AttentionOp, CachedAttentionOp>(
          [](Operation *) { return kForward; })
      .Case([](AttentionTangentOp) { return kTangent; })
      .Case([](AttentionAdjointOp) { return kKeyAdjoint; })
      .Default(std::optional<RowMemory>());
}

std::optional<int64_t>
hone::mostHeadFeatures(Operation *op, const simt::DeviceFeatures &device) {
  std::optional<RowMemory> memory = memoryOf(op);
  if (!memory)
    return std::nullopt;
  Type element = cast<ShapedType>(op->getOperand(0).getType()).getElementType();
  int64_t bytes = computeType(element).getIntOrFloatBitWidth() / 8;
  int64_t forRows = device.sharedBytes -
                    simt::productBytes(kFewestAttentionRows, kBlock, device);
  int64_t ofRow = forRows / bytes / kFewestAttentionRows;
  return (ofRow - memory->elements(/*headDim=*/0)) / memory->results;
}

Value BlockAttention::addWeights(Value dots, const SeenRange &range,
                                 Value width, Value maxima, Value totals) {
  Value i = range.i, before = k.load(maxima, i);
  Value most = reduce(range, tile::Combine::max, [&](Value at) {
    return k.mul(k.load(dots, {i, at}), sizes.scale);
  });
  Value maximum = arith::MaximumFOp::create(k, before, most);
  Value sum = reduce(range, tile::Combine::add, [&](Value at) {
    Value weight = weightOf(k.load(dots, {i, at}), maximum);
    k.store(weight, dots, {i, at});
    return weight;
  });
  zeroOutside(dots, range, width);
  Value factor = k.exp(k.sub(before, maximum));
  k.store(maximum, maxima, i);
  k.store(k.add(k.mul(k.load(totals, i), factor), sum), totals, i);
  return factor;
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

namespace {
/// Memory that the forward reads and writes.
struct ForwardPlaces {
  Value q, key, v, y;
  Value normalizer; ///< null: nobody keeps it
};
} // namespace

static void emitForward(BlockAttention &attention, const ForwardPlaces &in) {
  KernelBuilder &k = attention.k;
  const AttentionSizes &sizes = attention.sizes;
  Value q = in.q, key = in.key, v = in.v, y = in.y;
  Value normalizer = in.normalizer;
  MemRefType term = attention.termType();
  MemRefType memory[] = {attention.stripType(), attention.sumsType(), term,
                         term, term};
  forEachHeadBlock(
      k, sizes.heads, attention.rows, memory,
      [&](const HeadBlock &block, ValueRange own) {
        Value weights = own[0], sums = own[1];
        Value maxima = own[2], totals = own[3], factors = own[4];
        HeadPlaces at(attention, block);
        attention.fill(sums, {at.count, k.index(sizes.headDim)},
                       attention.real(0.0));
        attention.fill(maxima, at.count, attention.leastScore());
        attention.fill(totals, at.count, attention.real(0.0));
        attention.forEachBlock(at.from, at.to, [&](Value first, Value width) {
          attention.dots(weights, {q, at.first, at.column},
                         {key, first, at.kvColumn}, at.count, width);
          attention.forEachRow(
              at.first, at.count, first, width,
              [&](Value row) { return attention.keysOf(row); },
              [&](const SeenRange &range) {
                Value factor =
                    attention.addWeights(weights, range, width, maxima, totals);
                k.store(factor, factors, range.i);
              });
          attention.rescale(sums, at.count, factors);
          attention.addProduct(sums, weights, {v, first, at.kvColumn}, at.count,
                               width);
        });
        k.each(at.count, [&](ValueRange point) {
          Value i = point[0], row = k.add(at.first, i);
          Value reciprocal = k.div(attention.real(1.0), k.load(totals, i));
          k.store(reciprocal, factors, i);
          if (!normalizer)
            return;
          Value place = k.mul(at.head, k.index(2));
          k.store(k.load(maxima, i), normalizer, {row, place});
          k.store(reciprocal, normalizer, {row, k.add(place, k.index(1))});
        });
        attention.finish(
            {y, at.first, at.column}, at.count, [&](Value i, Value j) {
              return k.mul(k.load(sums, {i, j}), k.load(factors, i));
            });
      });
}

void hone::emitBlockAttention(AttentionOp op, KernelBuilder &k,
                              const simt::DeviceFeatures &device) {
  BlockAttention attention(AttentionSizes::of(op, k), k, device, kForward);
  Value normalizer = op.getNormalizer();
  emitForward(attention, {k.buffer(op.getQ()), k.buffer(op.getK()),
                          k.buffer(op.getV()), k.buffer(op.getY()),
                          normalizer ? k.buffer(normalizer) : Value()});
}

void hone::emitBlockAttention(CachedAttentionOp op, KernelBuilder &k,
                              const simt::DeviceFeatures &device) {
  appendToCaches(op, k);
  AttentionSizes sizes = AttentionSizes::of(op, k);
  // Of positions, of which there are more than rows in a batch.
  sizes.window = op.getWindow();
  BlockAttention attention(sizes, k, device, kForward,
                           /*readsCaches=*/true);
  emitForward(attention,
              {k.buffer(op.getQ()), k.buffer(op.getKeys()),
               k.buffer(op.getValues()), k.buffer(op.getY()), Value()});
}

//===----------------------------------------------------------------------===//
// Tangent
//===----------------------------------------------------------------------===//

namespace {

/// Memory that the tangent reads and writes; null where there is none.
struct TangentPlaces {
  Value q, key, v, ty, tq, tk, tv, normalizer;

  bool scoresChange() const { return tq || tk; }
};

/// The tangent of a block of a head's rows, in steps.
class TangentBlock {
public:
  TangentBlock(BlockAttention &attention, const TangentPlaces &in,
               const HeadBlock &block, ValueRange own)
      : attention(attention), k(attention.k), sizes(attention.sizes), in(in),
        at(attention, block), weights(own[0]), sums(own[1]), slopes(own.back()),
        maxima(own[2]), totals(own[3]), means(own[4]) {}

  /// Of each row the maximum and the total of its weights, as they were kept or
  /// as nothing seen has them.
  void begin();
  /// Sums each row's maximum and total, if nobody kept them, and the slopes
  /// times their weights, whose mean all slopes are relative to.
  void sumMeans();
  /// From here on `totals` has reciprocals, and `means` has means.
  void divideByTotals();
  void sumResult();
  void finish();

private:
  void dots(Value strip, Value left, Value right, Value first, Value width,
            bool accumulate) {
    attention.dots(strip, {left, at.first, at.column},
                   {right, first, at.kvColumn}, at.count, width, accumulate);
  }
  void slopesOf(Value first, Value width) {
    if (in.tq)
      dots(slopes, in.tq, in.key, first, width, /*accumulate=*/false);
    if (in.tk)
      dots(slopes, in.q, in.tk, first, width, /*accumulate=*/bool(in.tq));
  }
  void forEachRow(Value first, Value width,
                  function_ref<void(const SeenRange &)> body) {
    attention.forEachRow(
        at.first, at.count, first, width,
        [&](Value row) { return attention.keysOf(row); }, body);
  }

  BlockAttention &attention;
  KernelBuilder &k;
  const AttentionSizes &sizes;
  const TangentPlaces &in;
  const HeadPlaces at;
  const Value weights, sums, slopes; ///< slopes: where scores change
  const Value maxima, totals, means;
};

} // namespace

void TangentBlock::begin() {
  attention.fill(means, at.count, attention.real(0.0));
  if (!in.normalizer) {
    attention.fill(maxima, at.count, attention.leastScore());
    attention.fill(totals, at.count, attention.real(0.0));
    return;
  }
  k.each(at.count, [&](ValueRange point) {
    Value i = point[0], row = k.add(at.first, i);
    Value place = k.mul(at.head, k.index(2));
    k.store(k.load(in.normalizer, {row, place}), maxima, i);
    k.store(k.load(in.normalizer, {row, k.add(place, k.index(1))}), totals, i);
  });
}

void TangentBlock::sumMeans() {
  if (!in.scoresChange() && in.normalizer)
    return;
  attention.forEachBlock(at.from, at.to, [&](Value first, Value width) {
    dots(weights, in.q, in.key, first, width, /*accumulate=*/false);
    slopesOf(first, width);
    forEachRow(first, width, [&](const SeenRange &range) {
      Value i = range.i, factor;
      if (!in.normalizer)
        factor = attention.addWeights(weights, range, width, maxima, totals);
      if (!in.scoresChange())
        return;
      Value sum = attention.reduce(range, tile::Combine::add, [&](Value c) {
        Value weight = k.load(weights, {i, c});
        if (in.normalizer)
          weight = attention.weightOf(weight, k.load(maxima, i));
        return k.mul(weight, k.load(slopes, {i, c}));
      });
      Value mean = k.load(means, i);
      if (factor)
        mean = k.mul(mean, factor);
      k.store(k.add(mean, sum), means, i);
    });
  });
}

void TangentBlock::divideByTotals() {
  k.each(at.count, [&](ValueRange point) {
    Value i = point[0], reciprocal = k.load(totals, i);
    if (!in.normalizer) {
      reciprocal = k.div(attention.real(1.0), reciprocal);
      k.store(reciprocal, totals, i);
    }
    k.store(k.mul(k.load(means, i), reciprocal), means, i);
  });
}

void TangentBlock::sumResult() {
  attention.fill(sums, {at.count, k.index(sizes.headDim)}, attention.real(0.0));
  attention.forEachBlock(at.from, at.to, [&](Value first, Value width) {
    dots(weights, in.q, in.key, first, width, /*accumulate=*/false);
    slopesOf(first, width);
    forEachRow(first, width, [&](const SeenRange &range) {
      Value i = range.i;
      Value maximum = k.load(maxima, i), mean = k.load(means, i);
      k.map(range.seen, [&](ValueRange c) {
        Value column = k.add(range.from, c[0]);
        Value weight =
            attention.weightOf(k.load(weights, {i, column}), maximum);
        k.store(weight, weights, {i, column});
        if (!in.scoresChange())
          return;
        Value change = k.sub(k.load(slopes, {i, column}), mean);
        k.store(k.mul(k.mul(weight, sizes.scale), change), slopes, {i, column});
      });
      attention.zeroOutside(weights, range, width);
      if (in.scoresChange())
        attention.zeroOutside(slopes, range, width);
    });
    if (in.scoresChange())
      attention.addProduct(sums, slopes, {in.v, first, at.kvColumn}, at.count,
                           width);
    if (in.tv)
      attention.addProduct(sums, weights, {in.tv, first, at.kvColumn}, at.count,
                           width);
  });
}

void TangentBlock::finish() {
  attention.finish({in.ty, at.first, at.column}, at.count,
                   [&](Value i, Value j) {
                     return k.mul(k.load(sums, {i, j}), k.load(totals, i));
                   });
}

void hone::emitBlockAttention(AttentionTangentOp op, KernelBuilder &k,
                              const simt::DeviceFeatures &device) {
  auto bufferOrNull = [&](Value value) {
    return value ? k.buffer(value) : Value();
  };
  const TangentPlaces in = {
      k.buffer(op.getQ()),      k.buffer(op.getK()),
      k.buffer(op.getV()),      k.buffer(op.getTy()),
      bufferOrNull(op.getTq()), bufferOrNull(op.getTk()),
      bufferOrNull(op.getTv()), bufferOrNull(op.getNormalizer())};
  BlockAttention attention(AttentionSizes::of(op, k), k, device,
                           in.scoresChange() ? kTangent : kForward);
  MemRefType term = attention.termType();
  SmallVector<MemRefType> memory = {attention.stripType(), attention.sumsType(),
                                    term, term, term};
  if (in.scoresChange())
    memory.push_back(attention.stripType());
  forEachHeadBlock(k, attention.sizes.heads, attention.rows, memory,
                   [&](const HeadBlock &block, ValueRange own) {
                     TangentBlock tangent(attention, in, block, own);
                     tangent.begin();
                     tangent.sumMeans();
                     tangent.divideByTotals();
                     tangent.sumResult();
                     tangent.finish();
                   });
}

//===----------------------------------------------------------------------===//
// Adjoint
//===----------------------------------------------------------------------===//

namespace {
/// Operands of the adjoint that its two kernels share.
struct AdjointPlaces {
  Value dy, q, key, v;
  /// Workspace, by head and row: D, and the normalizer's two parts; by row: the
  /// row after the last that sees the row's key.
  Value terms, maxima, reciprocals, ends;
};
} // namespace

/// exp(score - maximum) / sum where the strip has a dot.
static void storeWeight(BlockAttention &attention, Value scores, ValueRange at,
                        Value maximum, Value reciprocal) {
  KernelBuilder &k = attention.k;
  Value p = k.mul(attention.weightOf(k.load(scores, at), maximum), reciprocal);
  k.store(p, scores, at);
}

/// p (dp - D) scale where the strips have dots.
static void storeSlope(BlockAttention &attention, Value scores, Value slopes,
                       ValueRange at, Value maximum, Value reciprocal,
                       Value term) {
  KernelBuilder &k = attention.k;
  Value p = k.mul(attention.weightOf(k.load(scores, at), maximum), reciprocal);
  Value ds = k.mul(p, k.sub(k.load(slopes, at), term));
  k.store(k.mul(ds, attention.sizes.scale), slopes, at);
}

/// dq. Leaves the numbers of a row that the other kernel needs.
static void emitQueryAdjoint(AttentionAdjointOp op, KernelBuilder &k,
                             const AdjointPlaces &in,
                             const simt::DeviceFeatures &device) {
  BlockAttention attention(AttentionSizes::of(op, k), k, device, kQueryAdjoint);
  const AttentionSizes &sizes = attention.sizes;
  Value y = k.buffer(op.getY()), normalizer = k.buffer(op.getNormalizer());
  Value dq = k.buffer(op.getDq());
  MemRefType memory[] = {attention.stripType(), attention.stripType(),
                         attention.sumsType()};
  forEachHeadBlock(
      k, sizes.heads, attention.rows, memory,
      [&](const HeadBlock &block, ValueRange own) {
        Value scores = own[0], slopes = own[1], sums = own[2];
        HeadPlaces at(attention, block);
        attention.fill(sums, {at.count, k.index(sizes.headDim)},
                       attention.real(0.0));
        k.each(at.count, [&](ValueRange point) {
          Value row = k.add(at.first, point[0]);
          Value term = k.reduce(k.index(sizes.headDim), tile::Combine::add,
                                sizes.element, [&](Value j) {
                                  Value column = k.add(at.column, j);
                                  return k.mul(k.load(in.dy, {row, column}),
                                               k.load(y, {row, column}));
                                });
          k.store(term, in.terms, {at.head, row});
          Value place = k.mul(at.head, k.index(2));
          k.store(k.load(normalizer, {row, place}), in.maxima, {at.head, row});
          k.store(k.load(normalizer, {row, k.add(place, k.index(1))}),
                  in.reciprocals, {at.head, row});
        });
        Value isFirst = arith::CmpIOp::create(k, arith::CmpIPredicate::eq,
                                              at.head, k.index(0));
        k.when(isFirst, [&] {
          k.each(at.count, [&](ValueRange point) {
            storeKeyEnd(k, sizes, k.add(at.first, point[0]), in.ends);
          });
        });
        attention.forEachBlock(at.from, at.to, [&](Value first, Value width) {
          attention.dots(scores, {in.q, at.first, at.column},
                         {in.key, first, at.kvColumn}, at.count, width);
          attention.dots(slopes, {in.dy, at.first, at.column},
                         {in.v, first, at.kvColumn}, at.count, width);
          attention.forEachRow(
              at.first, at.count, first, width,
              [&](Value row) { return attention.keysOf(row); },
              [&](const SeenRange &range) {
                Value term = k.load(in.terms, {at.head, range.row});
                Value maximum = k.load(in.maxima, {at.head, range.row});
                Value reciprocal = k.load(in.reciprocals, {at.head, range.row});
                k.map(range.seen, [&](ValueRange c) {
                  storeSlope(attention, scores, slopes,
                             {range.i, k.add(range.from, c[0])}, maximum,
                             reciprocal, term);
                });
                attention.zeroOutside(slopes, range, width);
              });
          attention.addProduct(sums, slopes, {in.key, first, at.kvColumn},
                               at.count, width);
        });
        attention.finish(
            {dq, at.first, at.column}, at.count,
            [&](Value i, Value j) { return k.load(sums, {i, j}); });
      });
}

/// dk, or dv: rows are keys, and blocks are of the queries that see them, for
/// each head of the group in order.
static void sumOverQueries(BlockAttention &attention, const AdjointPlaces &in,
                           const HeadBlock &block, ValueRange own, Value to,
                           bool ofKeys) {
  KernelBuilder &k = attention.k;
  const AttentionSizes &sizes = attention.sizes;
  Value weights = own[0], slopes = own[1], sums = own[2];
  Value headDim = k.index(sizes.headDim);
  Value kvColumn = k.mul(block.head, headDim);
  Value last = k.add(block.first, k.sub(block.count, k.index(1)));
  Value end = k.loadIndex(in.ends, last);
  attention.fill(sums, {block.count, headDim}, attention.real(0.0));
  k.loop(k.index(0), k.index(sizes.group()), 1, [&](Value member) {
    Value head = k.add(k.mul(block.head, k.index(sizes.group())), member);
    Value column = k.mul(head, headDim);
    attention.forEachBlock(block.first, end, [&](Value first, Value width) {
      attention.dots(weights, {in.key, block.first, kvColumn},
                     {in.q, first, column}, block.count, width);
      if (ofKeys)
        attention.dots(slopes, {in.v, block.first, kvColumn},
                       {in.dy, first, column}, block.count, width);
      attention.forEachRow(
          block.first, block.count, first, width,
          [&](Value row) { return std::pair(row, k.loadIndex(in.ends, row)); },
          [&](const SeenRange &range) {
            k.map(range.seen, [&](ValueRange c) {
              Value at = k.add(range.from, c[0]), query = k.add(first, at);
              Value place[] = {range.i, at};
              Value maximum = k.load(in.maxima, {head, query});
              Value reciprocal = k.load(in.reciprocals, {head, query});
              if (ofKeys)
                storeSlope(attention, weights, slopes, place, maximum,
                           reciprocal, k.load(in.terms, {head, query}));
              else
                storeWeight(attention, weights, place, maximum, reciprocal);
            });
            attention.zeroOutside(ofKeys ? slopes : weights, range, width);
          });
      if (ofKeys)
        attention.addProduct(sums, slopes, {in.q, first, column}, block.count,
                             width);
      else
        attention.addProduct(sums, weights, {in.dy, first, column}, block.count,
                             width);
    });
  });
  attention.finish({to, block.first, kvColumn}, block.count,
                   [&](Value i, Value j) { return k.load(sums, {i, j}); });
}

/// Workgroups of keys and those of values are apart: a thread has no registers
/// for the addresses of both.
static void emitKeyAdjoint(AttentionAdjointOp op, KernelBuilder &k,
                           const AdjointPlaces &in,
                           const simt::DeviceFeatures &device) {
  BlockAttention attention(AttentionSizes::of(op, k), k, device, kKeyAdjoint);
  const AttentionSizes &sizes = attention.sizes;
  MemRefType memory[] = {attention.stripType(), attention.stripType(),
                         attention.sumsType()};
  forEachHeadBlock(
      k, 2 * sizes.kvHeads, attention.rows, memory,
      [&](const HeadBlock &block, ValueRange own) {
        Value kvHeads = k.index(sizes.kvHeads);
        HeadBlock rows{k.rem(block.head, kvHeads), block.first, block.count};
        Value isOfKeys = arith::CmpIOp::create(k, arith::CmpIPredicate::ult,
                                               block.head, kvHeads);
        auto sum = [&](Value result, bool ofKeys) {
          sumOverQueries(attention, in, rows, own, k.buffer(result), ofKeys);
        };
        k.when(
            isOfKeys, [&] { sum(op.getDk(), /*ofKeys=*/true); },
            [&] { sum(op.getDv(), /*ofKeys=*/false); });
      });
}

void hone::emitBlockAttention(AttentionAdjointOp op, KernelBuilder &k,
                              const simt::DeviceFeatures &device) {
  AdjointPlaces in;
  in.dy = k.buffer(op.getDy());
  in.q = k.buffer(op.getQ());
  in.key = k.buffer(op.getK());
  in.v = k.buffer(op.getV());
  in.terms = k.workspace(op, 0);
  in.maxima = k.workspace(op, 1);
  in.reciprocals = k.workspace(op, 2);
  in.ends = k.workspace(op, 3);
  emitQueryAdjoint(op, k, in, device);
  emitKeyAdjoint(op, k, in, device);
}
