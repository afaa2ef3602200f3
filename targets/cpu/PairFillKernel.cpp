//===- PairFillKernel.cpp - Filling panels of bfloat16 pairs --------------===//
//
// Terms 2q and 2q + 1 of a column are one 32-bit unit, the first one low. Along
// a row of a matrix that is to be transposed they are neighbours already, so
// that a square of units is transposed like one of f32. Only for CPUs with
// bfloat16 dot products, which have vectors of 512 bits; narrow panels have
// half of one or a quarter.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/BFloat16.h"
#include "targets/cpu/KernelLibrary.h"
#include "targets/cpu/PanelFill.h"
#include "targets/cpu/TransposeNetwork.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

/// Rows are apart, so that the processor does not see which line comes next. It
/// is near, since products ask for it, but not in the nearest cache.
static constexpr int64_t kRowsAhead = 32;

namespace {

/// A lane is a pair.
class PairFillEmitter : public PanelFill {
public:
  PairFillEmitter(OpBuilder &b, Location loc, const SourceFormat &format,
                  unsigned lanes, unsigned columns, ValueRange arguments)
      : PanelFill(b, loc, format,
                  format.isPacked() ? Type(b.getF32Type()) : format.numbers,
                  lanes, columns, arguments),
        requests(!format.isPacked()) {}

  void emit(bool transpose);

private:
  void fillUp();
  void copyRows();
  void copyPairOfRows(Value q, bool hasSecond);
  void transposeRows(Value j);
  void transposeSquare(const TransposedRows &from, Value j, Value k,
                       unsigned terms);

  VectorType vectorOf(Type type, unsigned count) {
    return VectorType::get(count, type);
  }
  Value pairAt(Value q, Value j) {
    return p.at(b.getI32Type(), panel,
                p.add(p.multiply(q, p.word(columns)), j));
  }
  /// The address of one half of a pair.
  Value halfAt(Value q, Value j, unsigned half) {
    Value pair = p.add(p.multiply(q, p.word(columns)), j);
    return p.at(b.getBF16Type(), panel,
                p.add(p.multiply(pair, p.word(2)), p.word(half)));
  }
  Value roundScalar(Value value) {
    if (value.getType().isBF16())
      return value;
    return arith::TruncFOp::create(b, loc, b.getBF16Type(), value);
  }
  /// As many numbers of a row as a vector has pairs, rounded.
  Value numbersOf(const PanelSource::Row &row, Value column) {
    return roundToBFloat16(b, loc, source.vector(row, column, lanes));
  }

  bool requests; ///< of lines that are read soon, see kRowsAhead
};

} // namespace

/// Copies rows 2q and, if there is one, 2q + 1 side by side.
void PairFillEmitter::copyPairOfRows(Value q, bool hasSecond) {
  Value k = p.multiply(q, p.word(2));
  PanelSource::Row low = source.row(k);
  PanelSource::Row high =
      hasSecond ? source.row(p.add(k, p.word(1))) : PanelSource::Row();
  if (requests && hasSecond)
    for (int64_t i : {0, 1}) {
      PanelSource::Row ahead = source.row(p.add(k, p.word(kRowsAhead + i)));
      for (int64_t j = 0; j < int64_t(columns); j += source.perLine())
        source.request(ahead, p.word(j));
    }
  SmallVector<int64_t> sideBySide;
  for (unsigned i = 0; i < lanes; ++i)
    sideBySide.append({i, i + lanes});
  Value whole = p.multiply(p.divide(width, lanes), p.word(lanes));
  p.loop(p.word(0), whole, lanes, [&](Value j) {
    Value second = hasSecond ? numbersOf(high, j)
                             : zeroOf(vectorOf(b.getBF16Type(), lanes));
    p.store(vector::ShuffleOp::create(b, loc, numbersOf(low, j), second,
                                      sideBySide),
            pairAt(q, j));
  });
  p.loop(whole, width, 1, [&](Value j) {
    Value second = hasSecond ? roundScalar(source.scalar(high, j))
                             : zeroOf(b.getBF16Type());
    p.store(roundScalar(source.scalar(low, j)), halfAt(q, j, 0));
    p.store(second, halfAt(q, j, 1));
  });
  p.loop(width, p.word(columns), 1,
         [&](Value j) { p.store(zeroOf(b.getI32Type()), pairAt(q, j)); });
}

