//===- LowerToLoops.cpp - Tile ops as loops over scalars ------------------===//
//
// Each function here is the formula at the op (TileOps.td) and nothing else.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/ScalarBuilder.h"
#include "dialects/Tile/StoredMatrix.h"
#include "dialects/Tile/TileDialect.h"
#include "targets/reference/ReferencePasses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

namespace hone {
#define GEN_PASS_DEF_LOWERTOLOOPS
#include "targets/reference/ReferencePasses.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {

/// Emits loops over scalars in place of one op.
class LoopBuilder : public ScalarBuilder {
public:
  explicit LoopBuilder(Operation *op) : ScalarBuilder(op->getLoc(), op) {}

  /// for (i = from; i < to; i += step) carries `values` through the body.
  SmallVector<Value>
  fold(Value from, Value to, int64_t step, ValueRange values,
       function_ref<SmallVector<Value>(Value, ValueRange)> body);
  void upTo(Value count, function_ref<void(Value)> body) {
    loop(index(0), count, 1, body);
  }
};

} // namespace

SmallVector<Value>
LoopBuilder::fold(Value from, Value to, int64_t step, ValueRange values,
                  function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(
      *this, from, to, index(step), values,
      [&](OpBuilder &, Location, Value i, ValueRange carried) {
        scf::YieldOp::create(*this, body(i, carried));
      });
  return llvm::to_vector_of<Value>(loop.getResults());
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

static void lower(tile::ReadRowOp op) {
  LoopBuilder b(op);
  Type element = op.getTo().getType().getElementType();
  b.upTo(op.getCount(), [&](Value j) {
    Value value =
        loadStored(b, op, element, op.getRow(), b.add(op.getColumn(), j));
    b.store(value, op.getTo(), {b.index(0), j});
  });
}

namespace {
/// One element of a product.
struct ProductElement {
  tile::ProductOp op;
  LoopBuilder &b;
  Type element;
  Value i, j;

  Value rounded(Value value) {
    if (!op.getRounded())
      return value;
    return b.convert(element, b.convert(b.getBF16Type(), value));
  }
  Value left(Value t) {
    bool transpose = op.getTransposeA();
    Value row = b.add(op.getARow(), transpose ? t : i);
    Value column = b.add(op.getAColumn(), transpose ? i : t);
    return rounded(b.convert(element, b.load(op.getA(), {row, column})));
  }
  Value right(Value t) {
    bool transpose = op.getTransposeW();
    Value row = b.add(op.getWRow(), transpose ? j : t);
    Value column = b.add(op.getWColumn(), transpose ? t : j);
    Value value = loadStored(b, op, element, row, column);
    if (!op.getPrologue().empty())
      value = b.inlined(op.getPrologue().front(), {value, row, column}).front();
    return rounded(value);
  }
  /// The sum of the block of terms from `start` on.
  Value block(Value start) {
    Value end = arith::MinUIOp::create(b, op.getK(),
                                       b.add(start, b.index(op.getTerms())));
    Value zero = b.real(element, 0.0);
    return b
        .fold(start, end, 1, zero,
              [&](Value t, ValueRange sum) -> SmallVector<Value> {
                return {math::FmaOp::create(b, left(t), right(t), sum[0])};
              })
        .front();
  }
};
} // namespace

static void lower(tile::ProductOp op) {
  LoopBuilder b(op);
  Type element = op.getC().getType().getElementType();
  b.upTo(op.getM(), [&](Value i) {
    b.upTo(op.getN(), [&](Value j) {
      ProductElement p{op, b, element, i, j};
      Value at[] = {b.add(op.getCRow(), i), b.add(op.getCColumn(), j)};
      // A first block without terms is zero, so all products have one.
      Value zero = b.index(0), first = b.index(op.getTerms());
      Value sum = p.block(zero);
      if (op.getAccumulate())
        sum = b.add(b.load(op.getC(), at), sum);
      sum = b.fold(first, op.getK(), op.getTerms(), sum,
                   [&](Value start, ValueRange before) -> SmallVector<Value> {
                     return {b.add(before[0], p.block(start))};
                   })
                .front();
      if (!op.getEpilogue().empty())
        sum = b.inlined(op.getEpilogue().front(), {sum, i, j}).front();
      Value into = op.getInto();
      if (!into)
        return b.store(sum, op.getC(), at);
      Type rounded = op.getInto().getType().getElementType();
      ValueRange place = op.getIntoAt();
      b.store(b.convert(rounded, sum), into,
              {b.add(place[0], i), b.add(place[1], j)});
    });
  });
}

//===----------------------------------------------------------------------===//
// Loops over elements
//===----------------------------------------------------------------------===//

static void lower(tile::MapOp op) {
  LoopBuilder(op).overBox(op.getBounds(), *op.getBody());
}

static void lower(tile::EachOp op) {
  LoopBuilder(op).overBox(op.getBounds(), *op.getBody());
}

static Value identityOf(LoopBuilder &b, tile::Combine combine, Type type) {
  return b.real(type, combine == tile::Combine::add ? 0.0 : -HUGE_VAL);
}

static Value join(LoopBuilder &b, tile::Combine combine, Value x, Value y) {
  if (combine == tile::Combine::add)
    return b.add(x, y);
  return arith::MaximumFOp::create(b, x, y);
}

static void lower(tile::ReduceOp op) {
  LoopBuilder b(op);
  SmallVector<tile::Combine> kinds;
  SmallVector<Value> start;
  for (auto [kind, type] :
       llvm::zip_equal(op.getCombine().getAsRange<tile::CombineAttr>(),
                       op.getResultTypes())) {
    kinds.push_back(kind.getValue());
    start.push_back(identityOf(b, kinds.back(), type));
  }
  SmallVector<Value> joined = b.fold(
      b.index(0), op.getBound(), 1, start, [&](Value j, ValueRange before) {
        SmallVector<Value> values = b.inlined(*op.getBody(), j);
        for (auto [kind, old, value] : llvm::zip_equal(kinds, before, values))
          value = join(b, kind, old, value);
        return values;
      });
  op.replaceAllUsesWith(joined);
}

namespace {

struct LowerToLoops : public hone::impl::LowerToLoopsBase<LowerToLoops> {
  void runOnOperation() override {
    // Inner ops first: an op is only read when all in it are loops.
    getOperation().walk([](Operation *op) {
      if (!isa<tile::ReadRowOp, tile::ProductOp, tile::MapOp, tile::EachOp,
               tile::ReduceOp>(op))
        return;
      if (auto row = dyn_cast<tile::ReadRowOp>(op))
        lower(row);
      else if (auto product = dyn_cast<tile::ProductOp>(op))
        lower(product);
      else if (auto map = dyn_cast<tile::MapOp>(op))
        lower(map);
      else if (auto each = dyn_cast<tile::EachOp>(op))
        lower(each);
      else
        lower(cast<tile::ReduceOp>(op));
      op->erase();
    });
  }
};

} // namespace
