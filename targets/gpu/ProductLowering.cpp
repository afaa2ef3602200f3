//===- ProductLowering.cpp - tile.product on a workgroup ------------------===//
//
// Threads stand in a square of 16 by 16, each with up to 4 by 4 sums in
// registers. Sixteen terms at a time go through shared memory, where they are
// numbers already, whatever they were stored as.
//
// Every sum is the chain of fused multiply-adds that the op's manual says.
// Terms that fill up a tile are -0 times +0, which changes no sum, not even -0;
// rows and columns that do so repeat the last one and are not stored.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/ProductLowering.h"

#include "dialects/Tile/StoredMatrix.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace hone;
using namespace hone::simt;

/// Threads along a side of the square.
static constexpr int64_t kSide = 16;
/// Terms in shared memory at a time.
static constexpr int64_t kTerms = 16;
/// Rows and columns of a tile, at most.
static constexpr int64_t kMostRows = 64, kMostColumns = 64;
/// Numbers at the end of a shared row, so that columns fall into other banks.
static constexpr int64_t kPadding = 4;

static_assert(kSide * kSide == kThreads);

/// What `value` is at most, if that can be seen.
static std::optional<int64_t> upperBound(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return constant;
  auto least = value.getDefiningOp<arith::MinUIOp>();
  if (!least)
    return std::nullopt;
  std::optional<int64_t> a = upperBound(least.getLhs()),
                         b = upperBound(least.getRhs());
  return a && b ? std::min(*a, *b) : a ? a : b;
}

/// The side of a tile for up to `size` elements.
static int64_t tileSide(std::optional<int64_t> size, int64_t most) {
  int64_t side = kSide;
  while (side < most && side < size.value_or(most))
    side *= 2;
  return side;
}

namespace {

class ProductLowering {
public:
  ProductLowering(tile::ProductOp op, const Team &team)
      : op(op), b(op, team), element(op.getC().getType().getElementType()),
        rows(tileSide(upperBound(op.getM()), kMostRows)),
        columns(tileSide(op.getColumns(), kMostColumns)) {
    auto typeOf = [&](int64_t size) {
      return MemRefType::get({kTerms, size + kPadding}, element);
    };
    left = team.state.scratch(typeOf(rows), /*number=*/0);
    right = team.state.scratch(typeOf(columns), /*number=*/1);
    firstRow =
        b.mul(b.div(team.state.thread, b.index(kSide)), b.index(rowsEach()));
    firstColumn =
        b.mul(b.rem(team.state.thread, b.index(kSide)), b.index(columnsEach()));
  }

  void lower();

private:
  int64_t rowsEach() const { return rows / kSide; }
  int64_t columnsEach() const { return columns / kSide; }

  /// One tile of the result, from row and column `i`, `j` of the op on.
  void tile(Value i, Value j);
  /// A shared tile of the terms in [t, end): what read(term, place) gives, with
  /// `place` along its side, and `padding` beyond the end. `alongTerms`: terms
  /// are neighbours in memory.
  void fill(Value shared, int64_t side, bool alongTerms, double padding,
            Value t, Value end, function_ref<Value(Value, Value)> read);
  void fillLeft(Value i, Value t, Value end);
  void fillRight(Value j, Value t, Value end);
  /// sums + the terms of the shared tiles.
  SmallVector<Value> multiply(ValueRange sums);
  /// The sums of the block of terms from `start` on.
  SmallVector<Value> block(Value i, Value j, Value start);
  /// What `c` had.
  SmallVector<Value> before(Value i, Value j);
  void finish(Value i, Value j, ValueRange sums);

  /// `count` values, or those of the thread's sums.
  SmallVector<Value> zeros() {
    return SmallVector<Value>(rowsEach() * columnsEach(), b.real(element, 0.0));
  }
  Value rounded(Value value) {
    if (!op.getRounded())
      return value;
    return b.convert(element, b.convert(b.getBF16Type(), value));
  }
  /// The last of [0, count) that is not beyond `i`.
  Value within(Value i, Value count) {
    return b.min(i, b.sub(count, b.index(1)));
  }
  void forEachSum(function_ref<void(unsigned, Value, Value)> body);

