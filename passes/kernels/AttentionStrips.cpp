//===- AttentionStrips.cpp - Rows of scores and the loops over them -------===//
//
// See AttentionStrips.h.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/AttentionStrips.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace hone;
using numerics::kAttentionRows;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Value AttentionSizes::firstKey(KernelBuilder &k, Value row) const {
  Value start = k.startOf(starts, row);
  if (!window)
    return start;
  // It is negative for the first rows.
  Value first = k.sub(row, k.index(*window - 1));
  return arith::MaxSIOp::create(k, start, first);
}

void hone::forEachHeadBlock(
    KernelBuilder &k, int64_t heads, int64_t size, ArrayRef<MemRefType> scratch,
    function_ref<void(const HeadBlock &, ValueRange)> body) {
  Value blocks = k.ceilDiv(k.rows(), size);
  k.parallel(k.mul(k.index(heads), blocks), scratch,
             [&](Value i, ValueRange buffers) {
               Value most = k.index(size);
               Value first = k.mul(k.rem(i, blocks), most);
               Value count = k.min(most, k.sub(k.rows(), first));
               body({k.div(i, blocks), first, count}, buffers);
             });
}

void hone::forEachQueryStrip(
    KernelBuilder &k, const AttentionSizes &sizes, ArrayRef<MemRefType> scratch,
    function_ref<void(const QueryStrip &, ValueRange)> body) {
  forEachHeadBlock(k, sizes.heads, kAttentionRows, scratch,
                   [&](const HeadBlock &block, ValueRange buffers) {
                     Value headDim = k.index(sizes.headDim);
                     QueryStrip strip;
                     strip.first = block.first;
                     strip.count = block.count;
                     strip.head = block.head;
                     strip.column = k.mul(block.head, headDim);
                     strip.kvColumn = k.mul(
                         k.div(block.head, k.index(sizes.group())), headDim);
                     strip.origin = sizes.firstKey(k, block.first);
                     strip.keys =
                         k.sub(k.add(block.first, block.count), strip.origin);
                     body(strip, buffers);
                   });
}

void hone::forEachQuery(KernelBuilder &k, const AttentionSizes &sizes,
                        const QueryStrip &strip,
                        function_ref<void(const QueryRow &)> body) {
  k.each(strip.count, [&](ValueRange i) {
    Value row = k.add(strip.first, i[0]), start = sizes.firstKey(k, row);
    Value seen = k.add(k.sub(row, start), k.index(1));
    body({i[0], row, /*from=*/k.sub(start, strip.origin), seen});
  });
}

//===----------------------------------------------------------------------===//
// Strips
//===----------------------------------------------------------------------===//

MemRefType Strips::stripType() const {
  int64_t columns = llvm::alignTo(mostKeys, width);
  return MemRefType::get({rows, columns}, element);
}

MemRefType Strips::rowTermType() const {
  return MemRefType::get({rows}, element);
}

void Strips::addResults(SmallVectorImpl<MemRefType> &scratch,
                        unsigned count) const {
  if (roundsResults)
    scratch.append(count, MemRefType::get({rows, headDim}, element));
}

HeadResult Strips::resultAt(const KernelBuilder::Piece &result, Value scratch) {
  if (!roundsResults)
    return {result, result};
  return {{scratch, k.index(0), k.index(0)}, result};
}

void Strips::finish(const HeadResult &result, Value rows) {
  if (!roundsResults)
    return;
  const KernelBuilder::Piece &to = result.result;
  k.map({rows, k.index(headDim)}, [&](ValueRange point) {
    k.store(k.load(result.sums.matrix, point), to.matrix,
            {k.add(to.row, point[0]), k.add(to.column, point[1])});
  });
}

void Strips::dots(Value strip, const KernelBuilder::Piece &left,
                  const KernelBuilder::Piece &right, Value rows, Value columns,
                  bool accumulate) {
  k.loop(k.index(0), columns, width, [&](Value c) {
    KernelBuilder::Product product{
        {strip, k.index(0), c},
        left,
        {right.matrix, k.add(right.row, c), right.column},
        rows,
        k.min(k.index(width), k.sub(columns, c)),
        k.index(headDim),
        width,
        headDim};
    product.rounded = k.rounds(element);
    product.transposeW = true;
    product.accumulate = accumulate;
    product.padded = true;
    k.product(product);
  });
}

void Strips::zeroOutside(Value strip, Value i, Value from, Value to,
                         Value columns) {
  Value zero = k.real(element, 0.0);
  k.map(from, [&](ValueRange c) { k.store(zero, strip, {i, c[0]}); });
  k.map(k.sub(columns, to),
        [&](ValueRange c) { k.store(zero, strip, {i, k.add(to, c[0])}); });
}

void Strips::weightedSum(const KernelBuilder::Piece &out, Value strip,
                         const KernelBuilder::Piece &right, Value rows,
                         Value columns, bool accumulate,
                         KernelBuilder::Epilogue epilogue) {
  for (int64_t j = 0; j < headDim; j += headWidth) {
    Value zero = k.index(0), offset = k.index(j);
    KernelBuilder::Product product{
        {out.matrix, out.row, k.add(out.column, offset)},
        {strip, zero, zero},
        {right.matrix, right.row, k.add(right.column, offset)},
        rows,
        k.index(std::min(headWidth, headDim - j)),
        columns,
        headWidth,
        std::min(mostKeys, numerics::kAttentionBlock)};
    product.rounded = k.rounds(element);
    product.accumulate = accumulate;
    product.fewRows = true;
    k.product(product, epilogue);
  }
}
