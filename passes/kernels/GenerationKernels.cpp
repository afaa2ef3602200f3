//===- GenerationKernels.cpp - Rows that continue a sequence --------------===//
//
// Attention reads the caches as it reads rows: a strip of scores over the
// positions that a few queries see (AttentionStrips.h). Strips begin where a
// block of sums does, counted from position 0, so that a row's sums do not
// depend on the rows that come with it.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/AttentionKernels.h"
#include "passes/kernels/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace hone;

/// The position of `row` in its sequence.
static Value positionOf(KernelBuilder &k, Value starts, Value row) {
  return k.sub(row, k.loadIndex(starts, row));
}

/// The first position that a query at `position` sees.
static Value firstSeen(KernelBuilder &k, std::optional<uint64_t> window,
                       Value position) {
  if (!window)
    return k.index(0);
  Value first = k.sub(position, k.index(static_cast<int64_t>(*window) - 1));
  return arith::MaxSIOp::create(k, first, k.index(0));
}

void hone::appendToCaches(CachedAttentionOp op, KernelBuilder &k) {
  Value starts = k.buffer(op.getStarts());
  const std::pair<Value, Value> copies[] = {{op.getK(), op.getKeys()},
                                            {op.getV(), op.getValues()}};
  Value columns = k.index(op.getKeys().getType().getDimSize(1));
  k.forEachRow([&](Value row) {
    Value position = positionOf(k, starts, row);
    for (auto [from, to] : copies)
      k.map(columns, [&, from = from, to = to](ValueRange j) {
        Value element = k.load(k.buffer(from), {row, j[0]});
        k.store(element, k.buffer(to), {position, j[0]});
      });
  });
}

void hone::emitKernel(CachedAttentionOp op, KernelBuilder &k) {
  appendToCaches(op, k);
  AttentionSizes sizes = AttentionSizes::of(op, k);
  sizes.mostKeys = op.getKeys().getType().getDimSize(0);
  Value q = k.buffer(op.getQ()), y = k.buffer(op.getY());
  Value keys = k.buffer(op.getKeys()), values = k.buffer(op.getValues());
  Strips strips(k, sizes);

  SmallVector<MemRefType> scratch = {strips.stripType(), strips.rowTermType()};
  strips.addResults(scratch, 1);
  forEachHeadBlock(
      k, sizes.heads, numerics::kAttentionRows, scratch,
      [&](const HeadBlock &block, ValueRange buffers) {
        Value strip = buffers[0], reciprocals = buffers[1];
        Value headDim = k.index(sizes.headDim);
        Value column = k.mul(block.head, headDim);
        Value kvColumn =
            k.mul(k.div(block.head, k.index(sizes.group())), headDim);
        Value first = positionOf(k, sizes.starts, block.first);
        Value size = k.index(numerics::kAttentionBlock);
        Value origin =
            k.mul(k.div(firstSeen(k, op.getWindow(), first), size), size);
        Value count = k.sub(k.add(first, block.count), origin);
        HeadResult result =
            strips.resultAt({y, block.first, column}, buffers.back());
        strips.dots(strip, {q, block.first, column}, {keys, origin, kvColumn},
                    block.count, count);
        k.each(block.count, [&](ValueRange point) {
          Value i = point[0], row = k.add(block.first, i);
          Value position = positionOf(k, sizes.starts, row);
          Value from = firstSeen(k, op.getWindow(), position);
          Value seen = k.add(k.sub(position, from), k.index(1));
          softmaxRow(k, strips, strip, {i, row, k.sub(from, origin), seen},
                     count, sizes.scale, reciprocals);
        });
        strips.weightedSum(result.sums, strip, {values, origin, kvColumn},
                           block.count, count, /*accumulate=*/false,
                           normalizedBy(k, reciprocals));
        strips.finish(result, block.count);
      });
}

void hone::emitKernel(LogitsOp op, KernelBuilder &k) {
  auto weight = cast<RankedTensorType>(op.getWeight().getType());
  int64_t vocabulary = weight.getDimSize(0), hidden = weight.getDimSize(1);
  Type element = getElementTypeOrSelf(op.getY().getType());
  Value head = k.buffer(op.getWeight()), x = k.buffer(op.getX());
  Value y = tile::ViewOp::create(k, MemRefType::get({1, vocabulary}, element),
                                 k.buffer(op.getY()), k.index(0));
  auto emitPiece = [&](Value first, int64_t width) {
    KernelBuilder::Tiling tiling{k.index(1), width, numerics::dotBlock(hidden)};
    tiling.mayRound = true;
    k.forEachTile(element, tiling, [&](const KernelBuilder::Tile &tile) {
      Value last = k.sub(k.rows(), k.index(1)), zero = k.index(0);
      Value column = k.add(first, tile.column);
      KernelBuilder::Product product = k.productFor(
          tile, y, {x, last, zero}, {head, column, zero}, k.index(hidden));
      product.c.column = column;
      product.transposeW = true;
      product.readAhead = true;
      k.product(product);
    });
  };
  // Pages go between parallel loops only; without that one is enough.
  if (op.getStreamed())
    forEachHeadPiece(k, head, /*streamed=*/true, emitPiece);
  else
    emitPiece(k.index(0), vocabulary);
}
