//===- ReadAhead.cpp - Asking for memory while multiplying ----------------===//

#include "targets/cpu/ReadAhead.h"

using namespace mlir;
using namespace hone;

static constexpr int64_t kLineBytes = 64;

/// Bytes that a kernel reads from the first request on, at most. Lines that are
/// asked for earlier have left the second-level cache by the time they are
/// needed.
static constexpr int64_t kBytesMeanwhile = 256 * 1024;

void ReadAhead::divide(PointerBuilder &p, Value requests, int64_t bytes) {
  Value asking = p.minimum(requests, p.word(kBytesMeanwhile / bytes));
  silent = p.subtract(requests, asking);
  linesPerRequest = p.ceilDivide(lines, p.maximum(asking, p.word(1)));
}

// Each burst divides once: a division for each line takes longer than the
// multiply-adds of a few rows.
void ReadAhead::emit(OpBuilder &b, Location loc, Value request) const {
  PointerBuilder p(b, loc);
  Value asking = p.multiply(p.subtract(request, silent), linesPerRequest);
  Value first = p.maximum(asking, p.word(0));
  Value end = p.minimum(p.add(asking, linesPerRequest), lines);
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
