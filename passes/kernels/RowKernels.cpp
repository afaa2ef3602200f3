//===- RowKernels.cpp - Row-wise and element-wise ops ---------------------===//
//
// Every row is independent of the others; a row's sums are taken by
// tile.reduce, whose order depends only on the row's length.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/Sizes.h"
#include "passes/kernels/Kernels.h"
#include "passes/kernels/PhiloxKernel.h"

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

void hone::emitKernel(EmbeddingOp op, KernelBuilder &k) {
  Value ids = k.buffer(op.getIds()), table = k.buffer(op.getTable());
  Value y = k.buffer(op.getY());
  int64_t width = columnsOf(op.getY());
  Value zero = k.index(0), columns = k.index(width);
  Type element = elementOf(op.getY());
  auto whole = MemRefType::get({1, width}, element);
  k.parallel(k.rows(), whole, [&](Value row, ValueRange scratch) {
    k.readRow(scratch[0], table, k.loadIndex(ids, row), zero, columns,
              op.getStreamed());
    k.map(columns, [&](ValueRange j) {
      Value value = k.load(scratch[0], {zero, j[0]});
      if (op.getScale())
        value = k.mul(value, k.real(element, op.getScale()->convertToDouble()));
      k.store(value, y, {row, j[0]});
    });
  });
}

void hone::emitKernel(EmbeddingNoiseOp op, KernelBuilder &k) {
  Value x = k.buffer(op.getX()), y = k.buffer(op.getY());
  Value starts = k.buffer(op.getStarts()), key = k.buffer(op.getKey());
  int64_t width = columnsOf(op.getY());
  Type element = elementOf(op.getY()), f64 = k.getF64Type();
  Value one = k.real(f64, 1.0), zero = k.real(f64, 0.0);
  Value alpha = k.real(f64, op.getAlpha().convertToDouble());
  k.forEachRow([&](Value row) {
    Value start = k.load(starts, row);
    // The length of the row's sequence: the number of rows with its start.
    Value length =
        k.reduce(k.rows(), tile::Combine::add, f64, [&](Value other) -> Value {
          Value isSame = arith::CmpIOp::create(k, arith::CmpIPredicate::eq,
                                               k.load(starts, other), start);
          return arith::SelectOp::create(k, isSame, one, zero);
        });
    Value size = k.mul(length, k.real(f64, double(width)));
    Value bound =
        k.convert(element, k.div(alpha, math::SqrtOp::create(k, size)));
    RandomWords words(k, op, key, width);
    words.forEach(row, k.index(0), k.index(width), [&](Value j, Value word) {
      Value eight = arith::ConstantOp::create(k, k.getI32IntegerAttr(8));
      Value number = arith::SIToFPOp::create(
          k, element, arith::ShRUIOp::create(k, word, eight));
      Value u =
          k.sub(k.mul(number, k.real(element, 0x1p-23)), k.real(element, 1.0));
      k.store(k.add(k.load(x, {row, j}), k.mul(bound, u)), y, {row, j});
    });
  });
}

void hone::emitKernel(PositionEmbeddingOp op, KernelBuilder &k) {
  Value starts = k.buffer(op.getStarts()), table = k.buffer(op.getTable());
  Value y = k.buffer(op.getY());
  int64_t width = columnsOf(op.getY());
  Value zero = k.index(0), columns = k.index(width);
  Value offset = k.index(op.getOffset());
  auto whole = MemRefType::get({1, width}, elementOf(op.getY()));
  k.parallel(k.rows(), whole, [&](Value row, ValueRange scratch) {
    Value position = k.add(k.sub(row, k.startOf(starts, row)), offset);
    k.readRow(scratch[0], table, position, zero, columns, /*release=*/false);
    k.map(columns, [&](ValueRange j) {
      k.store(k.load(scratch[0], {zero, j[0]}), y, {row, j[0]});
    });
  });
}

//===----------------------------------------------------------------------===//
// Slices of the features
//===----------------------------------------------------------------------===//

void hone::emitKernel(ColumnsOp op, KernelBuilder &k) {
  Value x = k.buffer(op.getX()), y = k.buffer(op.getY());
  Value from = k.index(op.getFrom());
  k.forEachElement(columnsOf(op.getY()), [&](Value row, Value column) {
    k.store(k.load(x, {row, k.add(from, column)}), y, {row, column});
  });
}

void hone::emitKernel(ColumnsAdjointOp op, KernelBuilder &k) {
  Value dy = k.buffer(op.getDy()), dx = k.buffer(op.getDx());
  int64_t from = op.getFrom(), count = columnsOf(op.getDy());
  int64_t after = from + count;
  Value zero = k.real(elementOf(op.getDx()), 0.0);
  k.forEachRow([&](Value row) {
    auto zeros = [&](int64_t begin, int64_t end) {
      if (begin < end)
        k.map(k.index(end - begin), [&](ValueRange j) {
          k.store(zero, dx, {row, k.add(k.index(begin), j[0])});
        });
    };
    zeros(0, from);
    k.map(k.index(count), [&](ValueRange j) {
      k.store(k.load(dy, {row, j[0]}), dx, {row, k.add(k.index(from), j[0])});
    });
    zeros(after, columnsOf(op.getDx()));
  });
}

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

