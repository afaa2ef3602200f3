//===- FillKernel.cpp - Copying and transposing into panels ---------------===//
//
// Whole vectors and squares of them first, then what is left, by scalars.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/KernelLibrary.h"
#include "targets/cpu/PointerBuilder.h"
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

func::FuncOp KernelLibrary::fill(const SourceFormat &format, Type element,
                                 unsigned lanes, unsigned columns) {
  if (element.isBF16())
    return fillPairs(format, lanes, columns, /*transpose=*/false);
  OpBuilder b(module.getContext());
  auto [function, isNew] =
      declare(b, fillName("tile_fill", format, element, columns),
              fillArguments(b, format));
  if (!isNew)
    return function;

  Location loc = function.getLoc();
  PointerBuilder p(b, loc);
  ValueRange arguments = function.getArguments();
  Value panel = arguments.take_back(3)[0], height = arguments.take_back(2)[0],
        width = arguments.back();
  PanelSource source(b, loc, format, element, arguments.drop_back(3));
  Value none =
      arith::ConstantOp::create(b, loc, element, b.getZeroAttr(element));
  Value full = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, width,
                                     p.word(columns));
  Value vectors = p.multiply(p.divide(width, lanes), p.word(lanes));
  p.loop(p.word(0), height, 1, [&](Value k) {
    PanelSource::Row row = source.row(k);
    Value to = p.at(element, panel, p.multiply(k, p.word(columns)));
    auto copyVectors = [&](Value end) {
      p.loop(p.word(0), end, lanes, [&](Value j) {
        p.store(source.vector(row, j, lanes), p.at(element, to, j));
      });
    };
    auto copyRow = [&](OpBuilder &, Location) {
      if (format.isPacked())
        copyVectors(p.word(columns));
      else
        p.store(source.vector(row, p.word(0), columns), to);
      scf::YieldOp::create(b, loc);
    };
    auto copyPart = [&](OpBuilder &, Location) {
      copyVectors(vectors);
      p.loop(vectors, width, 1, [&](Value j) {
        p.store(source.scalar(row, j), p.at(element, to, j));
      });
      p.loop(width, p.word(columns), 1,
             [&](Value j) { p.store(none, p.at(element, to, j)); });
      scf::YieldOp::create(b, loc);
    };
    scf::IfOp::create(b, loc, full, copyRow, copyPart);
  });
  func::ReturnOp::create(b, loc);
  return function;
}

func::FuncOp KernelLibrary::fillTransposed(const SourceFormat &format,
                                           Type element, unsigned lanes,
                                           unsigned columns) {
  if (element.isBF16())
    return fillPairs(format, lanes, columns, /*transpose=*/true);
  OpBuilder b(module.getContext());
  auto [function, isNew] =
      declare(b, fillName("tile_fill_transposed", format, element, columns),
              fillArguments(b, format));
  if (!isNew)
    return function;

  Location loc = function.getLoc();
  PointerBuilder p(b, loc);
  ValueRange arguments = function.getArguments();
  Value panel = arguments.take_back(3)[0], height = arguments.take_back(2)[0],
        width = arguments.back();
  PanelSource source(b, loc, format, element, arguments.drop_back(3));
  auto vector = VectorType::get(lanes, element);
  Value zero = arith::ConstantOp::create(b, loc, vector, b.getZeroAttr(vector));
  Value none =
      arith::ConstantOp::create(b, loc, element, b.getZeroAttr(element));
  Value squares = p.multiply(p.divide(height, lanes), p.word(lanes));
  // Numbers of less than 32 bits are transposed as words of several.
  const int64_t perWord = source.perWord(), wide = lanes * perWord;
  Value wideSquares = p.multiply(p.divide(height, wide), p.word(wide));
  if (perWord == 1)
    wideSquares = p.word(0);
  else if (Value isAligned = source.isAligned(wide))
    wideSquares =
        arith::SelectOp::create(b, loc, isAligned, wideSquares, p.word(0));
  Value lastRow = p.subtract(width, p.word(1));
  auto panelAt = [&](Value k, Value j) {
    return p.at(element, panel, p.add(p.multiply(k, p.word(columns)), j));
  };

  p.loop(p.word(0), p.word(columns), lanes, [&](Value j) {
    Value empty =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, j, width);
    auto clear = [&](OpBuilder &, Location) {
      p.loop(p.word(0), height, 1,
             [&](Value k) { p.store(zero, panelAt(k, j)); });
      scf::YieldOp::create(b, loc);
    };
    auto copy = [&](OpBuilder &, Location) {
      // Rows past the width repeat the last one and are then masked away.
      SmallVector<PanelSource::Row> rows;
      for (unsigned r = 0; r < lanes; ++r)
        rows.push_back(source.row(p.minimum(p.add(j, p.word(r)), lastRow)));
      Value valid = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                               p.subtract(width, j));
      Value mask = vector::CreateMaskOp::create(
          b, loc, VectorType::get(lanes, b.getI1Type()), valid);
      TransposeNetwork network(b, loc, lanes, element.getIntOrFloatBitWidth());
      auto put = [&](Value column, Value k) {
        p.store(arith::SelectOp::create(b, loc, mask, column, zero),
                panelAt(k, j));
      };
      auto copyWords = [&](Value k) {
        SmallVector<Value> square;
        for (const PanelSource::Row &row : rows)
          square.push_back(source.words(row, k, lanes));
        PanelSource::Groups groups;
        for (auto [i, words] : llvm::enumerate(network.transpose(square))) {
          int64_t first = i * perWord;
          if (first % source.groupTerms(wide) == 0)
            groups = source.groups(rows, p.add(k, p.word(first)));
          for (int64_t n = 0; n < perWord; ++n)
            put(source.number(words, n, groups), p.add(k, p.word(first + n)));
        }
      };
      if (perWord > 1)
        p.loop(p.word(0), wideSquares, wide, copyWords);
      p.loop(wideSquares, squares, lanes, [&](Value k) {
        SmallVector<Value> square;
        for (const PanelSource::Row &row : rows)
          square.push_back(source.vector(row, k, lanes));
        for (auto [i, column] : llvm::enumerate(network.transpose(square)))
          put(column, p.add(k, p.word(i)));
      });
      p.loop(squares, height, 1, [&](Value k) {
        for (unsigned r = 0; r < lanes; ++r) {
          Value isValid = vector::ExtractOp::create(b, loc, mask, int64_t(r));
          p.store(arith::SelectOp::create(b, loc, isValid,
                                          source.scalar(rows[r], k), none),
                  panelAt(k, p.add(j, p.word(r))));
        }
      });
      scf::YieldOp::create(b, loc);
    };
    scf::IfOp::create(b, loc, empty, clear, copy);
  });
  func::ReturnOp::create(b, loc);
  return function;
}
