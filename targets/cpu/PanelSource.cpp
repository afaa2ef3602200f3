//===- PanelSource.cpp - The matrix that a fill reads ---------------------===//
//
// Two 4-bit numbers are neighbours in a byte, so a vector of bytes is split
// into halves and interleaved again; both are single instructions on bytes,
// before the numbers become wide.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/PanelSource.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

static Value convertFloat(OpBuilder &b, Location loc, Value value,
                          Type element) {
  unsigned from = getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  unsigned to = element.getIntOrFloatBitWidth();
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(element);
  if (from < to)
    return arith::ExtFOp::create(b, loc, type, value);
  if (from > to)
    return arith::TruncFOp::create(b, loc, type, value);
  return value;
}

std::string SourceFormat::name() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (isPacked())
    os << "int" << bits << "_g" << group;
  else
    os << numbers;
  return text;
}

SmallVector<Type> SourceFormat::argumentTypes(MLIRContext *context) const {
  Type pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = IntegerType::get(context, 64);
  if (!isPacked())
    return {pointer, i64};
  return {pointer, pointer, pointer, i64, i64};
}

PanelSource::Row PanelSource::row(Value index) {
  if (!format.isPacked()) {
    Value offset = p.multiply(index, arguments[1]);
    return {p.at(format.numbers, arguments[0], offset), {}, {}};
  }
  Value numbers = p.multiply(index, arguments[3]);
  Value groups = p.divide(numbers, format.group);
  Value bytes = p.divide(numbers, 8 / format.bits);
  return {p.at(b.getI8Type(), arguments[0], bytes),
          p.at(b.getF32Type(), arguments[1], groups),
          p.at(b.getF32Type(), arguments[2], groups)};
}

Value PanelSource::dequantise(Value integers, const Row &row, Value column) {
  auto bytes = cast<VectorType>(integers.getType());
  VectorType numbers = bytes.clone(element);
  Value group = p.divide(column, format.group);
  auto shared = [&](Value table) {
    Value value = p.load(b.getF32Type(), p.at(b.getF32Type(), table, group));
    return vector::BroadcastOp::create(b, loc, numbers,
                                       convertFloat(b, loc, value, element));
  };
  Value wide =
      arith::ExtUIOp::create(b, loc, bytes.clone(b.getI32Type()), integers);
  Value q = arith::SIToFPOp::create(b, loc, numbers, wide);
  return vector::FMAOp::create(b, loc, q, shared(row.scales),
                               shared(row.biases));
}

/// The constant `value` in every lane.
static Value splat(OpBuilder &b, Location loc, VectorType type, int64_t value) {
  return arith::ConstantOp::create(
      b, loc,
      DenseElementsAttr::get(type,
                             b.getIntegerAttr(type.getElementType(), value)));
}

Value PanelSource::vector(const Row &row, Value column, unsigned lanes) {
  if (!format.isPacked()) {
    Value address = p.at(format.numbers, row.numbers, column);
    auto type = VectorType::get(lanes, format.numbers);
    return convertFloat(b, loc, p.load(type, address), element);
  }
  Value at = p.add(column, arguments[4]);
  Value first = p.divide(at, 8 / format.bits);
  unsigned count = lanes * format.bits / 8;
  auto type = VectorType::get(count, b.getI8Type());
  Value bytes = p.load(type, p.at(b.getI8Type(), row.numbers, first));
  if (format.bits == 8)
    return dequantise(bytes, row, at);

  Value low = arith::AndIOp::create(b, loc, bytes, splat(b, loc, type, 15));
  Value high = arith::ShRUIOp::create(b, loc, bytes, splat(b, loc, type, 4));
  SmallVector<int64_t> indices;
  for (unsigned i = 0; i < count; ++i)
    indices.append({i, i + count});
  return dequantise(vector::ShuffleOp::create(b, loc, low, high, indices), row,
                    at);
}

void PanelSource::request(const Row &row, Value column) {
  LLVM::Prefetch::create(b, loc, p.at(format.numbers, row.numbers, column),
                         /*rw=*/0, /*hint=*/3, /*cache=*/1);
}

