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
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace hone;
using namespace hone::simt;

/// Threads along a side of the square.
static constexpr int64_t kSide = 16;
/// Terms in shared memory at a time.
static constexpr int64_t kTerms = 16;
/// Of those, in one turn of the innermost loop: with fewer, the loop itself is
/// more than a tenth of it.
static constexpr int64_t kUnrolled = 8;
/// Rows and columns of a tile, at most.
static constexpr int64_t kMostRows = 64, kMostColumns = 64;
/// What threads have at the end of a shared row for nobody, so that columns
/// fall into other banks.
static constexpr int64_t kPadding = 1;

static_assert(kSide * kSide == kThreads);

int64_t simt::sharedElements(int64_t rows, int64_t columns) {
  return kTerms * (kSide + kPadding) * (rows + columns) / kSide;
}

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
  /// Code goes before `op`, or to `place`.
  ProductLowering(tile::ProductOp op, const Team &team,
                  OpBuilder::InsertPoint place = {})
      : op(op), b(op, team, place),
        element(op.getC().getType().getElementType()),
        rows(tileSide(upperBound(op.getM()), kMostRows)),
        columns(tileSide(op.getColumns(), kMostColumns)) {
    // By term, thread and what it has there: neighbours that are one load.
    auto typeOf = [&](int64_t each) {
      return MemRefType::get({kTerms, kSide + kPadding, each}, element);
    };
    left = team.state.scratch(typeOf(rowsEach()), /*number=*/0);
    right = team.state.scratch(typeOf(columnsEach()), /*number=*/1);
    threadRow = b.div(team.state.thread, b.index(kSide));
    threadColumn = b.rem(team.state.thread, b.index(kSide));
    firstRow = b.mul(threadRow, b.index(rowsEach()));
    firstColumn = b.mul(threadColumn, b.index(columnsEach()));
  }

  /// body(i, j) for each tile of the result, from row and column `i`, `j` of
  /// the op on.
  void forEachTile(function_ref<void(Value, Value)> body);
  /// What `c` had, or zeros if the product does not ask for it.
  SmallVector<Value> before(Value i, Value j);
  /// The sums of a tile with this product; `had` is what they were.
  SmallVector<Value> addTo(Value i, Value j, ValueRange had);
  /// Stores them.
  void finish(Value i, Value j, ValueRange sums);

private:
  int64_t rowsEach() const { return rows / kSide; }
  int64_t columnsEach() const { return columns / kSide; }

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

public:
  TeamBuilder b;

