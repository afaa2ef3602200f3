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

/// Runs body(first, count, own) for blocks of `columns`, in parallel. `own` is
/// private memory of type `scratch`; null: none.
static void forEachColumnBlock(KernelBuilder &k, int64_t columns,
                               ArrayRef<MemRefType> scratch,
                               function_ref<void(Value, Value, Value)> body) {
  int64_t width = std::min(k.blocks().summedColumns, columns);
  k.parallel(k.index(llvm::divideCeil(columns, width)), scratch,
             [&](Value block, ValueRange own) {
               Value first = k.mul(block, k.index(width));
               Value count =
                   k.min(k.index(width), k.sub(k.index(columns), first));
               body(first, count, own.empty() ? Value() : own[0]);
             });
}

/// A row of `count` ones: a product with it is a sum of rows, since
/// fma(1, x, sum) has the bits of sum + x.
static Value onesFor(KernelBuilder &k, int64_t count, Type element) {
  auto type = RankedTensorType::get({1, count}, element);
  return k.table("ones", DenseElementsAttr::get(
                             type, Attribute(k.getFloatAttr(element, 1.0))));
}

/// The gradient of a vector as a matrix of one row.
static Value asRow(KernelBuilder &k, Value gradient) {
  auto type = cast<MemRefType>(gradient.getType());
  return tile::ViewOp::create(
      k, MemRefType::get({1, type.getDimSize(0)}, type.getElementType()),
      gradient, k.index(0));
}

void hone::addColumnSums(
    KernelBuilder &k, Value gradient,
    function_ref<std::function<Value(Value)>(Value)> termsOf) {
  auto type = cast<MemRefType>(gradient.getType());
  Type element = type.getElementType();
  const int64_t rows = std::min(k.maxRows(), numerics::kGradientRows);
  const int64_t width = std::min(k.blocks().summedColumns, type.getDimSize(0));
  Value row = asRow(k, gradient), ones = onesFor(k, rows, element);
  forEachColumnBlock(
      k, type.getDimSize(0), MemRefType::get({rows, width}, element),
      [&](Value first, Value count, Value terms) {
        Value none = k.index(0);
        k.loop(none, k.rows(), rows, [&](Value begin) {
          Value size = k.min(k.index(rows), k.sub(k.rows(), begin));
          k.each(size, [&](ValueRange i) {
            std::function<Value(Value)> term = termsOf(k.add(begin, i[0]));
            k.map(count, [&](ValueRange j) {
              k.store(term(k.add(first, j[0])), terms, {i[0], j[0]});
            });
          });
          KernelBuilder::Product product{.c = {row, none, first},
                                         .a = {ones, none, none},
                                         .w = {terms, none, none},
                                         .rows = k.index(1),
                                         .columns = count,
                                         .depth = size,
                                         .mostColumns = width,
                                         .terms = rows};
          product.accumulate = true;
          product.fewRows = true;
          k.product(product);
        });
      });
}

void hone::addBiasSums(KernelBuilder &k, Value gradient, Value dy) {
  auto type = cast<MemRefType>(gradient.getType());
  Type element = type.getElementType();
  Value row = asRow(k, gradient), ones = onesFor(k, k.maxRows(), element);
  KernelBuilder::Tiling tiling{k.index(1), type.getDimSize(0),
                               std::min(k.maxRows(), numerics::kGradientRows)};
  k.forEachTile(element, tiling, [&](const KernelBuilder::Tile &tile) {
    Value zero = k.index(0);
    KernelBuilder::Product product = k.productFor(
        tile, row, {ones, zero, zero}, {dy, zero, tile.column}, k.rows());
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
  forEachColumnBlock(
      k, type.getDimSize(1), {}, [&](Value first, Value count, Value) {
        k.loop(k.index(0), k.rows(), 1, [&](Value row) {
          Value at = place(row);
          k.map(count, [&](ValueRange j) {
            Value column = k.add(first, j[0]);
            Value sum = k.add(k.load(table, {at, column}), term(row, column));
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