Value PanelSource::scalar(const Row &row, Value column) {
  if (!format.isPacked()) {
    Value address = p.at(format.numbers, row.numbers, column);
    return convertFloat(b, loc, p.load(format.numbers, address), element);
  }
  Value at = p.add(column, arguments[4]);
  Type i8 = b.getI8Type();
  Value q = p.load(i8, p.at(i8, row.numbers, p.divide(at, 8 / format.bits)));
  if (format.bits == 4) {
    Value odd = arith::AndIOp::create(b, loc, at, p.word(1));
    Value shift =
        arith::TruncIOp::create(b, loc, i8, p.multiply(odd, p.word(4)));
    Value half = arith::ConstantIntOp::create(b, loc, i8, 15);
    q = arith::AndIOp::create(b, loc, arith::ShRUIOp::create(b, loc, q, shift),
                              half);
  }
  Value one = vector::BroadcastOp::create(b, loc, VectorType::get(1, i8), q);
  return vector::ExtractOp::create(b, loc, dequantise(one, row, at),
                                   int64_t(0));
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

unsigned PanelSource::perWord() const {
  if (!element.isF32())
    return 1;
  return format.isPacked() ? 32 / format.bits : format.numbers.isBF16() ? 2 : 1;
}

Value PanelSource::words(const Row &row, Value column, unsigned lanes) {
  Value address;
  if (format.isPacked()) {
    Value byte = p.divide(p.add(column, arguments[4]), 8 / format.bits);
    address = p.at(b.getI8Type(), row.numbers, byte);
  } else {
    address = p.at(format.numbers, row.numbers, column);
  }
  return LLVM::LoadOp::create(b, loc, VectorType::get(lanes, b.getI32Type()),
                              address, /*alignment=*/1);
}

PanelSource::Groups PanelSource::groups(ArrayRef<Row> rows, Value column) {
  if (!format.isPacked())
    return {};
  Value group = p.divide(p.add(column, arguments[4]), format.group);
  auto type = VectorType::get(static_cast<int64_t>(rows.size()), element);
  auto gather = [&](auto tableOf) -> Value {
    SmallVector<Value> values;
    for (const Row &row : rows)
      values.push_back(p.load(element, p.at(element, tableOf(row), group)));
    return vector::FromElementsOp::create(b, loc, type, values);
  };
  return {gather([](const Row &row) { return row.scales; }),
          gather([](const Row &row) { return row.biases; })};
}

Value PanelSource::number(Value words, unsigned index, const Groups &groups) {
  auto type = cast<VectorType>(words.getType());
  VectorType numbers = type.clone(element);
  if (!format.isPacked()) {
    if (perWord() == 1)
      return arith::BitcastOp::create(b, loc, numbers, words);
    // bf16 is the upper half of an f32
    Value bits =
        index == 0
            ? arith::ShLIOp::create(b, loc, words, splat(b, loc, type, 16))
                  .getResult()
            : arith::AndIOp::create(b, loc, words,
                                    splat(b, loc, type, 0xffff0000))
                  .getResult();
    return arith::BitcastOp::create(b, loc, numbers, bits);
  }
  return vector::FMAOp::create(b, loc, integer(words, index), groups.scales,
                               groups.biases);
}

/// Integer `index` of each word, as a float. Where its bits are in a fraction,
/// after the exponent that gives the last of them the value 1, they are added
/// to a power of two: no shift for most of them, and no conversion.
Value PanelSource::integer(Value words, unsigned index) {
  constexpr int64_t fractionBits = 23, halfway = 12;
  auto type = cast<VectorType>(words.getType());
  int64_t at = index * format.bits;
  if (at + format.bits > fractionBits) {
    words = arith::ShRUIOp::create(b, loc, words, splat(b, loc, type, halfway));
    at -= halfway;
  }
  double one = static_cast<double>(int64_t(1) << (fractionBits - at));
  auto power =
      DenseElementsAttr::get(type.clone(element), b.getFloatAttr(element, one));
  Value base = arith::ConstantOp::create(b, loc, power);
  Value kept = arith::AndIOp::create(
      b, loc, words,
      splat(b, loc, type, ((int64_t(1) << format.bits) - 1) << at));
  Value moved = arith::OrIOp::create(
      b, loc, kept, arith::BitcastOp::create(b, loc, type, base));
  return arith::SubFOp::create(
      b, loc, arith::BitcastOp::create(b, loc, type.clone(element), moved),
      base);
}

Value PanelSource::isAligned(int64_t terms) {
  if (!format.isPacked())
    return {};
  Value unit = p.word(groupTerms(terms));
  Value rest = arith::RemUIOp::create(b, loc, arguments[4], unit);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, rest,
                               p.word(0));
}