private:
  Type element;
  int64_t rows, columns;
  Value left, right;
  Value threadRow, threadColumn; ///< in the square
  Value firstRow, firstColumn;   ///< of this thread, in a tile
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
    Value each = b.index(side / kSide);
    b.store(value, shared, {term, b.div(place, each), b.rem(place, each)});
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
  // Unrolled, small tiles would have all terms in registers at once, and spill.
  return b.foldRolled(
      b.index(0), b.index(kTerms), kUnrolled, sums,
      [&](Value first, ValueRange before) {
        SmallVector<Value> next(before);
        for (int64_t i = 0; i < kUnrolled; ++i) {
          Value t = b.add(first, b.index(i));
          SmallVector<Value> as, ws;
          for (int64_t r = 0; r < rowsEach(); ++r)
            as.push_back(b.load(left, {t, threadRow, b.index(r)}));
          for (int64_t c = 0; c < columnsEach(); ++c)
            ws.push_back(b.load(right, {t, threadColumn, b.index(c)}));
          for (auto [number, sum] : llvm::enumerate(next))
            sum = math::FmaOp::create(b, as[number / columnsEach()],
                                      ws[number % columnsEach()], sum);
        }
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
  // Columns beyond the last have room, and nobody reads them.
  bool fits = op.getPadded() && !op.getInto() && op.getEpilogue().empty() &&
              static_cast<int64_t>(op.getColumns()) % columns == 0;
  auto store = [&](unsigned number, Value row, Value column) {
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
  };
  b.alone({}, [&] {
    if (fits) {
      for (int64_t r = 0; r < rowsEach(); ++r) {
        Value row = b.add(i, b.add(firstRow, b.index(r)));
        b.when(b.isLess(row, op.getM()), [&] {
          for (int64_t c = 0; c < columnsEach(); ++c)
            store(r * columnsEach() + c, row,
                  b.add(j, b.add(firstColumn, b.index(c))));
        });
      }
      return SmallVector<Value>();
    }
    forEachSum([&](unsigned number, Value r, Value c) {
      Value row = b.add(i, r), column = b.add(j, c);
      // Both differences are negative. Eight conditions of four rows and four
      // columns would be more than there are registers for them.
      Value both = arith::AndIOp::create(b, b.sub(row, op.getM()),
                                         b.sub(column, op.getN()));
      Value isInside =
          arith::CmpIOp::create(b, arith::CmpIPredicate::slt, both, b.index(0));
      b.when(isInside, [&] { store(number, row, column); });
    });
    return SmallVector<Value>();
  });
}

SmallVector<Value> ProductLowering::addTo(Value i, Value j, ValueRange had) {
  auto add = [&](ValueRange old, ValueRange sums) {
    SmallVector<Value> added;
    for (auto [x, y] : llvm::zip_equal(old, sums))
      added.push_back(b.add(x, y));
    return added;
  };
  // A first block without terms is zero, so all products have one.
  std::optional<int64_t> depth = upperBound(op.getK());
  if (depth && *depth <= static_cast<int64_t>(op.getTerms())) {
    SmallVector<Value> sums = block(i, j, b.index(0));
    return op.getAccumulate() ? add(had, sums) : sums;
  }
  Value zero = b.index(0);
  Value depthOrOne = b.createOrFold<arith::MaxUIOp>(op.getK(), b.index(1));
  return b.fold(zero, depthOrOne, op.getTerms(), had,
                [&](Value start, ValueRange old) {
                  SmallVector<Value> sums = block(i, j, start);
                  SmallVector<Value> added = add(old, sums);
                  if (op.getAccumulate())
                    return added;
                  // A sum that has not begun is not zero: 0 + -0 is not -0.
                  Value isFirst = b.isEqual(start, zero);
                  for (auto [all, sum] : llvm::zip_equal(added, sums))
                    all = b.select(isFirst, sum, all);
                  return added;
                });
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

void ProductLowering::forEachTile(function_ref<void(Value, Value)> body) {
  ::forEachTile(b, op.getM(), rows, [&](Value i) {
    ::forEachTile(b, op.getN(), columns, [&](Value j) { body(i, j); });
  });
}

void hone::simt::lowerProduct(tile::ProductOp op, const Team &team) {
  ProductLowering product(op, team);
  product.forEachTile([&](Value i, Value j) {
    product.finish(i, j, product.addTo(i, j, product.before(i, j)));
  });
}

bool hone::simt::isOneTile(tile::ProductOp op) {
  auto isWithin = [](std::optional<int64_t> size, int64_t most) {
    return size && *size <= most;
  };
  int64_t columns = op.getColumns();
  return isWithin(upperBound(op.getM()), kMostRows) &&
         isWithin(upperBound(op.getN()).value_or(columns), kMostColumns);
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

namespace {

class ChainLowering {
public:
  ChainLowering(ChainOp chain, const Team &team,
                function_ref<LogicalResult(Operation *)> distribute)
      : chain(chain), team(team), distribute(distribute),
        products(chain.getProducts()),
        first(products.front(), team, OpBuilder(chain).saveInsertionPoint()),
        b(first.b) {}

  LogicalResult lower();

private:
  /// Moves the ops of `block` to where the builder is. The sums of tile `i`,
  /// `j` after them.
  SmallVector<Value> build(Block &block, Value i, Value j, ValueRange sums);

  ChainOp chain;
  const Team &team;
  function_ref<LogicalResult(Operation *)> distribute;
  SmallVector<tile::ProductOp> products;
  ProductLowering first;
  TeamBuilder &b; ///< where code goes
  bool failedOnce = false;
};

} // namespace

SmallVector<Value> ChainLowering::build(Block &block, Value i, Value j,
                                        ValueRange given) {
  SmallVector<Value> sums(given);
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    auto holds = [&](tile::ProductOp product) { return chain.holds(product); };
    auto product = dyn_cast<tile::ProductOp>(op);
    auto loop = dyn_cast<scf::ForOp>(op);
    bool isLoopOfIt =
        loop && llvm::any_of(loop.getBody()->getOps<tile::ProductOp>(), holds);
    if (isLoopOfIt) {
      auto carrying = scf::ForOp::create(
          b, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), sums,
          [&](OpBuilder &, Location, Value at, ValueRange carried) {
            loop.getInductionVar().replaceAllUsesWith(at);
            scf::YieldOp::create(b, build(*loop.getBody(), i, j, carried));
          });
      sums = llvm::to_vector_of<Value>(carrying.getResults());
      loop.erase();
      continue;
    }
    op.moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
    if (product && holds(product)) {
      sums = ProductLowering(product, team).addTo(i, j, sums);
    } else {
      failedOnce |= failed(distribute(&op));
    }
  }
  return sums;
}

LogicalResult ChainLowering::lower() {
  first.forEachTile([&](Value i, Value j) {
    SmallVector<Value> sums =
        build(chain.getBody().front(), i, j, first.before(i, j));
    ProductLowering(products.back(), team, b.saveInsertionPoint())
        .finish(i, j, sums);
  });
  for (tile::ProductOp product : products)
    product.erase();
  chain.erase();
  return failure(failedOnce);
}

LogicalResult
hone::simt::lowerChain(ChainOp chain, const Team &team,
                       function_ref<LogicalResult(Operation *)> distribute) {
  return ChainLowering(chain, team, distribute).lower();
}
