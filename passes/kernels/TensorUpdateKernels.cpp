//===- TensorUpdateKernels.cpp - Optimizers that look at whole tensors ----===//
//
// A thread has a tensor to itself, and sums have an order that neither a thread
// nor a target decides: all that is done to numbers is done element by element.
// Sums are in double: a table has 150,000 rows. A vector is a matrix of one
// row.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/Numerics.h"
#include "passes/kernels/ThetaUpdate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace hone;

namespace {
/// A tensor's gradient, as a matrix, and the operations on it.
class TensorStep {
public:
  /// `partial`: a partialSums() of its own.
  template <typename UpdateOp>
  TensorStep(UpdateOp op, const ThetaUpdate &update, const UpdateTensor &tensor,
             Value partial)
      : k(update.k), update(update), tensor(tensor), partial(partial) {
    gradientScale = update.rounded(update.number(op.getGradientScale()));
    Value decay = k.mul(tensor.all.rate, update.number(op.getWeightDecay()));
    keep = update.rounded(k.sub(real(1), decay));
  }

  Value real(double value) const { return k.real(k.getF64Type(), value); }
  /// How many there are, as a number.
  Value real(Value count) const {
    Value word = arith::IndexCastOp::create(k, k.getI64Type(), count);
    return arith::SIToFPOp::create(k, k.getF64Type(), word);
  }

  void forEachRow(function_ref<void(Value i)> body) const {
    k.loop(k.index(0), tensor.rows, 1, body);
  }
  /// The gradient of element `j` of a row, scaled, in the type that updates
  /// compute in.
  Value gradient(const UpdateChunk &row, Value j) const {
    return k.mul(gradientScale, update.gradient(row, j));
  }
  Value square(Value value) const {
    Value wide = k.convert(k.getF64Type(), value);
    return k.mul(wide, wide);
  }
  static MemRefType partialSums(KernelBuilder &k) {
    return MemRefType::get(numerics::kPartialSums, k.getF64Type());
  }
  /// The sum of `numberOf` of so many, at least one, in double: number `j` is
  /// added to partial sum `j mod kPartialSums`. A `tile.reduce` would have the
  /// order of its target.
  Value sum(Value count, function_ref<Value(Value)> numberOf) const {
    Value most = k.index(numerics::kPartialSums), sums = k.min(count, most);
    k.map(sums, [&](ValueRange j) { k.store(numberOf(j[0]), partial, j[0]); });
    k.loop(most, count, numerics::kPartialSums, [&](Value first) {
      k.map(k.min(most, k.sub(count, first)), [&](ValueRange j) {
        addTo(partial, j[0], numberOf(k.add(first, j[0])));
      });
    });
    for (int64_t half = numerics::kPartialSums / 2; half > 0; half /= 2) {
      // Only sums with a partner are joined.
      Value from = k.index(half), end = k.min(sums, k.index(2 * half));
      Value pairs = k.sub(end, k.min(end, from));
      k.map(pairs, [&](ValueRange j) {
        addTo(partial, j[0], k.load(partial, k.add(j[0], from)));
      });
    }
    return k.load(partial, k.index(0));
  }
  void addTo(Value sums, Value at, Value number) const {
    k.store(k.add(k.load(sums, at), number), sums, at);
  }

  /// Moves theta by -`rate` times `stepOf` an element of the gradient, after
  /// its decay.
  void apply(Value rate,
             function_ref<std::function<Value(Value g, Value j)>(Value i)>
                 stepOf) const {
    Value learningRate = update.rounded(rate);
    forEachRow([&](Value i) {
      const UpdateChunk row = update.rowOf(tensor, i);
      auto step = stepOf(i);
      k.map(tensor.columns, [&](ValueRange j) {
        UpdateElement at = update.read(row, j[0]);
        Value change = step(k.mul(gradientScale, at.gradient), j[0]);
        update.write(at,
                     k.sub(k.mul(at.theta, keep), k.mul(learningRate, change)));
      });
    });
  }

  KernelBuilder &k;
  const ThetaUpdate &update;
  const UpdateTensor &tensor;

private:
  Value partial, gradientScale, keep;
};
} // namespace

