//===- FillKernel.cpp - Copying and transposing into panels ---------------===//
//
// Whole vectors and squares of them first, then the rest, by scalars.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/KernelLibrary.h"
#include "targets/cpu/PanelFill.h"
#include "targets/cpu/TransposeNetwork.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

std::string hone::fillName(StringRef kind, const SourceFormat &source,
                           Type element, unsigned columns) {
  std::string name;
  llvm::raw_string_ostream(name)
      << kind << "_" << source.name() << "_" << element << "_" << columns;
  return name;
}

SmallVector<Type> hone::fillArguments(OpBuilder &b,
                                      const SourceFormat &source) {
  SmallVector<Type> types = source.argumentTypes(b.getContext());
  types.append({LLVM::LLVMPointerType::get(b.getContext()), b.getI64Type(),
                b.getI64Type()});
  return types;
}

namespace {

class FillEmitter : public PanelFill {
public:
  FillEmitter(OpBuilder &b, Location loc, const SourceFormat &format,
              Type element, unsigned lanes, unsigned columns,
              ValueRange arguments)
      : PanelFill(b, loc, format, element, lanes, columns, arguments),
        format(format), element(element),
        vector(VectorType::get(lanes, element)),
        network(b, loc, lanes, element.getIntOrFloatBitWidth()) {}

  void emit(bool transpose);

private:
  void copyRows();
  /// `isWhole`: there are all columns; else those up to `vectors` are copied as
  /// such.
  void copyRow(Value k, Value isWhole, Value vectors);
  /// Columns of the panel from `j` on, as many as a vector has lanes: squares
  /// of words up to the term `words`, then others up to `squares`.
  void transposeRows(Value j, Value words, Value squares);
  void transposeSquare(const TransposedRows &from, Value k, Value j);
  /// The same of numbers of less than 32 bits, as words of several.
  void transposeWords(const TransposedRows &from, Value k, Value j);
  /// Where such squares end.
  Value wordsEnd();

  Value panelAt(Value k, Value j) {
    return p.at(element, panel, p.add(p.multiply(k, p.word(columns)), j));
  }
  void put(Value column, Value mask, Value k, Value j) {
    p.store(arith::SelectOp::create(b, loc, mask, column, zeroOf(vector)),
            panelAt(k, j));
  }
  Value wholeUpTo(Value size, int64_t unit) {
    return p.multiply(p.divide(size, unit), p.word(unit));
  }

  const SourceFormat &format;
  Type element;
  VectorType vector;
  TransposeNetwork network;
};

} // namespace

void FillEmitter::copyRow(Value k, Value isWhole, Value vectors) {
  PanelSource::Row row = source.row(k);
  Value to = p.at(element, panel, p.multiply(k, p.word(columns)));
  auto copyVectors = [&](Value end) {
    p.loop(p.word(0), end, lanes, [&](Value j) {
      p.store(source.vector(row, j, lanes), p.at(element, to, j));
    });
  };
  auto copyWhole = [&](OpBuilder &, Location) {
    if (format.isPacked())
      copyVectors(p.word(columns));
    else
      p.store(source.vector(row, p.word(0), columns), to);
    scf::YieldOp::create(b, loc);
  };
  auto copyPart = [&](OpBuilder &, Location) {
    Value none = zeroOf(element);
    copyVectors(vectors);
    p.loop(vectors, width, 1, [&](Value j) {
      p.store(source.scalar(row, j), p.at(element, to, j));
    });
    p.loop(width, p.word(columns), 1,
           [&](Value j) { p.store(none, p.at(element, to, j)); });
    scf::YieldOp::create(b, loc);
  };
  scf::IfOp::create(b, loc, isWhole, copyWhole, copyPart);
}

void FillEmitter::copyRows() {
  Value isWhole = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, width,
                                        p.word(columns));
  Value vectors = wholeUpTo(width, lanes);
  p.loop(p.word(0), height, 1, [&](Value k) { copyRow(k, isWhole, vectors); });
}

Value FillEmitter::wordsEnd() {
  const int64_t perWord = source.perWord(), wide = lanes * perWord;
  if (perWord == 1)
    return p.word(0);
  Value end = wholeUpTo(height, wide);
  if (Value isAligned = source.isAligned(wide))
    end = arith::SelectOp::create(b, loc, isAligned, end, p.word(0));
  return end;
}

void FillEmitter::transposeWords(const TransposedRows &from, Value k, Value j) {
  const int64_t perWord = source.perWord(), wide = lanes * perWord;
  SmallVector<Value> square;
  for (const PanelSource::Row &row : from.rows)
    square.push_back(source.words(row, k, lanes));
  PanelSource::Groups groups;
  for (auto [i, words] : llvm::enumerate(network.transpose(square))) {
    int64_t first = i * perWord;
    if (first % source.groupTerms(wide) == 0)
      groups = source.groups(from.rows, p.add(k, p.word(first)));
    for (int64_t n = 0; n < perWord; ++n)
      put(source.number(words, n, groups), from.mask,
          p.add(k, p.word(first + n)), j);
  }
}

void FillEmitter::transposeSquare(const TransposedRows &from, Value k,
                                  Value j) {
  SmallVector<Value> square;
  for (const PanelSource::Row &row : from.rows)
    square.push_back(source.vector(row, k, lanes));
  for (auto [i, column] : llvm::enumerate(network.transpose(square)))
    put(column, from.mask, p.add(k, p.word(i)), j);
}

void FillEmitter::transposeRows(Value j, Value words, Value squares) {
  TransposedRows from = rowsFrom(j);
  const int64_t perWord = source.perWord();
  if (perWord > 1)
    p.loop(p.word(0), words, lanes * perWord,
           [&](Value k) { transposeWords(from, k, j); });
  p.loop(words, squares, lanes, [&](Value k) { transposeSquare(from, k, j); });
  Value none = zeroOf(element);
  p.loop(squares, height, 1, [&](Value k) {
    for (unsigned r = 0; r < lanes; ++r) {
      Value isValid = vector::ExtractOp::create(b, loc, from.mask, int64_t(r));
      p.store(arith::SelectOp::create(b, loc, isValid,
                                      source.scalar(from.rows[r], k), none),
              panelAt(k, p.add(j, p.word(r))));
    }
  });
}

void FillEmitter::emit(bool transpose) {
  if (!transpose)
    return copyRows();
  auto clear = [&](Value j) {
    Value zero = zeroOf(vector);
    p.loop(p.word(0), height, 1,
           [&](Value k) { p.store(zero, panelAt(k, j)); });
  };
  Value squares = wholeUpTo(height, lanes), words = wordsEnd();
  forEachVector(clear, [&](Value j) { transposeRows(j, words, squares); });
}

func::FuncOp KernelLibrary::fill(const SourceFormat &format, Type element,
                                 unsigned lanes, unsigned columns,
                                 bool transpose) {
  OpBuilder b(module.getContext());
  auto [function, isNew] =
      declare(b,
              fillName(transpose ? "tile_fill_transposed" : "tile_fill", format,
                       element, columns),
              fillArguments(b, format));
  if (!isNew)
    return function;
  Location loc = function.getLoc();
  if (element.isBF16())
    emitPairFill(b, function, format, lanes, columns, transpose);
  else
    FillEmitter(b, loc, format, element, lanes, columns,
                function.getArguments())
        .emit(transpose);
  func::ReturnOp::create(b, loc);
  return function;
}
