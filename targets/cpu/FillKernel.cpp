//===- FillKernel.cpp - Copying and transposing into panels ---------------===//
//
// Squares of lanes x lanes are transposed in registers by an explicit network
// of two-operand shuffles. Do not replace it by vector.transpose, and do not
// canonicalise after it: both end in many times the instructions.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/KernelLibrary.h"
#include "targets/cpu/PointerBuilder.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace hone;

namespace {

/// Transposes a square of `lanes` vectors. Rows are first transposed inside
/// each 128-bit lane by unpacking, then the lanes among each other; x86 does
/// either step in one instruction per result.
class TransposeNetwork {
public:
  TransposeNetwork(OpBuilder &b, Location loc, unsigned lanes,
                   unsigned elementBits)
      : b(b), loc(loc), lanes(lanes),
        perChunk(std::min(lanes, 128 / elementBits)) {}

  SmallVector<Value> transpose(ArrayRef<Value> rows) {
    // inChunk[q][c]: column c of every chunk, for the q-th group of rows.
    SmallVector<SmallVector<Value>> inChunk;
    for (unsigned q = 0; q < lanes; q += perChunk)
      inChunk.push_back(unpackRows(rows.slice(q, perChunk), 1));
    SmallVector<Value> columns(lanes);
    for (unsigned c = 0; c < perChunk; ++c) {
      SmallVector<Value> chunks;
      for (SmallVector<Value> &group : inChunk)
        chunks.push_back(group[c]);
      for (auto [l, column] : llvm::enumerate(gatherChunks(chunks)))
        columns[l * perChunk + c] = column;
    }
    return columns;
  }

private:
  /// Transposes perChunk rows within each chunk; units of `unit` elements are
  /// already in place.
  SmallVector<Value> unpackRows(ArrayRef<Value> rows, unsigned unit) {
    if (unit == perChunk)
      return {rows[0]};
    // Rows that differ in the lowest bit still to be resolved are neighbours.
    SmallVector<Value> low, high;
    for (unsigned r = 0; r < rows.size(); r += 2) {
      low.push_back(unpack(rows[r], rows[r + 1], unit, /*high=*/false));
      high.push_back(unpack(rows[r], rows[r + 1], unit, /*high=*/true));
    }
    SmallVector<Value> columns = unpackRows(low, unit * 2);
    columns.append(unpackRows(high, unit * 2));
    return columns;
  }

  /// a0 b0 a1 b1 of each chunk, or a2 b2 a3 b3, in units.
  Value unpack(Value x, Value y, unsigned unit, bool high) {
    SmallVector<int64_t> indices;
    for (unsigned chunk = 0; chunk < lanes; chunk += perChunk)
      for (unsigned i = 0; i < perChunk / 2; i += unit)
        for (unsigned source : {0u, lanes})
          for (unsigned e = 0; e < unit; ++e)
            indices.push_back(source + chunk + (high ? perChunk / 2 : 0) + i +
                              e);
    return vector::ShuffleOp::create(b, loc, x, y, indices);
  }

  /// Result l holds chunk l of every operand, in order.
  SmallVector<Value> gatherChunks(ArrayRef<Value> operands) {
    if (operands.size() == 1)
      return {operands[0]};
    SmallVector<Value> even, odd;
    for (unsigned i = 0; i < operands.size(); i += 2) {
      even.push_back(everySecondChunk(operands[i], operands[i + 1], 0));
      odd.push_back(everySecondChunk(operands[i], operands[i + 1], 1));
    }
    SmallVector<Value> fromEven = gatherChunks(even);
    SmallVector<Value> fromOdd = gatherChunks(odd);
    SmallVector<Value> result;
    for (auto [e, o] : llvm::zip_equal(fromEven, fromOdd)) {
      result.push_back(e);
      result.push_back(o);
    }
    return result;
  }

  Value everySecondChunk(Value x, Value y, unsigned first) {
    SmallVector<int64_t> indices;
    for (unsigned chunk = first; chunk < 2 * lanes / perChunk; chunk += 2)
      for (unsigned e = 0; e < perChunk; ++e)
        indices.push_back(chunk * perChunk + e);
    return vector::ShuffleOp::create(b, loc, x, y, indices);
  }

  OpBuilder &b;
  Location loc;
  unsigned lanes, perChunk;
};

} // namespace

/// Names the shape of a fill: "tile_fill_bf16_f32_64".
static std::string fillName(StringRef kind, const SourceFormat &source,
                            Type element, unsigned columns) {
  std::string name;
  llvm::raw_string_ostream(name)
      << kind << "_" << source.name() << "_" << element << "_" << columns;
  return name;
}

/// The piece that is read, then (panel: ptr, height: i64, width: i64).
static SmallVector<Type> fillArguments(OpBuilder &b,
                                       const SourceFormat &source) {
  SmallVector<Type> types = source.argumentTypes(b.getContext());
  types.append({LLVM::LLVMPointerType::get(b.getContext()), b.getI64Type(),
                b.getI64Type()});
  return types;
}

func::FuncOp KernelLibrary::fill(const SourceFormat &format, Type element,
                                 unsigned lanes, unsigned columns) {
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
      p.loop(p.word(0), squares, lanes, [&](Value k) {
        SmallVector<Value> square;
        for (const PanelSource::Row &row : rows)
          square.push_back(source.vector(row, k, lanes));
        TransposeNetwork network(b, loc, lanes,
                                 element.getIntOrFloatBitWidth());
        for (auto [i, column] : llvm::enumerate(network.transpose(square)))
          p.store(arith::SelectOp::create(b, loc, mask, column, zero),
                  panelAt(p.add(k, p.word(i)), j));
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
