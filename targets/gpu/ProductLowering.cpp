//===- ProductLowering.cpp - tile.product on a workgroup ------------------===//
//
// A thread has sums of a tile of the result in registers: in a square of 16 by
// 16 threads, or as a matrix unit deals them out to lanes. Terms come through
// shared memory (StagedSide.h), a stage at a time.
//
// Without a matrix unit every sum is the chain of fused multiply-adds that the
// op's manual says. Terms that fill up a stage are -0 times +0, which changes
// no sum, not even -0; rows and columns that fill up a tile repeat others and
// are not stored.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/ProductLowering.h"

#include "targets/gpu/StagedSide.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace hone;
using namespace hone::simt;

/// Threads along a side of the square.
static constexpr int64_t kSide = 16;
/// Neighbours of a thread in the square.
static constexpr int64_t kNeighbours = 4;
/// Terms in one turn of the innermost loop: with fewer, the loop itself is more
/// than a tenth of it.
static constexpr int64_t kUnrolled = 8;
/// Rows or columns of a tile, at most, without matrix units.
static constexpr int64_t kMostPlaces = 64;

// Matrices of a matrix unit: 16 x 8 sums of 16 terms.
static constexpr int64_t kMatrixRows = 16, kMatrixColumns = 8,
                         kMatrixTerms = 16;
/// Subgroups along the rows and columns of a tile.
static constexpr int64_t kSubgroupRows = 2, kSubgroupColumns = 4;
static constexpr int64_t kMostMatrixPlaces = 128;

static_assert(kSide * kSide == kThreads);
static_assert(kSubgroupRows * kSubgroupColumns == kSubgroups);

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

namespace {

/// Which tile products on one `c` compute at once, and who has what of it.
struct TileShape {
  int64_t rows, columns;
  bool byMatrices; ///< sums are where matrix units have them

  static TileShape of(tile::ProductOp op, bool byMatrices) {
    return of(upperBound(op.getM()).value_or(kMostMatrixPlaces),
              int64_t(op.getColumns()), byMatrices);
  }
  static TileShape of(int64_t rows, int64_t columns, bool byMatrices) {
    auto side = [&](int64_t places, int64_t least) {
      int64_t most = byMatrices ? kMostMatrixPlaces : kMostPlaces;
      while (least < most && least < places)
        least *= 2;
      return least;
    };
    if (!byMatrices)
      return {side(rows, kSide), side(columns, kSide), false};
    // Lanes load two matrices of terms side by side.
    return {side(rows, kSubgroupRows * kMatrixRows),
            side(columns, kSubgroupColumns * 2 * kMatrixColumns), true};
  }

  int64_t rowsEach() const {
    return rows / (byMatrices ? kSubgroupRows * 8 : kSide);
  }
  int64_t columnsEach() const {
    return columns / (byMatrices ? kSubgroupColumns * 4 : kSide);
  }
  /// See StagedSide.
  static int64_t group(int64_t each, bool byMatrices) {
    return !byMatrices && each >= kNeighbours ? kNeighbours : 2;
  }
};

class ProductLowering {
public:
  /// Code goes before `op`, or to `place`.
  ProductLowering(tile::ProductOp op, const TileShape &shape, const Team &team,
                  OpBuilder::InsertPoint place = {});

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
  int64_t sums() const { return shape.rowsEach() * shape.columnsEach(); }
  int64_t terms() const { return StagedSide::termsOf(stagedType); }
  bool multipliesMatrices() const { return stagedType != element; }
  /// Whether there is something to do while copies are in flight.
  bool isLong() {
    std::optional<int64_t> depth = upperBound(op.getK());
    return !depth || *depth >= 2 * kStagesInFlight * terms();
  }
  SmallVector<Value> zeros() {
    return SmallVector<Value>(sums(), b.real(element, 0.0));
  }
  /// The last of [0, count) that is not beyond `i`.
  Value within(Value i, Value count) {
    return b.min(i, b.sub(count, b.index(1)));
  }
  void forEachSum(function_ref<void(unsigned, Value, Value)> body);

