//===- MatrixUnitKernel.cpp - Products of pairs on a matrix unit ----------===//
//
// One instruction (x86's tdpbf16ps) multiplies 16 rows of 32 bfloat16 terms
// with 16 columns of a panel of pairs, and adds to 16 by 16 sums of f32. Four
// such squares of sums stay in registers along the terms. Each sum is one chain
// over ascending blocks of 32 terms, so results do not depend on where a row
// falls.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/BFloat16.h"
#include "targets/cpu/KernelLibrary.h"
#include "targets/cpu/PointerBuilder.h"
#include "targets/cpu/ReadAhead.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

/// Rows and columns of a square of sums; both squares of a column share terms.
static constexpr int64_t kSide = 16, kRows = CpuDescription::kUnitRows;
static constexpr int64_t kTerms = CpuDescription::kUnitTerms;
static constexpr int64_t kRowBytes = 64; ///< of a register

namespace {

/// Emits the body of one kernel; its arguments are those of
/// KernelLibrary::contract without an epilogue.
class MatrixUnitEmitter {
public:
  MatrixUnitEmitter(OpBuilder &b, Location loc, const ContractTypes &types,
                    unsigned vectors, bool accumulates, ValueRange arguments)
      : p(b, loc), b(b), loc(loc), types(types), vectors(vectors),
        accumulates(accumulates), a(arguments[0]), aRow(arguments[1]),
        panel(arguments[3]), ld(arguments[4]), k(arguments[5]), c(arguments[6]),
        cRow(arguments[7]), start(arguments[8]), startRow(arguments[9]),
        m(arguments[10]), ahead(ReadAhead::of(arguments)) {}

  void emit();

private:
  using Squares = SmallVector<Value>;

  void emitRows(Value first, Value request);
  Squares startSquares(Value first, unsigned column, unsigned count);
  /// The terms of all rows as registers read them: a pointer and bytes between
  /// rows.
  std::pair<Value, Value> termsOf(Value aTile, Value rows, Value term);
  void copyTerms(Value aTile, Value rows, Value term, Value terms);
  void storeSums(Value first, Value rows);

  /// `result` may be null: none.
  Value call(StringRef name, Type result, ValueRange operands) {
    StringAttr intrinsic = b.getStringAttr(name);
    if (!result) {
      LLVM::CallIntrinsicOp::create(b, loc, intrinsic, operands);
      return {};
    }
    return LLVM::CallIntrinsicOp::create(b, loc, result, intrinsic, operands)
        .getResult(0);
  }
  Value half(int64_t value) {
    return arith::ConstantIntOp::create(b, loc, b.getI16Type(), value);
  }
  Type registerType() { return LLVM::LLVMX86AMXType::get(b.getContext()); }
  Value loadRegister(Value from, Value rowBytes) {
    return call("llvm.x86.tileloadd64.internal", registerType(),
                {half(kSide), half(kRowBytes), from, rowBytes});
  }
  Value bytes(Value count, int64_t size) {
    return p.multiply(count, p.word(size));
  }

  PointerBuilder p;
  OpBuilder &b;
  Location loc;
  ContractTypes types;
  unsigned vectors;
  bool accumulates;
  Value a, aRow, panel, ld, k, c, cRow, start, startRow, m;
  ReadAhead ahead;
  Value copied; ///< kRows by kTerms bf16
  Value sums;   ///< kRows by vectors * kSide f32
  Value zeros;  ///< kSide by kSide f32
  Value steps;  ///< of one row tile
};

} // namespace

void MatrixUnitEmitter::emit() {
  copied = LLVM::AllocaOp::create(b, loc, a.getType(), b.getBF16Type(),
                                  p.word(kRows * kTerms), /*alignment=*/64);
  sums = LLVM::AllocaOp::create(b, loc, a.getType(), b.getF32Type(),
                                p.word(kRows * vectors * kSide),
                                /*alignment=*/64);
  zeros = LLVM::AllocaOp::create(b, loc, a.getType(), b.getF32Type(),
                                 p.word(kSide * kSide), /*alignment=*/64);
  auto vector = VectorType::get(kSide, types.sum);
  Value zero = arith::ConstantOp::create(b, loc, vector, b.getZeroAttr(vector));
  for (int64_t row = 0; row < kSide; ++row)
    p.store(zero, p.at(types.sum, zeros, p.word(row * kSide)));
  steps = p.ceilDivide(k, kTerms);
  ahead.divide(p, p.multiply(p.ceilDivide(m, kRows), steps),
               kRows * kTerms * types.panel.getIntOrFloatBitWidth() / 8);
  p.loop(p.word(0), m, kRows, [&](Value first) {
    emitRows(first, p.multiply(p.divide(first, kRows), steps));
  });
  func::ReturnOp::create(b, loc);
}

/// The start of the sums: zeros, or numbers in memory that has kRows rows.
MatrixUnitEmitter::Squares
MatrixUnitEmitter::startSquares(Value first, unsigned column, unsigned count) {
  Value null = LLVM::ZeroOp::create(b, loc, start.getType());
  Value isNull =
      LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, start, null);
  Value rowBytes = arith::SelectOp::create(b, loc, isNull, p.word(kRowBytes),
                                           bytes(startRow, 4));
  Squares squares;
  for (unsigned r = 0; r < 2; ++r)
    for (unsigned v = 0; v < count; ++v) {
      Value row = p.add(first, p.word(r * kSide));
      Value at = p.add(p.multiply(row, startRow), p.word((column + v) * kSide));
      Value from = arith::SelectOp::create(b, loc, isNull, zeros,
                                           p.at(types.sum, start, at));
      squares.push_back(loadRegister(from, rowBytes));
    }
  return squares;
}

