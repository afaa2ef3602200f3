//===- StagedRows.cpp - Rows of a head in shared memory for matrix units --===//

#include "targets/gpu/StagedRows.h"

#include "targets/gpu/GpuDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace hone;
using namespace hone::simt;

/// Rows and columns of a matrix of `simt.load_matrices`.
static constexpr int64_t kSide = 8;

Value StagedRows::swizzled(Value row, Value piece) {
  Value at = arith::XOrIOp::create(b, piece, b.rem(row, b.index(kPieces)));
  return b.mul(at, b.index(kLaneTerms));
}

StagedRows::StagedRows(TeamBuilder &b, Value memory) : memory(memory), b(b) {
  Value line = b.index(kLine), side = b.index(kSide);
  thread = b.team.state.thread;
  threadRow = b.div(thread, b.index(kPieces));
  threadFeature = b.mul(b.rem(thread, b.index(kPieces)), b.index(kLaneTerms));

  Value lane = b.team.state.lane;
  Value row = b.rem(lane, side), matrix = b.div(lane, side);
  Value half = b.rem(matrix, b.index(2)), next = b.div(matrix, b.index(2));
  Value rowOfSixteen = b.mul(b.add(row, b.mul(half, side)), line);
  sixteen = b.add(rowOfSixteen, swizzled(row, next));
  eight = b.add(b.mul(row, line), swizzled(row, matrix));
}

void StagedRows::bring(Value at, int64_t rows, int64_t features,
                       const HeadMatrix &source, Value first, Value from,
                       Value last) {
  Value piece = b.rem(thread, b.index(kPieces));
  Value place = b.add(
      at, b.add(b.mul(threadRow, b.index(kLine)), swizzled(threadRow, piece)));
  Value begin = arith::AddIOp::create(
      b, first, arith::IndexCastOp::create(b, b.getI32Type(), threadRow));
  for (int64_t row = 0; row < rows; row += kLeastRows) {
    Value wanted = arith::AddIOp::create(
        b, begin, arith::ConstantIntOp::create(b, row, 32));
    Value near = arith::MinSIOp::create(
        b, arith::MaxSIOp::create(b, wanted, from), last);
    Value there = arith::IndexCastOp::create(b, b.getIndexType(), near);
    for (int64_t feature = 0; feature < features; feature += kLine)
      CopyOp::create(
          b, source.matrix,
          ValueRange{there, b.add(b.add(source.column, b.index(feature)),
                                  threadFeature)},
          memory,
          ValueRange{b.add(place, b.index(feature * rows + row * kLine))});
  }
}

Words StagedRows::load(Value at, Value lane, Value feature, bool transpose) {
  Value place = b.add(at, b.createOrFold<arith::XOrIOp>(lane, feature));
  auto op = LoadMatricesOp::create(b, SmallVector<Type>(4, b.getI32Type()),
                                   memory, ValueRange{place},
                                   transpose ? b.getUnitAttr() : UnitAttr());
  return Words(op->getResults());
}