  /// What a sum that had `old` is with the next block of terms.
  SmallVector<Value> joined(ValueRange old, ValueRange sums, Value isFirst);
  /// Carries `values` through the stages of the terms in [from, to), which are
  /// there when body(slot, t, values) multiplies them.
  SmallVector<Value>
  forEachStage(Value from, Value to, ValueRange values,
               function_ref<SmallVector<Value>(Value, Value, ValueRange)> body);
  /// sums + the terms of a stage.
  SmallVector<Value> multiply(Value slot, ValueRange sums);
  SmallVector<Value> multiplyMatrices(Value slot, ValueRange sums);
  /// Row and column where a tile's part of this subgroup begins.
  std::pair<Value, Value> subgroupBegin();

  tile::ProductOp op;
  const TileShape shape;

public:
  TeamBuilder b;

private:
  const Type element, stagedType;
  StagedSide left, right;
  const bool hasCopies;
  const int64_t stages;
  SmallVector<Value> rowsOf, columnsOf; ///< of this thread, in a tile
};

} // namespace

static bool usesMatrixUnits(tile::ProductOp op, const Team &team) {
  return team.state.device.matrixUnits && op.getRounded();
}

int64_t simt::productBytes(int64_t rows, int64_t columns,
                           const DeviceFeatures &device) {
  int64_t most = 0;
  for (bool byMatrices : {false, device.matrixUnits}) {
    TileShape shape = TileShape::of(rows, columns, byMatrices);
    most = std::max(most, stageBytes(shape.rows) + stageBytes(shape.columns));
  }
  return most * (device.copiesInFlight ? kStagesInFlight : 1);
}

ProductLowering::ProductLowering(tile::ProductOp op, const TileShape &shape,
                                 const Team &team, OpBuilder::InsertPoint place)
    : op(op), shape(shape), b(op, team, place),
      element(op.getC().getType().getElementType()),
      stagedType(usesMatrixUnits(op, team) ? Type(b.getBF16Type()) : element),
      left(op, StagedSide::Left, shape.rows, stagedType,
           TileShape::group(shape.rowsEach(), shape.byMatrices), b),
      right(op, StagedSide::Right, shape.columns, stagedType,
            TileShape::group(shape.columnsEach(), shape.byMatrices), b),
      hasCopies(left.isInFlight() || right.isInFlight()),
      stages(hasCopies && isLong() ? kStagesInFlight : 1) {
  const KernelState &state = team.state;
  if (shape.byMatrices) {
    auto [down, across] = subgroupBegin();
    Value row = b.add(down, b.div(state.lane, b.index(4)));
    Value column =
        b.add(across, b.mul(b.rem(state.lane, b.index(4)), b.index(2)));
    for (int64_t r = 0; r < shape.rowsEach(); ++r)
      rowsOf.push_back(b.add(row, b.index(8 * r)));
    for (int64_t c = 0; c < shape.columnsEach(); ++c)
      columnsOf.push_back(b.add(column, b.index(8 * (c / 2) + c % 2)));
    return;
  }
  auto spread = [&](Value thread, int64_t each,
                    SmallVectorImpl<Value> &places) {
    int64_t neighbours = std::min(each, kNeighbours);
    Value first = b.mul(thread, b.index(neighbours));
    for (int64_t i = 0; i < each; ++i)
      places.push_back(
          b.add(first,
                b.index(i % neighbours + i / neighbours * neighbours * kSide)));
  };
  spread(b.div(state.thread, b.index(kSide)), shape.rowsEach(), rowsOf);
  spread(b.rem(state.thread, b.index(kSide)), shape.columnsEach(), columnsOf);
}

std::pair<Value, Value> ProductLowering::subgroupBegin() {
  Value subgroup = b.team.state.subgroup;
  return {b.mul(b.div(subgroup, b.index(kSubgroupColumns)),
                b.index(shape.rows / kSubgroupRows)),
          b.mul(b.rem(subgroup, b.index(kSubgroupColumns)),
                b.index(shape.columns / kSubgroupColumns))};
}

