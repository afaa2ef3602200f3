//===- RowKernels.cpp - Row-wise and element-wise ops ---------------------===//
//
// Every row is independent of the others; a row's sums are taken by
// tile.reduce, whose order depends only on the row's length.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace hone;

/// The type that ops on `value` compute in.
static Type elementOf(Value value) {
  return computeType(getElementTypeOrSelf(value.getType()));
}

static int64_t columnsOf(Value matrix) {
  return cast<RankedTensorType>(matrix.getType()).getDimSize(1);
}

void hone::emitKernel(EmbeddingOp op, KernelBuilder &k) {
  Value ids = k.buffer(op.getIds()), table = k.buffer(op.getTable());
  Value y = k.buffer(op.getY());
  int64_t width = columnsOf(op.getY());
  Value zero = k.index(0), columns = k.index(width);
  auto whole = MemRefType::get({1, width}, elementOf(op.getY()));
  k.parallel(k.rows(), whole, [&](Value row, ValueRange scratch) {
    k.readRow(scratch[0], table, k.loadIndex(ids, row), zero, columns,
              op.getStreamed());
    k.map(columns, [&](ValueRange j) {
      k.store(k.load(scratch[0], {zero, j[0]}), y, {row, j[0]});
    });
  });
}

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

Value hone::reciprocalRms(KernelBuilder &k, Value x, Value row,
                          const APFloat &eps) {
  auto type = cast<MemRefType>(x.getType());
  Type element = computeType(type.getElementType());
  int64_t columns = type.getDimSize(1);
  Value sum =
      k.reduce(k.index(columns), tile::Combine::add, element, [&](Value j) {
        Value value = k.load(x, {row, j});
        return k.mul(value, value);
      });
  Value mean = k.div(sum, k.real(element, columns));
  Value shifted = k.add(mean, k.real(element, eps.convertToDouble()));
  return k.div(k.real(element, 1.0), math::SqrtOp::create(k, shifted));
}

void hone::emitKernel(RmsNormOp op, KernelBuilder &k) {
  Value x = k.buffer(op.getX()), y = k.buffer(op.getY());
  Value weight = k.buffer(op.getWeight());
  Value rstd = op.getRstd() ? k.buffer(op.getRstd()) : Value();
  Type element = elementOf(op.getX());
  k.forEachRow([&](Value row) {
    Value r = reciprocalRms(k, x, row, op.getEps());
    if (rstd)
      k.store(r, rstd, row);
    k.map(k.index(columnsOf(op.getX())), [&](ValueRange j) {
      Value normal = k.mul(k.load(x, {row, j[0]}), r);
      k.store(k.mul(normal, k.loadAs(element, weight, j[0])), y, {row, j[0]});
    });
  });
}

/// `r * (d - x * r^2 * mean(d * x))` of each row: the derivative of x * r along
/// `direction` d. The map is symmetric, so it is its own adjoint: the tangent
/// multiplies by the weight after it, the adjoint before it.
template <typename OpTy>
static void
emitNormDerivative(OpTy op, KernelBuilder &k,
                   function_ref<Value(Value row, Value j)> direction,
                   function_ref<void(Value row, Value j, Value)> finish) {
  Value x = k.buffer(op.getX());
  Type element = elementOf(op.getX());
  int64_t columns = columnsOf(op.getX());
  k.forEachRow([&](Value row) {
    Value r = op.getRstd() ? k.load(k.buffer(op.getRstd()), row)
                           : reciprocalRms(k, x, row, op.getEps());
    Value sum =
        k.reduce(k.index(columns), tile::Combine::add, element, [&](Value j) {
          return k.mul(direction(row, j), k.load(x, {row, j}));
        });
    Value mean = k.div(sum, k.real(element, columns));
    Value factor = k.mul(k.mul(r, r), mean);
    k.map(k.index(columns), [&](ValueRange j) {
      Value along = k.mul(k.load(x, {row, j[0]}), factor);
      finish(row, j[0], k.mul(r, k.sub(direction(row, j[0]), along)));
    });
  });
}