//===----------------------------------------------------------------------===//
// Adafactor
//===----------------------------------------------------------------------===//

namespace {
class AdafactorStep : public TensorStep {
public:
  AdafactorStep(AdafactorOp op, const ThetaUpdate &update,
                const UpdateTensor &tensor, Value partial)
      : TensorStep(op, update, tensor, partial),
        ofRows(update.vectors.state[0]), ofColumns(update.vectors.state[1]),
        epsilon(update.number(op.getEpsilon())),
        threshold(update.number(op.getClipThreshold())),
        part(update.number(op.getSecondMomentPart())), rows(real(tensor.rows)),
        columns(real(tensor.columns)) {}

  static SmallVector<MemRefType> scratch(KernelBuilder &k) {
    return {partialSums(k),
            MemRefType::get(numerics::kColumnsBlock, k.getF64Type()),
            MemRefType::get(1, k.getF64Type())};
  }

  void moveRows() const {
    forEachRow([&](Value i) {
      const UpdateChunk row = update.rowOf(tensor, i);
      Value squares = sum(tensor.columns,
                          [&](Value j) { return square(gradient(row, j)); });
      move(ofRows, k.add(tensor.row, i), k.div(squares, columns));
    });
  }

  void moveColumns(Value sums) const {
    const int64_t most = numerics::kColumnsBlock;
    k.loop(k.index(0), tensor.columns, most, [&](Value first) {
      Value count = k.min(k.index(most), k.sub(tensor.columns, first));
      k.map(count, [&](ValueRange j) { k.store(real(0.0), sums, j[0]); });
      forEachRow([&](Value i) {
        const UpdateChunk row = update.rowOf(tensor, i);
        k.map(count, [&](ValueRange j) {
          addTo(sums, j[0], square(gradient(row, k.add(first, j[0]))));
        });
      });
      k.map(count, [&](ValueRange j) {
        move(ofColumns, k.add(tensor.column, k.add(first, j[0])),
             k.div(k.load(sums, j[0]), rows));
      });
    });
  }

  /// Moves theta by the moments as they are now.
  void moveTheta(Value total) const {
    Value mean = k.div(sum(tensor.rows,
                           [&](Value i) {
                             return k.loadAs(k.getF64Type(), ofRows,
                                             k.add(tensor.row, i));
                           }),
                       rows);
    auto stepOf = [&](Value i) -> std::function<Value(Value, Value)> {
      Value ofRow = k.loadAs(k.getF64Type(), ofRows, k.add(tensor.row, i));
      Value root = update.rounded(math::SqrtOp::create(k, k.div(ofRow, mean)));
      return [=](Value g, Value j) -> Value {
        Value moment =
            k.loadAs(update.element, ofColumns, k.add(tensor.column, j));
        return k.div(k.div(g, root), math::SqrtOp::create(k, moment));
      };
    };
    k.store(real(0.0), total, k.index(0));
    forEachRow([&](Value i) {
      const UpdateChunk row = update.rowOf(tensor, i);
      auto step = stepOf(i);
      addTo(total, k.index(0), sum(tensor.columns, [&](Value j) {
              return square(step(gradient(row, j), j));
            }));
    });
    Value rms = math::SqrtOp::create(
        k, k.div(k.load(total, k.index(0)), k.mul(rows, columns)));
    Value most = arith::MaximumFOp::create(k, real(1), k.div(rms, threshold));
    apply(k.div(tensor.all.rate, most), stepOf);
  }

private:
  /// `mean`: of new squares.
  void move(Value moments, Value at, Value mean) const {
    Value before = k.loadAs(k.getF64Type(), moments, at);
    k.store(k.add(k.mul(k.sub(real(1), part), before),
                  k.mul(part, k.add(mean, epsilon))),
            moments, at);
  }

  Value ofRows, ofColumns;        ///< slots
  Value epsilon, threshold, part; ///< f64
  Value rows, columns;            ///< f64
};
} // namespace