/// Calls body(number, row, column) for the thread's elements of a tile.
void ProductLowering::forEachSum(
    function_ref<void(unsigned, Value, Value)> body) {
  unsigned number = 0;
  for (Value row : rowsOf)
    for (Value column : columnsOf)
      body(number++, row, column);
}

SmallVector<Value> ProductLowering::multiply(Value slot, ValueRange sums) {
  // Unrolled, small tiles would have all terms in registers at once, and spill.
  // Short products stand among others, whose places are in registers, too.
  bool isLarge = rowsOf.size() * columnsOf.size() > 16;
  int64_t unrolled = isLarge ? 2 : isLong() ? kUnrolled : kUnrolled / 2;
  return b.foldRolled(
      b.index(0), b.index(terms()), unrolled, sums,
      [&](Value first, ValueRange before) {
        SmallVector<Value> next(before);
        for (int64_t i = 0; i < unrolled; ++i) {
          Value t = b.add(first, b.index(i));
          auto load = [&](StagedSide &side, ArrayRef<Value> places) {
            SmallVector<Value> values;
            for (Value place : places)
              values.push_back(
                  b.load(side.stages, side.indices(slot, t, place)));
            return values;
          };
          SmallVector<Value> as = load(left, rowsOf),
                             ws = load(right, columnsOf);
          for (auto [number, sum] : llvm::enumerate(next))
            sum = math::FmaOp::create(b, as[number / ws.size()],
                                      ws[number % ws.size()], sum);
        }
        return next;
      });
}

/// c + a b of one matrix unit: 16 rows and 8 columns, 16 terms.
static SmallVector<Value> multiplyOnce(TeamBuilder &b, ArrayRef<Value> as,
                                       ArrayRef<Value> ws,
                                       ArrayRef<Value> before) {
  Type real = before.front().getType();
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                               SmallVector<Type>(4, real));
  std::array<int64_t, 3> size = {kMatrixRows, kMatrixColumns, kMatrixTerms};
  Value sums = NVVM::MmaOp::create(
      b, type, as, ws, before, size, /*b1Op=*/std::nullopt,
      /*intOverflow=*/std::nullopt,
      std::array{NVVM::MMATypes::bf16, NVVM::MMATypes::bf16},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  SmallVector<Value> after;
  for (int64_t i = 0; i < 4; ++i)
    after.push_back(LLVM::ExtractValueOp::create(b, sums, i));
  return after;
}

SmallVector<Value> ProductLowering::multiplyMatrices(Value slot,
                                                     ValueRange before) {
  Value lane = b.team.state.lane;
  auto [down, across] = subgroupBegin();
  Value eight = b.index(8), sixteen = b.index(16);
  Value of16 = b.rem(lane, sixteen), half = b.mul(b.div(lane, sixteen), eight);
  Value of8 = b.rem(lane, eight);
  Value quarter = b.mul(b.rem(b.div(lane, eight), b.index(2)), eight);
  auto load = [&](StagedSide &side, Value term, Value place) {
    SmallVector<Type> types(4, b.getI32Type());
    auto four = LoadMatricesOp::create(b, types, side.stages,
                                       side.indices(slot, term, place),
                                       /*transpose=*/!side.isAlongTerms);
    return llvm::to_vector_of<Value>(four.getResults());
  };

  SmallVector<Value> next(before);
  int64_t matrices = shape.rows / kSubgroupRows / kMatrixRows;
  int64_t pairs = shape.columns / kSubgroupColumns / (2 * kMatrixColumns);
  for (int64_t t = 0; t < terms(); t += kMatrixTerms) {
    SmallVector<SmallVector<Value>> as, ws;
    for (int64_t i = 0; i < matrices; ++i)
      as.push_back(load(left, b.add(half, b.index(t)),
                        b.add(b.add(down, of16), b.index(i * kMatrixRows))));
    for (int64_t j = 0; j < pairs; ++j) {
      Value column = b.add(across, b.index(2 * j * kMatrixColumns));
      // Matrices in the order of terms, then of columns.
      ws.push_back(right.isAlongTerms ? load(right, b.add(quarter, b.index(t)),
                                             b.add(b.add(column, half), of8))
                                      : load(right, b.add(of16, b.index(t)),
                                             b.add(column, half)));
    }
    for (int64_t i = 0; i < matrices; ++i)
      for (int64_t j = 0; j < 2 * pairs; ++j) {
        auto number = [&](int64_t n) {
          return (2 * i + n / 2) * shape.columnsEach() + 2 * j + n % 2;
        };
        SmallVector<Value> old;
        for (int64_t n = 0; n < 4; ++n)
          old.push_back(next[number(n)]);
        ArrayRef<Value> pair = ArrayRef(ws[j / 2]).slice(2 * (j % 2), 2);
        for (auto [n, sum] : llvm::enumerate(multiplyOnce(b, as[i], pair, old)))
          next[number(n)] = sum;
      }
  }
  return next;
}