Value hone::reciprocalRms(KernelBuilder &k, Value x, Value row, Value column,
                          int64_t width, const APFloat &eps) {
  Type element = computeType(cast<MemRefType>(x.getType()).getElementType());
  Value sum =
      k.reduce(k.index(width), tile::Combine::add, element, [&](Value j) {
        Value value = k.load(x, {row, k.add(column, j)});
        return k.mul(value, value);
      });
  Value mean = k.div(sum, k.real(element, width));
  Value shifted = k.add(mean, k.real(element, eps.convertToDouble()));
  return k.div(k.real(element, 1.0), math::SqrtOp::create(k, shifted));
}

namespace {
/// The common part of rms_norm, its adjoint and its tangent.
template <typename NormLike> class NormHeads {
public:
  NormHeads(NormLike op, KernelBuilder &k)
      : op(op), k(k), element(elementOf(op.getX())), x(k.buffer(op.getX())),
        weight(k.buffer(op.getWeight())),
        rstd(op.getRstd() ? k.buffer(op.getRstd()) : Value()),
        heads(op.getHeads()), width(columnsOf(op.getX()) / heads) {}

  /// A head of one row: features from `column` on.
  struct Head {
    Value row, head, column;
  };
  void forEach(function_ref<void(const Head &)> body) {
    k.forEachHead(heads, [&](Value row, Value head) {
      body({row, head, k.mul(head, k.index(width))});
    });
  }

  Value loadX(const Head &h, Value j) { return k.load(x, at(h, j)); }
  /// `offset + weight[j]`.
  Value loadWeight(Value j) {
    Value value = k.loadAs(element, weight, j);
    double offset = op.getOffset().convertToDouble();
    return offset == 0 ? value : k.add(k.real(element, offset), value);
  }
  SmallVector<Value> at(const Head &h, Value j) {
    return {h.row, k.add(h.column, j)};
  }
  /// `sum of term(j) / d`.
  Value mean(function_ref<Value(Value)> term) {
    Value sum = k.reduce(k.index(width), tile::Combine::add, element, term);
    return k.div(sum, k.real(element, width));
  }
  /// `1/sqrt(mean(x^2) + eps)`.
  Value reciprocalRms(const Head &h) {
    return hone::reciprocalRms(k, x, h.row, h.column, width, op.getEps());
  }

  NormLike op;
  KernelBuilder &k;
  Type element;
  Value x, weight, rstd; ///< rstd may be null
  int64_t heads, width;
};
} // namespace

void hone::emitKernel(RmsNormOp op, KernelBuilder &k) {
  NormHeads norm(op, k);
  Value y = k.buffer(op.getY());
  norm.forEach([&](const auto &h) {
    Value r = norm.reciprocalRms(h);
    if (norm.rstd)
      k.store(r, norm.rstd, {h.row, h.head});
    k.map(k.index(norm.width), [&](ValueRange j) {
      Value normal = k.mul(norm.loadX(h, j[0]), r);
      k.store(k.mul(normal, norm.loadWeight(j[0])), y, norm.at(h, j[0]));
    });
  });
}

/// `r * (d - x * r^2 * mean(d * x))` of each head: the derivative of x * r
/// along `direction` d. The map is symmetric, so it is its own adjoint: the
/// tangent multiplies by the weight after it, the adjoint before it.
template <typename Norm, typename Direction, typename Finish>
static void emitNormDerivative(Norm &norm, Direction direction, Finish finish) {
  KernelBuilder &k = norm.k;
  norm.forEach([&](const auto &h) {
    Value r =
        norm.rstd ? k.load(norm.rstd, {h.row, h.head}) : norm.reciprocalRms(h);
    Value mean = norm.mean(
        [&](Value j) { return k.mul(direction(h, j), norm.loadX(h, j)); });
    Value factor = k.mul(k.mul(r, r), mean);
    k.map(k.index(norm.width), [&](ValueRange j) {
      Value along = k.mul(norm.loadX(h, j[0]), factor);
      finish(h, j[0], k.mul(r, k.sub(direction(h, j[0]), along)));
    });
  });
}

void hone::emitKernel(RmsNormAdjointOp op, KernelBuilder &k) {
  NormHeads norm(op, k);
  Value dy = k.buffer(op.getDy()), dx = k.buffer(op.getDx());
  emitNormDerivative(
      norm,
      [&](const auto &h, Value j) {
        return k.mul(k.load(dy, norm.at(h, j)), norm.loadWeight(j));
      },
      [&](const auto &h, Value j, Value value) {
        k.store(value, dx, norm.at(h, j));
      });
}

void hone::emitKernel(RmsNormTangentOp op, KernelBuilder &k) {
  NormHeads norm(op, k);
  Value tx = k.buffer(op.getTx()), ty = k.buffer(op.getTy());
  emitNormDerivative(
      norm, [&](const auto &h, Value j) { return k.load(tx, norm.at(h, j)); },
      [&](const auto &h, Value j, Value value) {
        k.store(k.mul(value, norm.loadWeight(j)), ty, norm.at(h, j));
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
  int64_t positions = mostPositions(op).value_or(k.maxRows());
  Value cosines =
      angleTable(k, "rope_cos", positions, frequencies, element, std::cos);
  Value sines =
      angleTable(k, "rope_sin", positions, frequencies, element, std::sin);

  k.forEachRow([&](Value row) {
    Value position = k.sub(row, k.startOf(starts, row));
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