void hone::emitTensorRule(AdafactorOp op, const ThetaUpdate &update) {
  update.forEachTensor(AdafactorStep::scratch(update.k),
                       [&](const UpdateTensor &tensor, ValueRange own) {
                         AdafactorStep step(op, update, tensor,
                                            /*partial=*/own[0]);
                         step.moveRows();
                         step.moveColumns(/*sums=*/own[1]);
                         step.moveTheta(/*total=*/own[2]);
                       });
}

//===----------------------------------------------------------------------===//
// SinkGD
//===----------------------------------------------------------------------===//

namespace {
/// The gradient's rows and columns are never scaled in memory: there is a
/// number for each of them, and the product of two for an element.
class SinkgdStep : public TensorStep {
public:
  SinkgdStep(SinkgdOp op, const ThetaUpdate &update, const UpdateTensor &tensor,
             Value partial, Value count)
      : TensorStep(op, update, tensor, partial),
        ofRows(update.vectors.state[0]), ofColumns(update.vectors.state[1]),
        squares(update.vectors.state[2]), count(count),
        columns(real(tensor.columns)) {}

  void begin() const {
    k.map(tensor.columns, [&](ValueRange j) {
      k.store(real(1.0), ofColumns, k.add(tensor.column, j[0]));
    });
  }

  /// Scales the rows, and adds up the squares of the scaled columns.
  void scaleRows() const {
    k.store(real(0.0), count, k.index(0));
    k.map(tensor.scaledColumns, [&](ValueRange j) {
      k.store(real(0.0), squares, k.add(tensor.column, j[0]));
    });
    forEachRow([&](Value i) {
      const UpdateChunk row = update.rowOf(tensor, i);
      Value length = sum(tensor.columns, [&](Value j) {
        return square(k.mul(wide(gradient(row, j)), scaleOf(j)));
      });
      Value scale = scaleFor(length, columns);
      k.store(scale, ofRows, k.add(tensor.row, i));
      addTo(count, k.index(0), orZero(length, real(1)));
      k.map(tensor.scaledColumns, [&](ValueRange j) {
        addTo(squares, k.add(tensor.column, j[0]),
              square(k.mul(wide(gradient(row, j[0])), scale)));
      });
    });
  }

  void scaleColumns() const {
    Value rows = k.load(count, k.index(0));
    k.map(tensor.scaledColumns, [&](ValueRange j) {
      Value at = k.add(tensor.column, j[0]);
      k.store(scaleFor(k.load(squares, at), rows), ofColumns, at);
    });
  }

  void moveTheta() const {
    apply(tensor.all.rate, [&](Value i) -> std::function<Value(Value, Value)> {
      Value scale = k.load(ofRows, k.add(tensor.row, i));
      return [=](Value g, Value j) {
        return update.rounded(k.mul(k.mul(wide(g), scale), scaleOf(j)));
      };
    });
  }

private:
  Value wide(Value value) const { return k.convert(k.getF64Type(), value); }
  Value scaleOf(Value j) const {
    return k.load(ofColumns, k.add(tensor.column, j));
  }
  /// `value`, or 0 where `squares` are; NaN is not.
  Value orZero(Value squares, Value value) const {
    Value isZero =
        arith::CmpFOp::create(k, arith::CmpFPredicate::OEQ, squares, real(0.0));
    return arith::SelectOp::create(k, isZero, real(0.0), value);
  }
  /// The factor that makes a sum of squares `wanted`.
  Value scaleFor(Value squares, Value wanted) const {
    return orZero(squares, math::SqrtOp::create(k, k.div(wanted, squares)));
  }

  Value ofRows, ofColumns, squares; ///< slots
  Value count;                      ///< memref<1xf64>: rows that are not zero
  Value columns;                    ///< f64
};
} // namespace

void hone::emitTensorRule(SinkgdOp op, const ThetaUpdate &update) {
  KernelBuilder &k = update.k;
  update.forEachTensor(
      {TensorStep::partialSums(k), MemRefType::get(1, k.getF64Type())},
      [&](const UpdateTensor &tensor, ValueRange own) {
        SinkgdStep step(op, update, tensor, own[0], own[1]);
        step.begin();
        k.loop(k.index(0), k.index(numerics::kSinkhornRounds), 1, [&](Value) {
          step.scaleRows();
          step.scaleColumns();
        });
        step.moveTheta();
      });
}