SmallVector<Value> ProductLowering::forEachStage(
    Value from, Value to, ValueRange values,
    function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
  int64_t ahead = stages - 1;
  // Padding is a product of 0 and 0, or of what changes no sum.
  double leftPadding = multipliesMatrices() ? 0.0 : -0.0;
  Value step = b.index(terms());
  auto slotOf = [&](Value t) { return b.rem(b.div(t, step), b.index(stages)); };
  Value length = b.sub(to, from);
  Value delay = b.index(ahead * terms());
  return b.fold(
      b.index(0), b.add(length, delay), terms(), values,
      [&](Value at, ValueRange carried) -> SmallVector<Value> {
        if (ahead)
          NVVM::CpAsyncWaitGroupOp::create(b, ahead - 1);
        mlir::gpu::BarrierOp::create(b);
        // The stage that was here before is multiplied.
        b.when(b.isLess(at, length), [&] {
          Value t = b.add(from, at), slot = slotOf(at);
          left.bring(slot, t, to, leftPadding);
          right.bring(slot, t, to, 0.0);
        });
        if (!ahead) {
          if (hasCopies) {
            NVVM::CpAsyncCommitGroupOp::create(b);
            NVVM::CpAsyncWaitGroupOp::create(b, 0);
          }
          mlir::gpu::BarrierOp::create(b);
          return body(b.index(0), b.add(from, at), carried);
        }
        // Each turn is a group of copies, with none in it at the end.
        NVVM::CpAsyncCommitGroupOp::create(b);
        Value isThere =
            arith::CmpIOp::create(b, arith::CmpIPredicate::uge, at, delay);
        auto branch = scf::IfOp::create(
            b, isThere,
            [&](OpBuilder &, Location) {
              Value past = b.sub(at, delay);
              scf::YieldOp::create(
                  b, body(slotOf(past), b.add(from, past), carried));
            },
            [&](OpBuilder &, Location) { scf::YieldOp::create(b, carried); });
        return llvm::to_vector_of<Value>(branch.getResults());
      });
}