void hone::emitKernel(RmsNormAdjointOp op, KernelBuilder &k) {
  Value dy = k.buffer(op.getDy()), dx = k.buffer(op.getDx());
  Value weight = k.buffer(op.getWeight());
  Type element = elementOf(op.getX());
  emitNormDerivative(
      op, k,
      [&](Value row, Value j) {
        return k.mul(k.load(dy, {row, j}), k.loadAs(element, weight, j));
      },
      [&](Value row, Value j, Value value) { k.store(value, dx, {row, j}); });
}

void hone::emitKernel(RmsNormTangentOp op, KernelBuilder &k) {
  Value tx = k.buffer(op.getTx()), ty = k.buffer(op.getTy());
  Value weight = k.buffer(op.getWeight());
  Type element = elementOf(op.getX());
  emitNormDerivative(
      op, k, [&](Value row, Value j) { return k.load(tx, {row, j}); },
      [&](Value row, Value j, Value value) {
        k.store(k.mul(value, k.loadAs(element, weight, j)), ty, {row, j});
      });
}

//===----------------------------------------------------------------------===//
// Rotation
//===----------------------------------------------------------------------===//

/// `f(position * frequency)` for every position and frequency, computed in
/// double and rounded once.
static Value angleTable(KernelBuilder &k, StringRef name, int64_t positions,
                        ArrayRef<double> frequencies, Type element,
                        double (*f)(double)) {
  auto type = RankedTensorType::get(
      {positions, static_cast<int64_t>(frequencies.size())}, element);
  SmallVector<APFloat> values;
  values.reserve(type.getNumElements());
  const llvm::fltSemantics &semantics =
      cast<FloatType>(element).getFloatSemantics();
  for (int64_t position = 0; position < positions; ++position)
    for (double frequency : frequencies) {
      APFloat &value = values.emplace_back(f(position * frequency));
      bool losesInfo;
      value.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
    }
  return k.table(name, DenseElementsAttr::get(type, values));
}

void hone::emitKernel(RopeOp op, KernelBuilder &k) {
  Value x = k.buffer(op.getX()), y = k.buffer(op.getY());
  Value starts = k.buffer(op.getStarts());
  Type element = elementOf(op.getX());
  int64_t headDim = op.getHeadDim(), half = headDim / 2;
  SmallVector<double> frequencies = op.getFrequencies();
  auto most = op->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(
      HoneDialect::getMaxPositionsAttrName());
  int64_t positions = most ? most.getInt() : k.maxRows();
  Value cosines =
      angleTable(k, "rope_cos", positions, frequencies, element, std::cos);
  Value sines =
      angleTable(k, "rope_sin", positions, frequencies, element, std::sin);

  k.forEachRow([&](Value row) {
    Value position = k.sub(row, k.loadIndex(starts, row));
    Value heads = k.index(op.getHeads());
    k.map({heads, k.index(half)}, [&](ValueRange point) {
      Value j = point[1];
      Value low = k.add(k.mul(point[0], k.index(headDim)), j);
      Value high = k.add(low, k.index(half));
      Value a = k.load(x, {row, low}), b = k.load(x, {row, high});
      Value c = k.load(cosines, {position, j});
      Value s = k.load(sines, {position, j});
      if (op.getInverse())
        s = arith::NegFOp::create(k, s);
      k.store(k.sub(k.mul(a, c), k.mul(b, s)), y, {row, low});
      k.store(k.add(k.mul(b, c), k.mul(a, s)), y, {row, high});
    });
  });
}

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

void hone::emitRowCopy(Value from, Value to, KernelBuilder &k) {
  int64_t columns = cast<MemRefType>(from.getType()).getDimSize(1);
  k.forEachElement(columns, [&](Value row, Value column) {
    k.store(k.load(from, {row, column}), to, {row, column});
  });
}

void hone::emitElementwise(ElementwiseOpInterface op, KernelBuilder &k) {
  k.forEachElement(columnsOf(op->getResult(0)), [&](Value row, Value column) {
    SmallVector<Value> elements = k.elementsOf(op, row, column);
    for (auto [result, element] : llvm::zip(op->getResults(), elements))
      k.store(element, k.buffer(result), {row, column});
  });
}
