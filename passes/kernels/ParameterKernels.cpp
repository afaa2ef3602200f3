//===- ParameterKernels.cpp - Gradients of vectors and tables -------------===//
//
// Sums over rows. One iteration owns some columns of a gradient and runs over
// all rows, so no sum is shared between iterations.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/Numerics.h"
#include "passes/kernels/Kernels.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace hone;

/// Runs body(first, count, sums) for blocks of `columns`, in parallel. `sums`
/// is private: memref<1 x the columns of a block>.
static void forEachColumnBlock(KernelBuilder &k, int64_t columns, Type element,
                               function_ref<void(Value, Value, Value)> body) {
  int64_t width = std::min(k.blocks().summedColumns, columns);
  k.parallel(k.index(llvm::divideCeil(columns, width)),
             MemRefType::get({1, width}, element),
             [&](Value block, ValueRange scratch) {
               Value first = k.mul(block, k.index(width));
               Value count =
                   k.min(k.index(width), k.sub(k.index(columns), first));
               body(first, count, scratch[0]);
             });
}

void hone::addColumnSums(
    KernelBuilder &k, Value gradient,
    function_ref<std::function<Value(Value)>(Value)> termsOf) {
  auto type = cast<MemRefType>(gradient.getType());
  Type element = type.getElementType();
  forEachColumnBlock(
      k, type.getDimSize(0), element,
      [&](Value first, Value count, Value sums) {
        Value none = k.index(0);
        k.loop(none, k.rows(), numerics::kGradientRows, [&](Value begin) {
          Value end =
              k.min(k.rows(), k.add(begin, k.index(numerics::kGradientRows)));
          Value zero = k.real(element, 0.0);
          k.map(count,
                [&](ValueRange j) { k.store(zero, sums, {none, j[0]}); });
          k.loop(begin, end, 1, [&](Value row) {
            std::function<Value(Value)> term = termsOf(row);
            k.map(count, [&](ValueRange j) {
              Value sum =
                  k.add(k.load(sums, {none, j[0]}), term(k.add(first, j[0])));
              k.store(sum, sums, {none, j[0]});
            });
          });
          k.map(count, [&](ValueRange j) {
            Value at = k.add(first, j[0]);
            k.store(k.add(k.load(gradient, at), k.load(sums, {none, j[0]})),
                    gradient, at);
          });
        });
      });
}

void hone::addBiasSums(KernelBuilder &k, Value gradient, Value dy) {
  // A product with a row of ones: fma(1, x, sum) has the bits of sum + x.
  auto type = cast<MemRefType>(gradient.getType());
  Type element = type.getElementType();
  auto rowOf = [&](int64_t length) {
    return MemRefType::get({1, length}, element);
  };
  Value row =
      tile::ViewOp::create(k, rowOf(type.getDimSize(0)), gradient, k.index(0));
  auto ones = RankedTensorType::get({1, k.maxRows()}, element);
  Value table = k.table(
      "ones",
      DenseElementsAttr::get(ones, Attribute(k.getFloatAttr(element, 1.0))));
  KernelBuilder::Tiling tiling{k.index(1), type.getDimSize(0),
                               std::min(k.maxRows(), numerics::kGradientRows)};
  k.forEachTile(element, tiling, [&](const KernelBuilder::Tile &tile) {
    Value zero = k.index(0);
    KernelBuilder::Product product = k.productFor(
        tile, row, {table, zero, zero}, {dy, zero, tile.column}, k.rows());
    product.accumulate = true;
    product.fewRows = true;
    k.product(product);
  });
}

void hone::emitKernel(BiasAdjointOp op, KernelBuilder &k) {
  addBiasSums(k, zeroedGradient(op.getDb(), k), k.buffer(op.getDy()));
}

void hone::emitKernel(BiasTangentOp op, KernelBuilder &k) {
  Value tb = k.buffer(op.getTb()), ty = k.buffer(op.getTy());
  Type element = computeType(getElementTypeOrSelf(op.getTy().getType()));
  k.forEachElement(columnsOf(op.getTy()), [&](Value row, Value column) {
    k.store(k.loadAs(element, tb, column), ty, {row, column});
  });
}

void hone::emitKernel(RmsNormParameterAdjointOp op, KernelBuilder &k) {
  Value dy = k.buffer(op.getDy()), x = k.buffer(op.getX());
  Value rstd = op.getRstd() ? k.buffer(op.getRstd()) : k.workspace(op, 0);
  int64_t heads = op.getHeads(), width = columnsOf(op.getX()) / heads;
  if (!op.getRstd())
    k.forEachHead(heads, [&](Value row, Value head) {
      Value column = k.mul(head, k.index(width));
      k.store(reciprocalRms(k, x, row, column, width, op.getEps()), rstd,
              {row, head});
    });
  addColumnSums(k, zeroedGradient(op.getDw(), k), [&](Value row) {
    SmallVector<Value> scales;
    for (int64_t head = 0; head < heads; ++head)
      scales.push_back(k.load(rstd, {row, k.index(head)}));
    // Few heads: the terms of a row are added before they go into the sum.
    return [=, &k](Value j) {
      Value sum;
      for (auto [head, scale] : llvm::enumerate(scales)) {
        Value column = k.add(k.index(head * width), j);
        Value normal = k.mul(k.load(x, {row, column}), scale);
        Value term = k.mul(k.load(dy, {row, column}), normal);
        sum = sum ? k.add(sum, term) : term;
      }
      return sum;
    };
  });
}

/// table[place(row)] += term(row, j) for each row of the batch, in their order.
static void addRows(KernelBuilder &k, Value table,
                    function_ref<Value(Value)> place,
                    function_ref<Value(Value, Value)> term) {
  auto type = cast<MemRefType>(table.getType());
  forEachColumnBlock(k, type.getDimSize(1), type.getElementType(),
                     [&](Value first, Value count, Value) {
                       k.loop(k.index(0), k.rows(), 1, [&](Value row) {
                         Value at = place(row);
                         k.map(count, [&](ValueRange j) {
                           Value column = k.add(first, j[0]);
                           Value sum = k.add(k.load(table, {at, column}),
                                             term(row, column));
                           k.store(sum, table, {at, column});
                         });
                       });
                     });
}

void hone::emitKernel(EmbeddingParameterAdjointOp op, KernelBuilder &k) {
  Value dy = k.buffer(op.getDy()), ids = k.buffer(op.getIds());
  Type element = getElementTypeOrSelf(op.getDt().getType());
  addRows(
      k, zeroedGradient(op.getDt(), k),
      [&](Value row) { return k.loadIndex(ids, row); },
      [&](Value row, Value column) {
        Value term = k.load(dy, {row, column});
        if (op.getScale())
          term = k.mul(term, k.real(element, op.getScale()->convertToDouble()));
        return term;
      });
}

void hone::emitKernel(PositionEmbeddingParameterAdjointOp op,
                      KernelBuilder &k) {
  Value dy = k.buffer(op.getDy()), starts = k.buffer(op.getStarts());
  addRows(
      k, zeroedGradient(op.getDtable(), k),
      [&](Value row) {
        Value position = k.sub(row, k.loadIndex(starts, row));
        return k.add(position, k.index(op.getOffset()));
      },
      [&](Value row, Value column) { return k.load(dy, {row, column}); });
}