SmallVector<Value> ProductLowering::before(Value i, Value j) {
  if (!op.getAccumulate())
    return zeros();
  SmallVector<Type> types(sums(), element);
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
              static_cast<int64_t>(op.getColumns()) % shape.columns == 0;
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
      unsigned number = 0;
      for (Value place : rowsOf) {
        Value row = b.add(i, place);
        b.when(b.isLess(row, op.getM()), [&] {
          for (Value column : columnsOf)
            store(number++, row, b.add(j, column));
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

SmallVector<Value> ProductLowering::joined(ValueRange old, ValueRange sums,
                                           Value isFirst) {
  SmallVector<Value> all;
  for (auto [x, y] : llvm::zip_equal(old, sums)) {
    all.push_back(b.add(x, y));
    // A sum that has not begun is not zero: 0 + -0 is not -0.
    if (!op.getAccumulate())
      all.back() = b.select(isFirst, y, all.back());
  }
  return all;
}

SmallVector<Value> ProductLowering::addTo(Value i, Value j, ValueRange had) {
  int64_t leftBytes = left.bytes(stages);
  Value memory = b.team.state.stages(leftBytes + right.bytes(stages));
  Value zero = b.index(0), k = op.getK();
  auto blockTerms = static_cast<int64_t>(op.getTerms());
  SmallVector<Type> types(sums(), element);
  return b.alone(types, [&]() -> SmallVector<Value> {
    left.begin(memory, 0, stages, i);
    right.begin(memory, leftBytes, stages, j);
    // How many terms are added at a time is a matrix unit's affair.
    if (multipliesMatrices())
      return forEachStage(zero, k, had,
                          [&](Value slot, Value, ValueRange carried) {
                            return multiplyMatrices(slot, carried);
                          });
    auto sum = [&](Value from, Value to) {
      return forEachStage(from, to, zeros(),
                          [&](Value slot, Value, ValueRange carried) {
                            return multiply(slot, carried);
                          });
    };
    std::optional<int64_t> depth = upperBound(k);
    if (depth && *depth <= blockTerms) {
      SmallVector<Value> sums = sum(zero, k);
      return op.getAccumulate() ? joined(had, sums, Value()) : sums;
    }
    // A first block without terms is zero, so all products have one.
    if (blockTerms % terms() || stages == 1) {
      Value end = b.createOrFold<arith::MaxUIOp>(k, b.index(1));
      return b.fold(
          zero, end, blockTerms, had, [&](Value start, ValueRange old) {
            Value next = b.min(k, b.add(start, b.index(blockTerms)));
            return joined(old, sum(start, next), b.isEqual(start, zero));
          });
    }
    // Copies stay in flight from block to block.
    SmallVector<Value> values(had);
    llvm::append_range(values, zeros());
    SmallVector<Value> ended = forEachStage(
        zero, k, values, [&](Value slot, Value t, ValueRange carried) {
          ValueRange old = carried.take_front(sums());
          SmallVector<Value> block = multiply(slot, carried.drop_front(sums()));
          Value next = b.add(t, b.index(terms()));
          Value isWhole = b.isEqual(b.rem(next, b.index(blockTerms)), zero);
          Value isLast =
              arith::CmpIOp::create(b, arith::CmpIPredicate::uge, next, k);
          Value isEnd = arith::OrIOp::create(b, isWhole, isLast);
          auto branch = scf::IfOp::create(
              b, isEnd,
              [&](OpBuilder &, Location) {
                Value isFirst = arith::CmpIOp::create(
                    b, arith::CmpIPredicate::ule, next, b.index(blockTerms));
                SmallVector<Value> after = joined(old, block, isFirst);
                llvm::append_range(after, zeros());
                scf::YieldOp::create(b, after);
              },
              [&](OpBuilder &, Location) {
                SmallVector<Value> after(old);
                llvm::append_range(after, block);
                scf::YieldOp::create(b, after);
              });
          return llvm::to_vector_of<Value>(branch.getResults());
        });
    ended.truncate(sums());
    return ended;
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
  ::forEachTile(b, op.getM(), shape.rows, [&](Value i) {
    ::forEachTile(b, op.getN(), shape.columns, [&](Value j) { body(i, j); });
  });
}

void hone::simt::lowerProduct(tile::ProductOp op, const Team &team) {
  TileShape shape = TileShape::of(op, usesMatrixUnits(op, team));
  ProductLowering product(op, shape, team);
  product.forEachTile([&](Value i, Value j) {
    product.finish(i, j, product.addTo(i, j, product.before(i, j)));
  });
}

bool hone::simt::isOneTile(tile::ProductOp op) {
  auto isWithin = [](std::optional<int64_t> size, int64_t most) {
    return size && *size <= most;
  };
  int64_t columns = op.getColumns();
  return isWithin(upperBound(op.getM()), kMostPlaces) &&
         isWithin(upperBound(op.getN()).value_or(columns), kMostPlaces);
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
        shape(TileShape::of(products.front(),
                            llvm::any_of(products,
                                         [&](tile::ProductOp op) {
                                           return usesMatrixUnits(op, team);
                                         }))),
        first(products.front(), shape, team,
              OpBuilder(chain).saveInsertionPoint()),
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
  const TileShape shape;
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
      sums = ProductLowering(product, shape, team).addTo(i, j, sums);
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
    ProductLowering(products.back(), shape, team, b.saveInsertionPoint())
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
