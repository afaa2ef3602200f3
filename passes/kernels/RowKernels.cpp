//===- RowKernels.cpp - Row-wise and element-wise ops ---------------------===//
//
// Every row is independent of the others; a row's sums are taken by
// tile.reduce, whose order depends only on the row's length.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace hone;

static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

static int64_t columnsOf(Value matrix) {
  return cast<RankedTensorType>(matrix.getType()).getDimSize(1);
}

/// The rows of a packed table are unpacked one at a time, as panels of one row.
static void emitPackedEmbedding(KernelBuilder &k, Value ids, Value table,
                                Value y) {
  auto type = cast<MemRefType>(y.getType());
  Value zero = k.index(0), one = k.index(1);
  Value columns = k.index(type.getDimSize(1));
  auto panel = MemRefType::get({1, type.getDimSize(1)}, type.getElementType());
  k.parallel(k.rows(), panel, [&](Value row, ValueRange scratch) {
    Value id = k.loadIndex(ids, row);
    k.fill(scratch[0], table, id, zero, one, columns, /*transpose=*/false);
    k.map(columns, [&](ValueRange j) {
      k.store(k.load(scratch[0], {zero, j[0]}), y, {row, j[0]});
    });
  });
}

void hone::emitKernel(EmbeddingOp op, KernelBuilder &k) {
  Value ids = k.buffer(op.getIds()), table = k.buffer(op.getTable());
  Value y = k.buffer(op.getY());
  if (k.isPacked(table))
    return emitPackedEmbedding(k, ids, table, y);
  Type element = elementOf(op.getY());
  k.forEachRow([&](Value row) {
    Value id = k.loadIndex(ids, row);
    k.map(k.index(columnsOf(op.getY())), [&](ValueRange j) {
      k.store(k.loadAs(element, table, {id, j[0]}), y, {row, j[0]});
    });
  });
}

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

/// `1/sqrt(mean(x^2) + eps)` of one row.
static Value reciprocalRms(KernelBuilder &k, Value x, Value row,
                           const APFloat &eps) {
  auto type = cast<MemRefType>(x.getType());
  Type element = type.getElementType();
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

void hone::emitKernel(RmsNormAdjointOp op, KernelBuilder &k) {
  Value dy = k.buffer(op.getDy()), x = k.buffer(op.getX());
  Value weight = k.buffer(op.getWeight()), dx = k.buffer(op.getDx());
  Type element = elementOf(op.getX());
  int64_t columns = columnsOf(op.getX());
  k.forEachRow([&](Value row) {
    Value r = op.getRstd() ? k.load(k.buffer(op.getRstd()), row)
                           : reciprocalRms(k, x, row, op.getEps());
    auto weighted = [&](Value j) {
      return k.mul(k.load(dy, {row, j}), k.loadAs(element, weight, j));
    };
    Value sum =
        k.reduce(k.index(columns), tile::Combine::add, element, [&](Value j) {
          return k.mul(weighted(j), k.load(x, {row, j}));
        });
    Value mean = k.div(sum, k.real(element, columns));
    Value factor = k.mul(k.mul(r, r), mean);
    k.map(k.index(columns), [&](ValueRange j) {
      Value along = k.mul(k.load(x, {row, j[0]}), factor);
      k.store(k.mul(r, k.sub(weighted(j[0]), along)), dx, {row, j[0]});
    });
  });
}

//===----------------------------------------------------------------------===//
// Rotation
//===----------------------------------------------------------------------===//

/// `f(position * frequency)` for every position and frequency, computed in
/// double and rounded once.
static Value angleTable(KernelBuilder &k, StringRef name,
                        ArrayRef<double> frequencies, Type element,
                        double (*f)(double)) {
  auto type = RankedTensorType::get(
      {k.maxRows(), static_cast<int64_t>(frequencies.size())}, element);
  SmallVector<APFloat> values;
  values.reserve(type.getNumElements());
  const llvm::fltSemantics &semantics =
      cast<FloatType>(element).getFloatSemantics();
  for (int64_t position = 0; position < k.maxRows(); ++position)
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
  Value cosines = angleTable(k, "rope_cos", frequencies, element, std::cos);
  Value sines = angleTable(k, "rope_sin", frequencies, element, std::sin);

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

/// `1 + exp(-gate)`. For gates below -88 it overflows to infinity, and the
/// quotients by it go to zero, which is their limit.
static Value sigmoidDenominator(KernelBuilder &k, Value gate) {
  Value one = k.real(gate.getType(), 1.0);
  return k.add(one, k.exp(arith::NegFOp::create(k, gate)));
}

void hone::emitKernel(SwigluOp op, KernelBuilder &k) {
  Value gate = k.buffer(op.getGate()), up = k.buffer(op.getUp());
  Value y = k.buffer(op.getY());
  k.forEachElement(columnsOf(op.getY()), [&](Value row, Value column) {
    Value g = k.load(gate, {row, column}), u = k.load(up, {row, column});
    k.store(k.mul(k.div(g, sigmoidDenominator(k, g)), u), y, {row, column});
  });
}

void hone::emitKernel(SwigluAdjointOp op, KernelBuilder &k) {
  Value dy = k.buffer(op.getDy());
  Value gate = k.buffer(op.getGate()), up = k.buffer(op.getUp());
  Value dgate = k.buffer(op.getDgate()), dup = k.buffer(op.getDup());
  k.forEachElement(columnsOf(op.getDy()), [&](Value row, Value column) {
    Value d = k.load(dy, {row, column});
    Value g = k.load(gate, {row, column}), u = k.load(up, {row, column});
    Value one = k.real(g.getType(), 1.0);
    Value s = k.div(one, sigmoidDenominator(k, g));
    Value slope = k.add(one, k.mul(g, k.sub(one, s)));
    k.store(k.mul(k.mul(k.mul(d, u), s), slope), dgate, {row, column});
    k.store(k.mul(d, k.mul(g, s)), dup, {row, column});
  });
}

void hone::emitKernel(AddOp op, KernelBuilder &k) {
  Value lhs = k.buffer(op.getLhs()), rhs = k.buffer(op.getRhs());
  Value y = k.buffer(op.getY());
  k.forEachElement(columnsOf(op.getY()), [&](Value row, Value column) {
    Value sum = k.add(k.load(lhs, {row, column}), k.load(rhs, {row, column}));
    k.store(sum, y, {row, column});
  });
}

void hone::emitKernel(ScaleOp op, KernelBuilder &k) {
  Value x = k.buffer(op.getX()), y = k.buffer(op.getY());
  Value factor = k.loadAs(elementOf(op.getX()), k.buffer(op.getFactor()), {});
  k.forEachElement(columnsOf(op.getY()), [&](Value row, Value column) {
    k.store(k.mul(k.load(x, {row, column}), factor), y, {row, column});
  });
}