void PairFillEmitter::copyRows() {
  Value pairs = p.divide(height, 2);
  p.loop(p.word(0), pairs, 1,
         [&](Value q) { copyPairOfRows(q, /*hasSecond=*/true); });
  p.loop(pairs, p.ceilDivide(height, 2), 1,
         [&](Value q) { copyPairOfRows(q, /*hasSecond=*/false); });
}

/// Transposes the `terms` terms from k of `lanes` rows: as many or twice so.
void PairFillEmitter::transposeSquare(const TransposedRows &from, Value j,
                                      Value k, unsigned terms) {
  SmallVector<Value> square;
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanes));
  for (const PanelSource::Row &row : from.rows) {
    for (int64_t at = terms; requests && at < 2 * terms; at += source.perLine())
      source.request(row, p.add(k, p.word(at)));
    Value low = numbersOf(row, k);
    Value high = terms > lanes ? numbersOf(row, p.add(k, p.word(lanes)))
                               : zeroOf(vectorOf(b.getBF16Type(), lanes));
    Value numbers = vector::ShuffleOp::create(b, loc, low, high, all);
    square.push_back(LLVM::BitcastOp::create(
        b, loc, vectorOf(b.getI32Type(), lanes), numbers));
  }
  TransposeNetwork network(b, loc, lanes, /*elementBits=*/32);
  Value zero = zeroOf(vectorOf(b.getI32Type(), lanes));
  Value firstPair = p.divide(k, 2);
  for (auto [i, pairs] : llvm::enumerate(network.transpose(square)))
    if (i < terms / 2)
      p.store(arith::SelectOp::create(b, loc, from.mask, pairs, zero),
              pairAt(p.add(firstPair, p.word(i)), j));
}

/// Columns j .. j + lanes - 1 of the panel.
void PairFillEmitter::transposeRows(Value j) {
  TransposedRows from = rowsFrom(j);
  auto wholeUpTo = [&](unsigned terms) {
    return p.multiply(p.divide(height, terms), p.word(terms));
  };
  Value squares = wholeUpTo(2 * lanes), halves = wholeUpTo(lanes);
  p.loop(p.word(0), squares, 2 * lanes,
         [&](Value k) { transposeSquare(from, j, k, 2 * lanes); });
  p.loop(squares, halves, lanes,
         [&](Value k) { transposeSquare(from, j, k, lanes); });
  p.loop(halves, height, 2, [&](Value k) {
    Value q = p.divide(k, 2), next = p.add(k, p.word(1));
    Value hasSecond =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, next, height);
    // Without a second term the first one is read twice.
    Value second = p.minimum(next, p.subtract(height, p.word(1)));
    Value none = zeroOf(b.getBF16Type());
    for (unsigned r = 0; r < lanes; ++r) {
      Value isValid = vector::ExtractOp::create(b, loc, from.mask, int64_t(r));
      Value column = p.add(j, p.word(r));
      Value both = arith::AndIOp::create(b, loc, isValid, hasSecond);
      auto put = [&](Value isThere, Value term, unsigned half) {
        Value number = roundScalar(source.scalar(from.rows[r], term));
        p.store(arith::SelectOp::create(b, loc, isThere, number, none),
                halfAt(q, column, half));
      };
      put(isValid, k, 0);
      put(both, second, 1);
    }
  });
}

/// Zeros after the last pair: a matrix unit multiplies whole blocks of terms.
void PairFillEmitter::fillUp() {
  Value pairs = p.ceilDivide(height, 2);
  Value whole = p.multiply(p.ceilDivide(height, CpuDescription::kUnitTerms),
                           p.word(CpuDescription::kUnitTerms / 2));
  Value zero = zeroOf(vectorOf(b.getI32Type(), lanes));
  p.loop(pairs, whole, 1, [&](Value q) {
    p.loop(p.word(0), p.word(columns), lanes,
           [&](Value j) { p.store(zero, pairAt(q, j)); });
  });
}

void PairFillEmitter::emit(bool transpose) {
  fillUp();
  if (!transpose)
    return copyRows();
  auto clear = [&](Value j) {
    p.loop(p.word(0), p.ceilDivide(height, 2), 1, [&](Value q) {
      p.store(zeroOf(vectorOf(b.getI32Type(), lanes)), pairAt(q, j));
    });
  };
  forEachVector(clear, [&](Value j) { transposeRows(j); });
}

void hone::emitPairFill(OpBuilder &b, func::FuncOp function,
                        const SourceFormat &format, unsigned lanes,
                        unsigned columns, bool transpose) {
  PairFillEmitter(b, function.getLoc(), format, lanes, columns,
                  function.getArguments())
      .emit(transpose);
}
