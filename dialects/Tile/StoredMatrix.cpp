//===- StoredMatrix.cpp - Elements of a matrix, however it is stored ------===//

#include "dialects/Tile/StoredMatrix.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace hone;

namespace {
/// The scale and the bias of a group, which turn its numbers into weights.
struct Group {
  template <typename StoredOp>
  Group(ScalarBuilder &b, StoredOp op, Type element, Value row, Value column) {
    int64_t size = *tile::groupSize(op.getW().getType(),
                                    op.getScales().getType(), *op.getBits());
    Value at[] = {row, b.div(column, b.index(size))};
    scale = b.convert(element, b.load(op.getScales(), at));
    bias = b.convert(element, b.load(op.getBiases(), at));
  }
  Value of(ScalarBuilder &b, Value number) const {
    number = arith::UIToFPOp::create(b, scale.getType(), number);
    return math::FmaOp::create(b, scale, number, bias);
  }

  Value scale, bias;
};
} // namespace

template <typename StoredOp>
static Value loadFrom(ScalarBuilder &b, StoredOp op, Type element, Value row,
                      Value column) {
  Value matrix = op.getW();
  if (!op.getScales())
    return b.convert(element, b.load(matrix, {row, column}));
  int64_t bits = *op.getBits(), perByte = 8 / bits;
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
  return Group(b, op, element, row, column).of(b, byte);
}

Value hone::loadStored(ScalarBuilder &b, tile::ReadRowOp op, Type element,
                       Value row, Value column) {
  return loadFrom(b, op, element, row, column);
}

Value hone::loadStored(ScalarBuilder &b, tile::ProductOp op, Type element,
                       Value row, Value column) {
  return loadFrom(b, op, element, row, column);
}

SmallVector<Value> hone::loadPacked(ScalarBuilder &b, tile::ProductOp op,
                                    Type element, Value row, Value column,
                                    int64_t count) {
  int64_t bits = *op.getBits(), perByte = 8 / bits;
  Group group(b, op, element, row, column);
  Value first = b.div(column, b.index(perByte));
  SmallVector<Value> numbers;
  for (int64_t i = 0; i < count; i += perByte) {
    Value place = b.add(first, b.index(i / perByte));
    Value byte = b.load(op.getW(), {row, place});
    for (int64_t part = 0; part < perByte; ++part) {
      auto constant = [&](int64_t value) {
        return arith::ConstantOp::create(
            b, b.getIntegerAttr(byte.getType(), value));
      };
      Value number = byte;
      if (part)
        number = arith::ShRUIOp::create(b, number, constant(part * bits));
      if (part + 1 < perByte)
        number = arith::AndIOp::create(b, number, constant((1 << bits) - 1));
      numbers.push_back(group.of(b, number));
    }
  }
  return numbers;
}
