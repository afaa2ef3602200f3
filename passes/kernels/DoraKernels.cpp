//===- DoraKernels.cpp - Lengths and magnitudes of rows -------------------===//

#include "passes/kernels/Kernels.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace hone;

/// One row of the sum at a time, private to a thread: B's elements are added up
/// over the rank, in order, then the squares.
void hone::emitKernel(RowLengthsOp op, KernelBuilder &k) {
  Value weight = k.buffer(op.getWeight()), b = k.buffer(op.getB());
  Value lengths = k.buffer(op.getLengths());
  Value a = formedOnce(k, op, op.getA(), 0);
  Type element = op.getLengths().getType().getElementType();
  const int64_t rank = op.getA().getType().getDimSize(0);
  const int64_t width = columnsOf(op.getA());
  auto rowOf = [&](int64_t columns) {
    return MemRefType::get({1, columns}, element);
  };
  Value zero = k.index(0), columns = k.index(width);
  Value scale = k.real(element, op.getScale().convertToDouble());
  const int64_t rows = op.getLengths().getType().getDimSize(0);
  k.parallel(
      k.index(rows), {rowOf(width), rowOf(rank)},
      [&](Value row, ValueRange scratch) {
        Value sum = scratch[0], factors = scratch[1];
        k.readRow(sum, weight, row, zero, columns, /*release=*/false);
        k.readRow(factors, b, row, zero, k.index(rank), /*release=*/false);
        k.loop(zero, k.index(rank), 1, [&](Value r) {
          Value factor = k.mul(scale, k.load(factors, {zero, r}));
          k.map(columns, [&](ValueRange i) {
            Value term = k.mul(factor, k.loadAs(element, a, {r, i[0]}));
            k.store(k.add(k.load(sum, {zero, i[0]}), term), sum, {zero, i[0]});
          });
        });
        Value squares =
            k.reduce(columns, tile::Combine::add, element, [&](Value i) {
              Value value = k.load(sum, {zero, i});
              return k.mul(value, value);
            });
        k.store(math::SqrtOp::create(k, squares), lengths, row);
      });
}

void hone::emitKernel(RescaleOp op, KernelBuilder &k) {
  Value x = k.buffer(op.getX()), y = k.buffer(op.getY());
  Value magnitude = k.buffer(op.getMagnitude());
  Value lengths = k.buffer(op.getLengths());
  Value bias = op.getBias() ? k.buffer(op.getBias()) : Value();
  Value factors = k.workspace(op, 0);
  Type element = op.getLengths().getType().getElementType();
  k.once([&] {
    k.map(k.index(columnsOf(op.getX())), [&](ValueRange j) {
      k.store(k.div(k.loadAs(element, magnitude, j[0]), k.load(lengths, j[0])),
              factors, j[0]);
    });
  });
  k.forEachElement(columnsOf(op.getX()), [&](Value row, Value column) {
    Value value = k.mul(k.load(x, {row, column}), k.load(factors, column));
    if (bias)
      value = k.add(value, k.loadAs(element, bias, column));
    k.store(value, y, {row, column});
  });
}

void hone::emitKernel(RescaleParameterAdjointOp op, KernelBuilder &k) {
  Value dy = k.buffer(op.getDy()), x = k.buffer(op.getX());
  Value lengths = k.buffer(op.getLengths());
  addColumnSums(k, zeroedGradient(op.getDm(), k), [&](Value row) {
    return [=, &k](Value j) {
      Value term = k.mul(k.load(dy, {row, j}), k.load(x, {row, j}));
      return k.div(term, k.load(lengths, j));
    };
  });
}