/// copied[r][t] = the term `term` + t of row r, rounded; zero for terms <= t.
void MatrixUnitEmitter::copyTerms(Value aTile, Value rows, Value term,
                                  Value terms) {
  p.loop(p.word(0), rows, 1, [&](Value r) {
    for (int64_t t = 0; t < kTerms; t += kSide) {
      Value at = p.add(p.multiply(r, aRow), p.add(term, p.word(t)));
      Value read = loadRoundedTerms(b, loc, types.a, p.at(types.a, aTile, at),
                                    p.subtract(terms, p.word(t)));
      p.store(read, p.at(b.getBF16Type(), copied,
                         p.add(bytes(r, kTerms), p.word(t))));
    }
  });
}

std::pair<Value, Value> MatrixUnitEmitter::termsOf(Value aTile, Value rows,
                                                   Value term) {
  Value terms = p.minimum(p.subtract(k, term), p.word(kTerms));
  Value copiedBytes = p.word(kRowBytes);
  if (!types.a.isBF16()) {
    copyTerms(aTile, rows, term, terms);
    return {copied, copiedBytes};
  }
  // In place where there are all rows and terms.
  auto isLess = [&](Value x, int64_t y) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x,
                                 p.word(y));
  };
  Value copies =
      arith::OrIOp::create(b, loc, isLess(rows, kRows), isLess(terms, kTerms));
  scf::IfOp::create(b, loc, copies, [&](OpBuilder &, Location) {
    copyTerms(aTile, rows, term, terms);
    scf::YieldOp::create(b, loc);
  });
  return {arith::SelectOp::create(b, loc, copies, copied,
                                  p.at(types.a, aTile, term)),
          arith::SelectOp::create(b, loc, copies, copiedBytes, bytes(aRow, 2))};
}

void MatrixUnitEmitter::emitRows(Value first, Value request) {
  Value aTile = p.at(types.a, a, p.multiply(first, aRow));
  Value rows = p.minimum(p.subtract(m, first), p.word(kRows));
  for (unsigned column = 0; column < vectors; column += 2) {
    unsigned count = std::min(2u, vectors - column);
    auto step = [&](OpBuilder &, Location, Value s, ValueRange before) {
      if (column == 0)
        ahead.emit(b, loc, p.add(request, s));
      Value term = p.multiply(s, p.word(kTerms));
      auto [left, leftBytes] = termsOf(aTile, rows, term);
      Value pairs = p.multiply(p.multiply(s, p.word(kTerms / 2)), ld);
      Squares right, after;
      for (unsigned v = 0; v < count; ++v) {
        Value at = p.add(pairs, p.word((column + v) * kSide));
        right.push_back(
            loadRegister(p.at(b.getI32Type(), panel, at), bytes(ld, 4)));
      }
      for (unsigned r = 0; r < 2; ++r) {
        Value below = p.at(b.getI8Type(), left, bytes(leftBytes, r * kSide));
        Value terms = loadRegister(below, leftBytes);
        for (unsigned v = 0; v < count; ++v)
          after.push_back(call("llvm.x86.tdpbf16ps.internal", registerType(),
                               {half(kSide), half(kRowBytes), half(kRowBytes),
                                before[r * count + v], terms, right[v]}));
      }
      scf::YieldOp::create(b, loc, after);
    };
    auto squares = scf::ForOp::create(b, loc, p.word(0), steps, p.word(1),
                                      startSquares(first, column, count), step);
    for (unsigned r = 0; r < 2; ++r)
      for (unsigned v = 0; v < count; ++v) {
        int64_t at = (r * kSide * vectors + column + v) * kSide;
        call("llvm.x86.tilestored64.internal", Type(),
             {half(kSide), half(kRowBytes), p.at(types.sum, sums, p.word(at)),
              p.word(vectors * kRowBytes), squares.getResult(r * count + v)});
      }
  }
  storeSums(first, rows);
}

void MatrixUnitEmitter::storeSums(Value first, Value rows) {
  auto vector = VectorType::get(kSide, types.sum);
  p.loop(p.word(0), rows, 1, [&](Value r) {
    Value to = p.multiply(p.add(first, r), cRow);
    for (unsigned v = 0; v < vectors; ++v) {
      Value at = p.at(types.sum, c, p.add(to, p.word(v * kSide)));
      Value from = p.add(bytes(r, vectors * kSide), p.word(v * kSide));
      Value sum = p.load(vector, p.at(types.sum, sums, from));
      if (accumulates)
        sum = arith::AddFOp::create(b, loc, p.load(vector, at), sum);
      p.store(sum, at);
    }
  });
}

void hone::emitMatrixUnitContract(OpBuilder &b, func::FuncOp function,
                                  const ContractTypes &types, unsigned vectors,
                                  bool accumulates) {
  MatrixUnitEmitter(b, function.getLoc(), types, vectors, accumulates,
                    function.getArguments())
      .emit();
}