  tile::ProductOp op;
  TeamBuilder b;
  Type element;
  int64_t rows, columns;
  Value left, right;
  Value firstRow, firstColumn; ///< of this thread, in a tile
};

} // namespace

/// Calls body(number, row, column) for the thread's elements of a tile.
void ProductLowering::forEachSum(
    function_ref<void(unsigned, Value, Value)> body) {
  unsigned number = 0;
  for (int64_t r = 0; r < rowsEach(); ++r)
    for (int64_t c = 0; c < columnsEach(); ++c)
      body(number++, b.add(firstRow, b.index(r)),
           b.add(firstColumn, b.index(c)));
}

void ProductLowering::fill(Value shared, int64_t side, bool alongTerms,
                           double padding, Value t, Value end,
                           function_ref<Value(Value, Value)> read) {
  int64_t inner = alongTerms ? kTerms : side;
  b.deal(b.index(kTerms * side), [&](Value e) {
    // Neighbours read neighbours.
    Value outerAt = b.div(e, b.index(inner));
    Value innerAt = b.rem(e, b.index(inner));
    Value term = alongTerms ? innerAt : outerAt;
    Value place = alongTerms ? outerAt : innerAt;
    Value at = b.add(t, term);
    Value value = rounded(read(within(at, end), place));
    value = b.select(b.isLess(at, end), value, b.real(element, padding));
    b.store(value, shared, {term, place});
  });
}

void ProductLowering::fillLeft(Value i, Value t, Value end) {
  bool transpose = op.getTransposeA();
  fill(left, rows, !transpose, -0.0, t, end, [&](Value term, Value place) {
    Value row = within(b.add(i, place), op.getM());
    Value aRow = b.add(op.getARow(), transpose ? term : row);
    Value aColumn = b.add(op.getAColumn(), transpose ? row : term);
    return b.convert(element, b.load(op.getA(), {aRow, aColumn}));
  });
}

void ProductLowering::fillRight(Value j, Value t, Value end) {
  bool transpose = op.getTransposeW();
  fill(right, columns, transpose, 0.0, t, end, [&](Value term, Value place) {
    Value column = within(b.add(j, place), op.getN());
    Value wRow = b.add(op.getWRow(), transpose ? column : term);
    Value wColumn = b.add(op.getWColumn(), transpose ? term : column);
    Value value = loadStored(b, op, element, wRow, wColumn);
    if (op.getPrologue().empty())
      return value;
    return b.inlined(op.getPrologue().front(), {value, wRow, wColumn}).front();
  });
}

SmallVector<Value> ProductLowering::multiply(ValueRange sums) {
  return b.fold(
      b.index(0), b.index(kTerms), 1, sums, [&](Value t, ValueRange before) {
        SmallVector<Value> as, ws, next;
        for (int64_t r = 0; r < rowsEach(); ++r)
          as.push_back(b.load(left, {t, b.add(firstRow, b.index(r))}));
        for (int64_t c = 0; c < columnsEach(); ++c)
          ws.push_back(b.load(right, {t, b.add(firstColumn, b.index(c))}));
        for (auto [number, sum] : llvm::enumerate(before))
          next.push_back(math::FmaOp::create(b, as[number / columnsEach()],
                                             ws[number % columnsEach()], sum));
        return next;
      });
}

SmallVector<Value> ProductLowering::block(Value i, Value j, Value start) {
  Value end = b.min(op.getK(), b.add(start, b.index(op.getTerms())));
  return b.fold(start, end, kTerms, zeros(), [&](Value t, ValueRange sums) {
    fillLeft(i, t, end);
    fillRight(j, t, end);
    return multiply(sums);
  });
}

