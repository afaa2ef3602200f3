//===- StoredMatrix.cpp - Elements of a matrix, however it is stored ------===//

#include "dialects/Tile/StoredMatrix.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace hone;

template <typename StoredOp>
static Value loadFrom(ScalarBuilder &b, StoredOp op, Type element, Value row,
                      Value column) {
  Value matrix = op.getW();
  if (!op.getScales())
    return b.convert(element, b.load(matrix, {row, column}));
  int64_t bits = *op.getBits(), perByte = 8 / bits;
  MemRefType type = op.getW().getType(), scales = op.getScales().getType();
  int64_t group = *tile::groupSize(type, scales, bits);
  Value place = b.div(column, b.index(perByte));
  Value byte = b.load(matrix, {row, place});
  if (perByte > 1) {
    Value half = b.rem(column, b.index(perByte));
    Value shift = arith::IndexCastOp::create(b, byte.getType(),
                                             b.mul(half, b.index(bits)));
    Value mask = arith::ConstantOp::create(
        b, b.getIntegerAttr(byte.getType(), (1 << bits) - 1));
    byte =
        arith::AndIOp::create(b, arith::ShRUIOp::create(b, byte, shift), mask);
  }
  Value number = arith::UIToFPOp::create(b, element, byte);
  Value at[] = {row, b.div(column, b.index(group))};
  return math::FmaOp::create(b, b.convert(element, b.load(op.getScales(), at)),
                             number,
                             b.convert(element, b.load(op.getBiases(), at)));
}

Value hone::loadStored(ScalarBuilder &b, tile::ReadRowOp op, Type element,
                       Value row, Value column) {
  return loadFrom(b, op, element, row, column);
}

Value hone::loadStored(ScalarBuilder &b, tile::ProductOp op, Type element,
                       Value row, Value column) {
  return loadFrom(b, op, element, row, column);
}
