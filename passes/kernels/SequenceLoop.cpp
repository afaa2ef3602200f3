//===- SequenceLoop.cpp - A loop over tiles of whole sequences ------------===//

#include "passes/kernels/SequenceLoop.h"

#include "dialects/Hone/SequenceTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hone;

namespace {
/// Numbers of rows, at the builder's place.
class RowNumbers {
public:
  RowNumbers(OpBuilder &builder, Location loc, Value starts)
      : builder(builder), loc(loc), starts(starts) {}

  Value number(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value holds(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value minus(Value a, Value b) {
    return arith::SubIOp::create(builder, loc, a, b);
  }
  Value roundedDown(Value row) {
    Value unit = number(kSequenceTileRows);
    Value units = arith::DivUIOp::create(builder, loc, row, unit);
    return arith::MulIOp::create(builder, loc, units, unit);
  }
  Value roundedUp(Value row) {
    return roundedDown(arith::AddIOp::create(builder, loc, row,
                                             number(kSequenceTileRows - 1)));
  }

  /// The start of the sequence that ends before row `end`; 0 for the first one.
  Value startBefore(Value end) {
    Value last =
        arith::MaxSIOp::create(builder, loc, minus(end, number(1)), number(0));
    auto start = memref::LoadOp::create(builder, loc, starts, last);
    start->setAttr(kReadAtLaunchAttrName, builder.getUnitAttr());
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      start);
  }

  /// The earliest start of a sequence from which the rows up to `end`, where
  /// one ends, are a tile.
  Value firstStart(Value end, int64_t tileRows) {
    Value most = arith::MinUIOp::create(builder, loc, end, number(tileRows));
    Value least = roundedUp(minus(end, most));
    auto earlier = scf::WhileOp::create(
        builder, loc, builder.getIndexType(), startBefore(end),
        [&](OpBuilder &, Location, ValueRange start) {
          using Predicate = arith::CmpIPredicate;
          Value isLast = holds(Predicate::sgt, start[0], least);
          Value fits = holds(Predicate::sge, startBefore(start[0]), least);
          Value goesOn = arith::AndIOp::create(builder, loc, isLast, fits);
          scf::ConditionOp::create(builder, loc, goesOn, start);
        },
        [&](OpBuilder &, Location, ValueRange start) {
          scf::YieldOp::create(builder, loc, startBefore(start[0]));
        });
    // However long a sequence is, a tile does not outgrow its memory.
    return arith::MaxSIOp::create(builder, loc, earlier.getResult(0), least);
  }

private:
  OpBuilder &builder;
  Location loc;
  Value starts;
};
} // namespace

LogicalResult hone::forEachSequenceTile(
    OpBuilder &builder, Location loc, Value starts, Value rows,
    int64_t tileRows, function_ref<LogicalResult(const SequenceTile &)> body) {
  RowNumbers k(builder, loc, starts);
  Type index = builder.getIndexType();
  // Kernels look for their module, so the loop is there before its body.
  auto loop = scf::WhileOp::create(builder, loc, TypeRange(index), rows);
  OpBuilder::InsertionGuard guard(builder);
  auto begin = [&](Region &region) {
    Block *block = builder.createBlock(&region, {}, index, loc);
    return block->getArgument(0);
  };
  Value left = begin(loop.getBefore());
  Value isLeft = k.holds(arith::CmpIPredicate::sgt, left, k.number(0));
  scf::ConditionOp::create(builder, loc, isLeft, left);

  Value end = begin(loop.getAfter());
  Value start = k.firstStart(end, tileRows);
  Value first = k.roundedDown(start);
  LogicalResult isEmitted = body({first, k.minus(end, first), start});
  builder.setInsertionPointToEnd(end.getParentBlock());
  scf::YieldOp::create(builder, loc, start);
  return isEmitted;
}
