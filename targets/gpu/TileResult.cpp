//===- TileResult.cpp - Where a tile's sums go ----------------------------===//
//
// Epilogues, and stores: eight neighbours of a lane at once where a matrix unit
// has left pairs of them, and otherwise sum by sum.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/TileProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace hone;
using namespace hone::simt;

/// Sums whose epilogues are done before the first of them is stored.
static constexpr unsigned kCompletedTogether = 8;

/// Lanes that share the rows of a matrix unit's sums.
static constexpr int64_t kQuad = 4;

/// Pieces whose epilogues are done before the first of them is stored.
static constexpr size_t kPiecesTogether = 4;

std::pair<Value, SmallVector<Value>> TileProduct::target(Value row,
                                                         Value column) {
  if (!op.getInto())
    return {op.getC(),
            {b.add(op.getCRow(), row), b.add(op.getCColumn(), column)}};
  ValueRange place = op.getIntoAt();
  return {op.getInto(), {b.add(place[0], row), b.add(place[1], column)}};
}

bool TileProduct::hasRowPieces() const {
  int64_t across = std::min(shape.columnsEach() / 2, kQuad);
  return shape.byMatrices && shape.columnsEach() / 2 % across == 0 &&
         shape.rowsEach() % (kQuad / across) == 0;
}

int64_t TileProduct::pieceColumns() {
  Value memory = op.getInto() ? op.getInto() : op.getC();
  bool isWide = cast<MemRefType>(memory.getType()).getElementType().isF32();
  return isWide && op.getEpilogue().empty() ? kMatrixColumns / 2
                                            : kMatrixColumns;
}

SmallVector<TileProduct::RowPiece> TileProduct::rowPieces(ValueRange sums,
                                                          int64_t columns) {
  Value place = b.rem(b.team.state.lane, b.index(kQuad));
  Value isOdd = b.isEqual(b.rem(place, b.index(2)), b.index(1));
  Value isUpper = b.isEqual(b.div(place, b.index(2)), b.index(1));
  // Lane i has number i of each four, and after that all of the i-th four.
  auto exchange = [&](Value &low, Value &high, Value isHigh, int32_t distance) {
    Value got = b.exchange(b.select(isHigh, low, high), distance);
    low = b.select(isHigh, got, low);
    high = b.select(isHigh, high, got);
  };
  int64_t matrices = shape.columnsEach() / 2;
  int64_t across = std::min(matrices, kQuad), down = kQuad / across;
  Value begin = subgroupBegin().second;
  SmallVector<RowPiece> pieces;
  for (int64_t r = 0; r < shape.rowsEach(); r += down)
    for (int64_t m = 0; m < matrices; m += across) {
      SmallVector<SmallVector<Value>> pairs;
      for (int64_t odd : {0, 1}) {
        SmallVector<Value> &four = pairs.emplace_back();
        for (int64_t k = 0; k < kQuad; ++k)
          four.push_back(sums[(r + k / across) * shape.columnsEach() +
                              2 * (m + k % across) + odd]);
        exchange(four[0], four[1], isOdd, 1);
        exchange(four[2], four[3], isOdd, 1);
        if (columns < kMatrixColumns)
          continue;
        exchange(four[0], four[2], isUpper, 2);
        exchange(four[1], four[3], isUpper, 2);
      }
      // Numbers [from, to) of each four, from `column` of matrix `at` on.
      auto add = [&](Value at, Value column, int64_t from, int64_t to) {
        Value below = b.mul(b.div(at, b.index(across)), b.index(8));
        Value beside =
            b.mul(b.rem(at, b.index(across)), b.index(kMatrixColumns));
        RowPiece &piece = pieces.emplace_back();
        piece.row = b.add(rowsOf[r], below);
        piece.column = b.add(b.add(begin, b.index(m * kMatrixColumns)),
                             b.add(beside, column));
        for (int64_t k = from; k < to; ++k)
          llvm::append_range(piece.sums, ArrayRef({pairs[0][k], pairs[1][k]}));
      };
      if (columns == kMatrixColumns) {
        add(place, b.index(0), 0, kQuad);
        continue;
      }
      Value column = b.mul(b.div(place, b.index(2)), b.index(columns));
      for (int64_t half : {0, 2})
        add(b.add(b.rem(place, b.index(2)), b.index(half)), column, half,
            half + 2);
    }
  return pieces;
}

Value TileProduct::storesPieces(Value i, Value j, bool allColumns,
                                NeighbourBody *epilogue) {
  auto [memory, place] = target(i, j);
  if (cast<MemRefType>(memory.getType()).getMemorySpace())
    return Value();
  Value begins = beginsAccess(b, memory, place.back(), pieceColumns());
  if (!begins)
    return Value();
  if (epilogue && epilogue->isWide()) {
    Value reads = epilogue->beginsAccesses(b, j, kMatrixColumns);
    if (!reads)
      return Value();
    begins = b.createOrFold<arith::AndIOp>(begins, reads);
  }
  return b.createOrFold<arith::AndIOp>(begins, isWhole(i, j, allColumns));
}

