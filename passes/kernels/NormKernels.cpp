//===- NormKernels.cpp - Layer normalisation ------------------------------===//
//
// Mean and variance are two passes over the row: the mean of squares less the
// square of the mean would cancel.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/Kernels.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace hone;

namespace {

/// The rows of the input of a layer norm, in the words of a kernel.
class NormRows {
public:
  template <typename Op>
  NormRows(Op op, KernelBuilder &k)
      : k(k), x(k.buffer(op.getX())), kept(k.buffer(op.getStatistics())),
        element(computeType(getElementTypeOrSelf(op.getX().getType()))),
        columns(columnsOf(op.getX())), eps(op.getEps().convertToDouble()) {}

  struct Statistics {
    Value mean, scale; ///< of one row; scale = 1 / sqrt(variance + eps)
  };
  Statistics read(Value statistics, Value row) {
    return {k.load(statistics, {row, k.index(0)}),
            k.load(statistics, {row, k.index(1)})};
  }
  void write(const Statistics &s, Value statistics, Value row) {
    k.store(s.mean, statistics, {row, k.index(0)});
    k.store(s.scale, statistics, {row, k.index(1)});
  }
  Statistics compute(Value row) {
    Value mean = meanOf([&](Value j) { return k.load(x, {row, j}); });
    Value variance = meanOf([&](Value j) {
      Value distance = k.sub(k.load(x, {row, j}), mean);
      return k.mul(distance, distance);
    });
    Value root = math::SqrtOp::create(k, k.add(variance, real(eps)));
    return {mean, k.div(real(1.0), root)};
  }
  /// As the forward pass kept them, or computed again to the same bits.
  Statistics of(Value row) { return kept ? read(kept, row) : compute(row); }

  /// (x - mean) scale.
  Value normal(const Statistics &s, Value row, Value j) {
    return k.mul(k.sub(k.load(x, {row, j}), s.mean), s.scale);
  }
  Value meanOf(function_ref<Value(Value)> term) {
    Value sum = k.reduce(k.index(columns), tile::Combine::add, element, term);
    return k.div(sum, real(columns));
  }
  Value real(double value) { return k.real(element, value); }

  /// `scale (d - mean(d) - n mean(d n))` of each element of a row: the
  /// derivative of n along `direction` d. The map is symmetric, so it is its
  /// own adjoint.
  void derivative(const Statistics &s, Value row,
                  function_ref<Value(Value j)> direction,
                  function_ref<void(Value j, Value)> finish) {
    Value mean = meanOf(direction);
    Value along =
        meanOf([&](Value j) { return k.mul(direction(j), normal(s, row, j)); });
    k.map(k.index(columns), [&](ValueRange j) {
      Value n = normal(s, row, j[0]);
      Value inner = k.sub(k.sub(direction(j[0]), mean), k.mul(n, along));
      finish(j[0], k.mul(s.scale, inner));
    });
  }

  KernelBuilder &k;
  Value x, kept;
  Type element;
  int64_t columns;
  double eps;
};

} // namespace

void hone::emitKernel(LayerNormOp op, KernelBuilder &k) {
  NormRows rows(op, k);
  Value y = k.buffer(op.getY());
  Value weight = k.buffer(op.getWeight()), bias = k.buffer(op.getBias());
  rows.kept = {};
  k.forEachRow([&](Value row) {
    NormRows::Statistics s = rows.compute(row);
    if (op.getStatistics())
      rows.write(s, k.buffer(op.getStatistics()), row);
    k.map(k.index(rows.columns), [&](ValueRange j) {
      Value scaled = k.mul(rows.normal(s, row, j[0]),
                           k.loadAs(rows.element, weight, j[0]));
      k.store(k.add(scaled, k.loadAs(rows.element, bias, j[0])), y,
              {row, j[0]});
    });
  });
}

void hone::emitKernel(LayerNormAdjointOp op, KernelBuilder &k) {
  NormRows rows(op, k);
  Value dy = k.buffer(op.getDy()), dx = k.buffer(op.getDx());
  Value weight = k.buffer(op.getWeight());
  k.forEachRow([&](Value row) {
    NormRows::Statistics s = rows.of(row);
    rows.derivative(
        s, row,
        [&](Value j) {
          return k.mul(k.load(dy, {row, j}), k.loadAs(rows.element, weight, j));
        },
        [&](Value j, Value value) { k.store(value, dx, {row, j}); });
  });
}

void hone::emitKernel(LayerNormTangentOp op, KernelBuilder &k) {
  NormRows rows(op, k);
  Value ty = k.buffer(op.getTy()), weight = k.buffer(op.getWeight());
  Value tx = k.buffer(op.getTx()), tw = k.buffer(op.getTw());
  Value tb = k.buffer(op.getTb());
  k.forEachRow([&](Value row) {
    NormRows::Statistics s = rows.of(row);
    // `sum` may be null.
    auto finish = [&](Value j, Value sum) {
      auto addTerm = [&](Value term) { sum = sum ? k.add(sum, term) : term; };
      if (tw)
        addTerm(k.mul(k.loadAs(rows.element, tw, j), rows.normal(s, row, j)));
      if (tb)
        addTerm(k.loadAs(rows.element, tb, j));
      k.store(sum, ty, {row, j});
    };
    if (!tx)
      return k.map(k.index(rows.columns),
                   [&](ValueRange j) { finish(j[0], Value()); });
    rows.derivative(
        s, row, [&](Value j) { return k.load(tx, {row, j}); },
        [&](Value j, Value value) {
          finish(j, k.mul(value, k.loadAs(rows.element, weight, j)));
        });
  });
}

void hone::emitKernel(LayerNormParameterAdjointOp op, KernelBuilder &k) {
  NormRows rows(op, k);
  Value dy = k.buffer(op.getDy()), statistics = rows.kept;
  if (!statistics) {
    statistics = k.workspace(op, 0);
    k.forEachRow(
        [&](Value row) { rows.write(rows.compute(row), statistics, row); });
  }
  if (Value dw = zeroedGradient(op.getDw(), k))
    addColumnSums(k, dw, [&](Value row) {
      NormRows::Statistics s = rows.read(statistics, row);
      return [&, s, row](Value column) {
        return k.mul(k.load(dy, {row, column}), rows.normal(s, row, column));
      };
    });
  if (Value db = zeroedGradient(op.getDb(), k))
    addBiasSums(k, db, dy);
}