SmallVector<Value> ProductLowering::before(Value i, Value j) {
  if (!op.getAccumulate())
    return zeros();
  SmallVector<Type> types(rowsEach() * columnsEach(), element);
  return b.alone(types, [&] {
    SmallVector<Value> values;
    forEachSum([&](unsigned, Value row, Value column) {
      Value cRow = b.add(op.getCRow(), within(b.add(i, row), op.getM()));
      Value cColumn =
          b.add(op.getCColumn(), within(b.add(j, column), op.getN()));
      values.push_back(b.load(op.getC(), {cRow, cColumn}));
    });
    return values;
  });
}

void ProductLowering::finish(Value i, Value j, ValueRange sums) {
  b.alone({}, [&] {
    forEachSum([&](unsigned number, Value r, Value c) {
      Value row = b.add(i, r), column = b.add(j, c);
      // Both differences are negative. Eight conditions of four rows and four
      // columns would be more than there are registers for them.
      Value both = arith::AndIOp::create(b, b.sub(row, op.getM()),
                                         b.sub(column, op.getN()));
      Value isInside =
          arith::CmpIOp::create(b, arith::CmpIPredicate::slt, both, b.index(0));
      b.when(isInside, [&] {
        Value sum = sums[number];
        if (!op.getEpilogue().empty())
          sum = b.inlined(op.getEpilogue().front(), {sum, row, column}).front();
        Value into = op.getInto();
        if (!into)
          return b.store(
              sum, op.getC(),
              {b.add(op.getCRow(), row), b.add(op.getCColumn(), column)});
        Type type = op.getInto().getType().getElementType();
        ValueRange place = op.getIntoAt();
        b.store(b.convert(type, sum), into,
                {b.add(place[0], row), b.add(place[1], column)});
      });
    });
    return SmallVector<Value>();
  });
}

void ProductLowering::tile(Value i, Value j) {
  SmallVector<Value> had = before(i, j);
  auto addTo = [&](ValueRange old, ValueRange sums) {
    SmallVector<Value> added;
    for (auto [x, y] : llvm::zip_equal(old, sums))
      added.push_back(b.add(x, y));
    return added;
  };
  // A first block without terms is zero, so all products have one.
  std::optional<int64_t> depth = upperBound(op.getK());
  if (depth && *depth <= static_cast<int64_t>(op.getTerms())) {
    SmallVector<Value> sums = block(i, j, b.index(0));
    return finish(i, j, op.getAccumulate() ? addTo(had, sums) : sums);
  }
  Value zero = b.index(0);
  Value depthOrOne = b.createOrFold<arith::MaxUIOp>(op.getK(), b.index(1));
  SmallVector<Value> sums = b.fold(
      zero, depthOrOne, op.getTerms(), had, [&](Value start, ValueRange old) {
        SmallVector<Value> sums = block(i, j, start);
        SmallVector<Value> added = addTo(old, sums);
        if (op.getAccumulate())
          return added;
        // What has not begun is not zero: 0 + -0 is not -0.
        Value isFirst = b.isEqual(start, zero);
        for (auto [all, sum] : llvm::zip_equal(added, sums))
          all = b.select(isFirst, sum, all);
        return added;
      });
  finish(i, j, sums);
}

/// body(0), if one tile's side is all of `size`, or for each tile.
static void forEachTile(TeamBuilder &b, Value size, int64_t side,
                        function_ref<void(Value)> body) {
  Value none = b.index(0);
  std::optional<int64_t> most = upperBound(size);
  if (!most || *most > side)
    return b.loop(none, size, side, body);
  // A loop would be one more for the device's compiler to keep track of.
  b.when(b.isLess(none, size), [&] { body(none); });
}

void ProductLowering::lower() {
  forEachTile(b, op.getM(), rows, [&](Value i) {
    forEachTile(b, op.getN(), columns, [&](Value j) { tile(i, j); });
  });
}

void hone::simt::lowerProduct(tile::ProductOp op, const Team &team) {
  ProductLowering(op, team).lower();
}