void TileProduct::finishPieces(Value i, Value j, ValueRange sums,
                               NeighbourBody *epilogue) {
  SmallVector<RowPiece> pieces = rowPieces(sums, pieceColumns());
  for (size_t from = 0; from < pieces.size(); from += kPiecesTogether) {
    auto some = MutableArrayRef(pieces).slice(
        from, std::min(kPiecesTogether, pieces.size() - from));
    SmallVector<SmallVector<Value>> points;
    for (RowPiece &piece : some) {
      piece.row = b.add(i, piece.row);
      piece.column = b.add(j, piece.column);
      for (auto [n, sum] : llvm::enumerate(piece.sums))
        points.push_back({sum, piece.row, b.add(piece.column, b.index(n))});
    }
    SmallVector<SmallVector<Value>> completed;
    if (epilogue)
      completed = epilogue->inlined(b, points, kMatrixColumns);
    for (auto [n, piece] : llvm::enumerate(some)) {
      auto [memory, place] = target(piece.row, piece.column);
      Type type = cast<MemRefType>(memory.getType()).getElementType();
      SmallVector<Value> numbers;
      for (auto [k, sum] : llvm::enumerate(piece.sums))
        numbers.push_back(b.convert(
            type, epilogue ? completed[n * kMatrixColumns + k].front() : sum));
      storeNeighbours(b, numbers, memory, place);
    }
  }
}

Value TileProduct::complete(Value sum, Value row, Value column) {
  if (op.getEpilogue().empty())
    return sum;
  return b.inlined(op.getEpilogue().front(), {sum, row, column}).front();
}

void TileProduct::store(Value sum, Value row, Value column) {
  auto [memory, place] = target(row, column);
  auto type = cast<MemRefType>(memory.getType());
  b.store(b.convert(type.getElementType(), sum), memory, place);
}

Value TileProduct::isWhole(Value i, Value j, bool allColumns) {
  auto reaches = [&](Value at, int64_t places, Value size) {
    return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ule,
                                         b.add(at, b.index(places)), size);
  };
  Value hasRows = reaches(i, shape.rows, op.getM());
  if (allColumns)
    return hasRows;
  return b.createOrFold<arith::AndIOp>(hasRows,
                                       reaches(j, shape.columns, op.getN()));
}

void TileProduct::finishWholeTile(Value i, Value j, ValueRange sums) {
  SmallVector<std::array<Value, 3>> completed;
  forEachSum([&](unsigned number, Value r, Value c) {
    Value row = b.add(i, r), column = b.add(j, c);
    completed.push_back({complete(sums[number], row, column), row, column});
    if (completed.size() % kCompletedTogether)
      return;
    for (auto &[sum, row, column] : completed)
      store(sum, row, column);
    completed.clear();
  });
}

void TileProduct::finishSums(Value i, Value j, ValueRange sums, bool allColumns,
                             bool storesWholePieces) {
  if (allColumns) { // and no epilogue
    unsigned number = 0;
    for (Value place : rowsOf) {
      Value row = b.add(i, place);
      b.when(b.isLess(row, op.getM()), [&] {
        for (Value column : columnsOf)
          store(sums[number++], row, b.add(j, column));
      });
    }
    return;
  }
  auto storeInside = [&](unsigned number, Value r, Value c) {
    Value row = b.add(i, r), column = b.add(j, c);
    // Both differences are negative. Eight conditions of four rows and four
    // columns would be more than there are registers for them.
    Value both = arith::AndIOp::create(b, b.sub(row, op.getM()),
                                       b.sub(column, op.getN()));
    Value isInside =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, both, b.index(0));
    b.when(isInside,
           [&] { store(complete(sums[number], row, column), row, column); });
  };
  if (op.getEpilogue().empty() || storesWholePieces ||
      sums.size() < kCompletedTogether)
    return forEachSum(storeInside);
  // Else the loads of epilogues would be waited for sum by sum, each in a
  // branch.
  b.when(
      isWhole(i, j), [&] { finishWholeTile(i, j, sums); },
      [&] { forEachSum(storeInside); });
}

void TileProduct::finish(Value i, Value j, ValueRange sums) {
  // Columns beyond the last have room, and nobody reads them.
  bool fits = op.getPadded() && !op.getInto() && op.getEpilogue().empty() &&
              static_cast<int64_t>(op.getColumns()) % shape.columns == 0;
  b.alone({}, [&] {
    std::optional<NeighbourBody> epilogue;
    if (!op.getEpilogue().empty()) {
      Block &body = op.getEpilogue().front();
      epilogue.emplace(body, body.getArguments().back());
    }
    NeighbourBody *beside = epilogue ? &*epilogue : nullptr;
    Value inPieces =
        hasRowPieces() ? storesPieces(i, j, fits, beside) : Value();
    auto oneByOne = [&] { finishSums(i, j, sums, fits, bool(inPieces)); };
    if (inPieces)
      b.when(inPieces, [&] { finishPieces(i, j, sums, beside); }, oneByOne);
    else
      oneByOne();
    return SmallVector<Value>();
  });
}
