//===- ReadAhead.cpp - Asking for memory while multiplying ----------------===//

#include "targets/cpu/ReadAhead.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t kLineBytes = 64;

void ReadAhead::divide(PointerBuilder &p, Value requests) {
  linesPerRequest = p.ceilDivide(lines, p.maximum(requests, p.word(1)));
}

// Each burst divides once: a division for each line takes longer than the
// multiply-adds of a few rows.
void ReadAhead::emit(OpBuilder &b, Location loc, Value request) const {
  PointerBuilder p(b, loc);
  Value first = p.multiply(request, linesPerRequest);
  Value end = p.minimum(p.add(first, linesPerRequest), lines);
  Value width = p.maximum(rowLines, p.word(1));
  Value row = p.divide(first, width);
  Value pointer = p.at(b.getI8Type(), next, p.multiply(row, nextRow));
  Value column = p.subtract(first, p.multiply(row, width));
  auto body = [&](OpBuilder &, Location, Value, ValueRange at) {
    // For reading, into the second-level cache.
    LLVM::Prefetch::create(
        b, loc,
        p.at(b.getI8Type(), at[0], p.multiply(at[1], p.word(kLineBytes))),
        /*rw=*/0, /*hint=*/2, /*cache=*/1);
    Value right = p.add(at[1], p.word(1));
    Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                         right, rowLines);
    Value below = p.at(b.getI8Type(), at[0], nextRow);
    Value after[] = {arith::SelectOp::create(b, loc, isLast, below, at[0]),
                     arith::SelectOp::create(b, loc, isLast, p.word(0), right)};
    scf::YieldOp::create(b, loc, after);
  };
  scf::ForOp::create(b, loc, first, end, p.word(1), ValueRange{pointer, column},
                     body);
}
