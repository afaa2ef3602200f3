//===- TileProduct.cpp - A workgroup's tile of a tile.product -------------===//
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

#include "targets/gpu/TileProduct.h"

#include "targets/gpu/GpuDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace hone;
using namespace hone::simt;

/// Terms in one turn of the innermost loop: with fewer, the loop itself is more
/// than a tenth of it.
static constexpr int64_t kUnrolled = 8;

/// Terms of a product that is long with stages of more terms, at least.
static constexpr int64_t kWideDepth = 512;
/// Two stages of lines of the device's memory.
static constexpr int64_t kLineDepth = 128;

bool simt::usesMatrixUnits(tile::ProductOp op, const DeviceFeatures &device) {
  return device.matrixUnits && op.getRounded();
}

/// See TileProduct::widening.
static int64_t wideningOf(tile::ProductOp op, const TileShape &shape,
                          const Team &team) {
  int64_t depth = upperBound(op.getK()).value_or(kWideDepth);
  if (!usesMatrixUnits(op, team.state.device) || !op.getReadAhead() ||
      team.isSubgroup || depth < kLineDepth)
    return 1;
  // float32 numbers on the way take the room.
  if (std::max(shape.rows, shape.columns) > kMostScalarPlaces ||
      depth < kWideDepth)
    return areBFloat16(op) ? 2 : 1;
  constexpr int64_t kMostWidening = 4;
  int64_t bytes = kStagesInFlight * (shape.rows + shape.columns) *
                  kMostWidening * kStageBytes;
  bool hasRoom = shape.rows < kMostScalarPlaces && areBFloat16(op) &&
                 bytes <= team.state.device.sharedBytesOfEach(2);
  return hasRoom ? kMostWidening : 2;
}

/// Terms of a stage. A short product of matrix units has one matrix's.
static int64_t termsOf(tile::ProductOp op, int64_t widest, int64_t widening,
                       bool isByMatrices) {
  bool isShort = isByMatrices &&
                 upperBound(op.getK()).value_or(kWideDepth) <= kMatrixTerms;
  return isShort ? kMatrixTerms : widest * widening;
}

/// See StagedSide.
static std::optional<int64_t> groupOf(int64_t each, const TileShape &shape,
                                      bool isByMatrices) {
  if (isByMatrices)
    return std::nullopt;
  return TileShape::group(each, shape.byMatrices);
}

TileProduct::TileProduct(tile::ProductOp op, const TileShape &shape,
                         const Team &team, OpBuilder::InsertPoint place,
                         int64_t most)
    : op(op), shape(shape), b(op, team, place),
      element(op.getC().getType().getElementType()),
      isByMatrices(usesMatrixUnits(op, team.state.device)),
      leftType(stagedType(StagedSide::Left, shape.rows)),
      rightType(stagedType(StagedSide::Right, shape.columns)),
      widening(wideningOf(op, shape, team)),
      terms(termsOf(op,
                    std::min(StagedSide::termsOf(leftType),
                             StagedSide::termsOf(rightType)),
                    widening, isByMatrices)),
      left(op, StagedSide::Left, shape.rows, leftType,
           groupOf(shape.rowsEach(), shape, isByMatrices), terms, b),
      right(op, StagedSide::Right, shape.columns, rightType,
            groupOf(shape.columnsEach(), shape, isByMatrices), terms, b),
      hasCopies(left.isInFlight() || right.isInFlight()),
      stages(stagesOf(most)) {
  if (stages == kStagesInFlight && op.getReadAhead() && !team.isSubgroup &&
      right.isInFlight() && left.canConvertLate()) {
    left.convertLate(true);
    // So that two workgroups have room.
    left.convertLate(stagesBytes() <= team.state.device.sharedBytesOfEach(2));
  }
  Value row, column;
  if (shape.byMatrices) {
    Value lane = team.state.lane, four = b.index(4);
    auto [down, across] = subgroupBegin();
    row = b.add(down, b.div(lane, four));
    column = b.add(across, b.mul(b.rem(lane, four), b.index(2)));
    for (int64_t r = 0; r < shape.rowsEach(); ++r)
      rowOffsets.push_back(8 * r);
    for (int64_t c = 0; c < shape.columnsEach(); ++c)
      columnOffsets.push_back(8 * (c / 2) + c % 2);
  } else {
    auto spread = [&](Value thread, int64_t threads, int64_t each,
                      SmallVectorImpl<int64_t> &offsets) {
      int64_t neighbours = std::min(each, kNeighbours);
      for (int64_t i = 0; i < each; ++i)
        offsets.push_back(i % neighbours +
                          i / neighbours * neighbours * threads);
      return b.mul(thread, b.index(neighbours));
    };
    Value member = team.member(), across = b.index(shape.across);
    row =
        spread(b.div(member, across), shape.down, shape.rowsEach(), rowOffsets);
    column = spread(b.rem(member, across), shape.across, shape.columnsEach(),
                    columnOffsets);
  }
  for (int64_t offset : rowOffsets)
    rowsOf.push_back(b.add(row, b.index(offset)));
  for (int64_t offset : columnOffsets)
    columnsOf.push_back(b.add(column, b.index(offset)));
}

bool TileProduct::isLong() {
  std::optional<int64_t> depth = upperBound(op.getK());
  bool areLines = widening > 1 && left.isInFlight() && right.isInFlight();
  int64_t least = areLines ? 2 * terms : 2 * kStagesInFlight * terms / widening;
  return !depth || *depth >= least;
}

int64_t TileProduct::stagesOf(int64_t most) {
  if (!hasCopies || !isLong())
    return 1;
  int64_t workgroups = shape.isWide() ? 1 : 2;
  auto fits = [&](int64_t count) {
    return left.bytes(count) + right.bytes(count) <=
           b.team.state.device.sharedBytesOfEach(workgroups);
  };
  while (isByMatrices && op.getReadAhead() && most > 2 && !fits(most))
    --most;
  return most;
}

std::pair<Value, Value> TileProduct::subgroupBegin() {
  Value subgroup = b.team.state.subgroup;
  Value across = b.index(shape.subgroupsAcross);
  return {b.mul(b.div(subgroup, across), b.index(shape.subgroupRows())),
          b.mul(b.rem(subgroup, across), b.index(shape.subgroupColumns()))};
}

/// Calls body(number, row, column) for the thread's elements of a tile.
void TileProduct::forEachSum(function_ref<void(unsigned, Value, Value)> body) {
  unsigned number = 0;
  for (Value row : rowsOf)
    for (Value column : columnsOf)
      body(number++, row, column);
}

SmallVector<Value> TileProduct::multiply(Value slot, ValueRange sums) {
  // Unrolled, small tiles would have all terms in registers at once, and spill.
  // Short products stand among others, whose places are in registers, too.
  bool isLarge = rowsOf.size() * columnsOf.size() > 16;
  // Fewer terms of two bytes than 16 bytes hold would be in half of the banks.
  bool areNarrow = leftType != element && rightType != element;
  int64_t unrolled = isLarge                 ? 2
                     : isLong() || areNarrow ? kUnrolled
                                             : kUnrolled / 2;
  // All of an address but the term is known before the loop: one multiply-add
  // is left of it.
  auto beginOf = [&](StagedSide &side, ArrayRef<Value> places) {
    return side.isAlongTerms ? Value() : side.from(slot, places.front());
  };
  Value ofLeft = beginOf(left, rowsOf), ofRight = beginOf(right, columnsOf);
  auto load = [&](StagedSide &side, Value from, Value t, ArrayRef<Value> places,
                  ArrayRef<int64_t> offsets) {
    SmallVector<Value> values;
    for (auto [place, offset] : llvm::zip_equal(places, offsets))
      values.push_back(b.convert(
          element, from ? b.load(from, {t, b.index(offset)})
                        : b.load(side.stages, side.indices(slot, t, place))));
    return values;
  };
  return b.foldRolled(
      b.index(0), b.index(terms), unrolled, sums,
      [&](Value first, ValueRange before) {
        SmallVector<Value> next(before);
        for (int64_t i = 0; i < unrolled; ++i) {
          Value t = b.add(first, b.index(i));
          SmallVector<Value> as = load(left, ofLeft, t, rowsOf, rowOffsets),
                             ws = load(right, ofRight, t, columnsOf,
                                       columnOffsets);
          for (auto [number, sum] : llvm::enumerate(next))
            sum = math::FmaOp::create(b, as[number / ws.size()],
                                      ws[number % ws.size()], sum);
        }
        return next;
      });
}

SmallVector<Value> TileProduct::multiplyMatrices(Value slot,
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
  int64_t matrices = shape.subgroupRows() / kMatrixRows;
  int64_t pairs = shape.subgroupColumns() / (2 * kMatrixColumns);
  for (int64_t t = 0; t < terms; t += kMatrixTerms) {
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

SmallVector<Value> TileProduct::multiplyGroup(Value slot, ValueRange before,
                                              bool goesOn) {
  Value group = b.div(b.team.state.subgroup, b.index(kGroup)),
        zero = b.index(0);
  SmallVector<Value> leftAt =
      left.indices(slot, zero, b.mul(group, b.index(kGroupRows)));
  // Sums of each eight columns: two of a row, and of the eighth after it.
  SmallVector<int64_t> numbers;
  for (int64_t c = 0; c < shape.columnsEach(); c += 2)
    for (int64_t r = 0; r < 2; ++r)
      for (int64_t n = 0; n < 2; ++n)
        numbers.push_back(r * shape.columnsEach() + c + n);
  SmallVector<Value> sums;
  for (int64_t number : numbers)
    sums.push_back(before[number]);
  auto after = MultiplyGroupOp::create(
      b, SmallVector<Type>(sums.size(), element), left.stages, leftAt[0],
      leftAt[1], right.stages, right.indices(slot, zero, zero)[0], sums,
      /*transpose=*/!right.isAlongTerms, goesOn);
  SmallVector<Value> next(before);
  for (auto [number, sum] : llvm::zip_equal(numbers, after.getResults()))
    next[number] = sum;
  return next;
}

void TileProduct::barrier() {
  if (isByGroups())
    fenceForGroups(b);
  if (!b.team.isSubgroup) {
    mlir::gpu::BarrierOp::create(b);
    return;
  }
  NVVM::SyncWarpOp::create(b, arith::ConstantIntOp::create(b, -1, 32));
}

void TileProduct::begin(Value memory, Value offset, Value i, Value j) {
  left.begin(memory, offset, stages, i);
  right.begin(memory, b.add(offset, b.index(left.bytes(stages))), stages, j);
}

Value TileProduct::slotNumber(int64_t slot) {
  return arith::ConstantIntOp::create(b, slot, 32);
}

Value TileProduct::slotAfter(Value slot, int64_t distance) {
  if (distance == 0)
    return slot;
  Value next = arith::AddIOp::create(b, slot, slotNumber(distance));
  if (distance == 1)
    return b.select(b.isEqual(next, slotNumber(stages)), slotNumber(0), next);
  Value isBeyond = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, next,
                                         slotNumber(stages));
  return b.select(isBeyond, arith::SubIOp::create(b, next, slotNumber(stages)),
                  next);
}

Value TileProduct::slotIndex(Value slot) {
  return arith::IndexCastOp::create(b, b.getIndexType(), slot);
}

SmallVector<Value> TileProduct::forEachStage(
    Value from, Value to, ValueRange values,
    function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
  int64_t ahead = stages - 1;
  // Padding is a product of 0 and 0, or of numbers that change no sum.
  double leftPadding = multipliesMatrices() ? 0.0 : -0.0;
  Value length = b.sub(to, from);
  Value delay = b.index(ahead * terms);
  // Of whole stages none has terms of two blocks.
  bool areWhole = static_cast<int64_t>(op.getTerms()) % terms == 0;
  Value end = areWhole ? Value(op.getK()) : to;
  // Unrolled, a loop of two or three stages would have the addresses of each of
  // them in registers for as long as there is a loop around it.
  SmallVector<Value> given(values);
  if (ahead)
    given.push_back(slotNumber(0));
  SmallVector<Value> ended = b.foldRolled(
      b.index(0), b.add(length, delay), terms, given,
      [&](Value at, ValueRange all) -> SmallVector<Value> {
        // The stage that is brought takes the place before that of the stage
        // that is multiplied.
        ValueRange carried = all.take_front(values.size());
        Value slot = b.index(0), next = slot, number;
        if (ahead) {
          number = slotAfter(all.back());
          slot = slotIndex(all.back());
          next = slotIndex(number);
          NVVM::CpAsyncWaitGroupOp::create(b, ahead - 1);
        }
        auto isThere = [&]() -> Value {
          return arith::CmpIOp::create(b, arith::CmpIPredicate::uge, at, delay);
        };
        if (left.isConvertedLate())
          b.when(isThere(), [&] {
            Value past = b.add(from, b.sub(at, delay));
            left.settle(next, past, end, leftPadding);
          });
        barrier();
        // The stage that was here before is multiplied.
        b.when(b.isLess(at, length), [&] {
          Value t = b.add(from, at);
          left.bring(slot, t, end, leftPadding);
          right.bring(slot, t, end, 0.0);
        });
        if (!ahead) {
          if (hasCopies) {
            NVVM::CpAsyncCommitGroupOp::create(b);
            NVVM::CpAsyncWaitGroupOp::create(b, 0);
          }
          barrier();
          return body(slot, b.add(from, at), carried);
        }
        // Each turn is a group of copies, with none in it at the end.
        NVVM::CpAsyncCommitGroupOp::create(b);
        auto branch = scf::IfOp::create(
            b, isThere(),
            [&](OpBuilder &, Location) {
              Value past = b.sub(at, delay);
              scf::YieldOp::create(b, body(next, b.add(from, past), carried));
            },
            [&](OpBuilder &, Location) { scf::YieldOp::create(b, carried); });
        auto results = llvm::to_vector_of<Value>(branch.getResults());
        results.push_back(number);
        return results;
      });
  ended.truncate(values.size());
  return ended;
}

SmallVector<Value> TileProduct::forEachStageAhead(
    bool areWhole, Value count, ValueRange values,
    function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
  // The stage that is still multiplied when this one begins stays as it is.
  int64_t ahead = stages - 1 - stagesUnderWay();
  auto bring = [&](Value slot, Value t) {
    b.when(b.isLess(t, count), [&] {
      left.bring(slot, t, count, 0.0);
      right.bring(slot, t, count, 0.0);
    });
    // Each turn is a group of copies, with none in it at the end.
    NVVM::CpAsyncCommitGroupOp::create(b);
  };
  left.assumeWhole(areWhole);
  right.assumeWhole(areWhole);
  auto bringFirst = [&](Value i) { bring(i, b.mul(i, b.index(terms))); };
  if (!areWhole)
    b.loopRolled(b.index(0), b.index(ahead), bringFirst);
  for (int64_t i = 0; areWhole && i < ahead; ++i)
    bringFirst(b.index(i));
  SmallVector<Value> given(values);
  // The slot of the stage that was multiplied last.
  given.push_back(slotNumber(stages - 1));
  SmallVector<Value> ended = b.foldRolled(
      b.index(0), count, terms, given, [&](Value t, ValueRange all) {
        Value number = slotAfter(all.back());
        Value slot =
            slotIndex(slotAfter(all.back(), stagesUnderWay() * (stages - 1)));
        Value next = slotIndex(number);
        NVVM::CpAsyncWaitGroupOp::create(b, ahead - 1);
        if (left.isConvertedLate())
          left.settle(next, t, count, 0.0);
        barrier();
        // The stage that was here before has been multiplied by all.
        bring(slot, b.add(t, b.index(ahead * terms)));
        SmallVector<Value> results = body(next, t, all.drop_back());
        results.push_back(number);
        return results;
      });
  left.assumeWhole(false);
  right.assumeWhole(false);
  ended.pop_back();
  if (!stagesUnderWay())
    return ended;
  auto finished =
      FinishGroupsOp::create(b, ValueRange(ended).getTypes(), ended);
  return llvm::to_vector_of<Value>(finished.getResults());
}

SmallVector<Value> TileProduct::before(Value i, Value j) {
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

SmallVector<Value> TileProduct::joined(ValueRange old, ValueRange sums,
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

SmallVector<Value> TileProduct::addTo(Value i, Value j, ValueRange had) {
  Value memory = b.team.state.stages(stagesBytes());
  SmallVector<Type> types(sums(), element);
  return b.alone(types, [&]() -> SmallVector<Value> {
    begin(memory, b.index(0), i, j);
    return multipliesMatrices() ? addMatrices(i, j, had) : addBlocks(had);
  });
}

/// How many terms are added at a time is a matrix unit's affair.
SmallVector<Value> TileProduct::addMatrices(Value i, Value j, ValueRange had) {
  Value zero = b.index(0), k = op.getK();
  bool goesOn = false;
  auto body = [&](Value slot, Value, ValueRange carried) {
    return isByGroups() ? multiplyGroup(slot, carried, goesOn)
                        : multiplyMatrices(slot, carried);
  };
  Value isLeft = left.isWhole(i, k), isRight = right.isWhole(j, k);
  if (stages == 1 || !isLeft || !isRight)
    return forEachStage(zero, k, had, body);
  goesOn = stagesUnderWay();
  auto branch = scf::IfOp::create(
      b, b.createOrFold<arith::AndIOp>(isLeft, isRight),
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, forEachStageAhead(true, k, had, body));
      },
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, forEachStageAhead(false, k, had, body));
      });
  return llvm::to_vector_of<Value>(branch.getResults());
}

SmallVector<Value> TileProduct::addBlocks(ValueRange had) {
  Value zero = b.index(0), k = op.getK();
  auto blockTerms = static_cast<int64_t>(op.getTerms());
  auto sum = [&](Value from, Value to) {
    return forEachStage(from, to, zeros(),
                        [&](Value slot, Value, ValueRange carried) {
                          return multiply(slot, carried);
                        });
  };
  std::optional<int64_t> depth = upperBound(k);
  if (depth && *depth <= blockTerms) {
    SmallVector<Value> only = sum(zero, k);
    return op.getAccumulate() ? joined(had, only, Value()) : only;
  }
  if (blockTerms % terms == 0 && stages > 1)
    return addBlocksInFlight(had);
  // A first block without terms is zero, so all products have one.
  Value end = b.createOrFold<arith::MaxUIOp>(k, b.index(1));
  return b.fold(zero, end, blockTerms, had, [&](Value start, ValueRange old) {
    Value next = b.min(k, b.add(start, b.index(blockTerms)));
    return joined(old, sum(start, next), b.isEqual(start, zero));
  });
}

SmallVector<Value> TileProduct::addBlocksInFlight(ValueRange had) {
  Value zero = b.index(0), k = op.getK();
  auto blockTerms = static_cast<int64_t>(op.getTerms());
  SmallVector<Value> values(had);
  llvm::append_range(values, zeros());
  SmallVector<Value> ended = forEachStage(
      zero, k, values, [&](Value slot, Value t, ValueRange carried) {
        ValueRange old = carried.take_front(sums());
        SmallVector<Value> block = multiply(slot, carried.drop_front(sums()));
        Value next = b.add(t, b.index(terms));
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
}

SmallVector<Value> TileProduct::joinParts(Value parts, Value count,
                                          int64_t rows, int64_t columns,
                                          ValueRange had, Value begin) {
  Value zero = b.index(0);
  return b.fold(zero, count, 1, had, [&](Value at, ValueRange before) {
    SmallVector<Value> next;
    // Rows beyond the tile repeat its last one, and are not stored.
    Value last = b.index(rows - 1);
    forEachSum([&](unsigned, Value row, Value column) {
      Value place = b.add(b.mul(b.min(row, last), b.index(columns)), column);
      next.push_back(b.load(parts, {at, place}));
    });
    return joined(before, next, b.isEqual(b.add(begin, at), zero));
  });
}

SmallVector<Value>
TileProduct::addParts(int64_t rows, int64_t stride, int64_t bytes,
                      ValueRange had, function_ref<void(Value, Value)> store) {
  SmallVector<Type> types(sums(), element);
  return b.alone(types, [&]() -> SmallVector<Value> {
    int64_t width = element.getIntOrFloatBitWidth() / 8;
    auto type =
        sharedType(MemRefType::get({kSubgroups, bytes / width}, element));
    Value memory = b.team.state.stages(kSubgroups * bytes);
    Value zero = b.index(0);
    Value parts = memref::ViewOp::create(b, type, memory, zero,
                                         /*sizes=*/ValueRange());
    store(memory, parts);
    barrier();
    return joinParts(parts, b.index(kSubgroups), rows, stride, had, zero);
  });
}

SmallVector<Value> TileProduct::addThin(const ThinTile &tile, ValueRange had) {
  return addParts(
      tile.rows, tile.columns, 4 * tile.sums(), had,
      [&](Value, Value parts) { storeThinParts(op, tile, b, parts); });
}

SmallVector<Value> TileProduct::addRowSums(const RowSums &tile,
                                           ValueRange had) {
  return addParts(tile.rows(), tile.stride(), tile.bytes(), had,
                  [&](Value memory, Value parts) {
                    storeRowSums(op, tile, b, memory, parts);
                  });
}

SmallVector<Value> TileProduct::addSplit(const BlockSplit &split,
                                         ValueRange had) {
  const KernelState &state = b.team.state;
  const Team subgroup{b.team.state, /*isSubgroup=*/true};
  SmallVector<Type> types(sums(), element);
  return b.alone(types, [&]() -> SmallVector<Value> {
    TileProduct part(op, split.shape, subgroup, b.saveInsertionPoint(),
                     split.stages);
    // A subgroup's sums go where its stages were.
    int64_t width = element.getIntOrFloatBitWidth() / 8;
    int64_t sumsBytes = split.shape.rows * split.shape.columns * width;
    int64_t bytes = std::max(part.stagesBytes(), sumsBytes);
    Value memory = b.team.state.stages(split.parts * bytes);
    auto type = MemRefType::get({split.parts, bytes / width}, element);
    Value zero = b.index(0);
    part.begin(memory, part.b.mul(state.subgroup, b.index(bytes)), zero, zero);
    Value parts = memref::ViewOp::create(part.b, sharedType(type), memory, zero,
                                         /*sizes=*/ValueRange());
    auto place = [&](Value row, Value column) {
      return b.add(b.mul(row, b.index(split.shape.columns)), column);
    };
    b.restoreInsertionPoint(part.b.saveInsertionPoint());

    auto blockTerms = static_cast<int64_t>(op.getTerms());
    Value k = op.getK(), many = b.index(split.parts);
    // A first block without terms is zero, so all products have one.
    Value end = b.createOrFold<arith::MaxUIOp>(k, b.index(1));
    auto turn = [&](Value start, ValueRange old) -> SmallVector<Value> {
      Value from = b.add(start, b.mul(state.subgroup, b.index(blockTerms)));
      Value hasBlock = b.createOrFold<arith::AndIOp>(
          b.isLess(state.subgroup, many), b.isLess(from, end));
      b.when(hasBlock, [&] {
        part.b.restoreInsertionPoint(b.saveInsertionPoint());
        SmallVector<Value> block = part.forEachStage(
            from, b.min(k, b.add(from, b.index(blockTerms))), part.zeros(),
            [&](Value slot, Value, ValueRange carried) {
              return part.multiply(slot, carried);
            });
        part.barrier();
        part.forEachSum([&](unsigned number, Value row, Value column) {
          part.b.store(block[number], parts,
                       {state.subgroup, place(row, column)});
        });
      });
      barrier();
      Value blocks = b.min(many, b.ceilDiv(b.sub(end, start), blockTerms));
      return joinParts(parts, blocks, split.shape.rows, split.shape.columns,
                       old, start);
    };
    std::optional<int64_t> depth = upperBound(k);
    if (depth && *depth <= split.parts * blockTerms)
      return turn(zero, had);
    return b.fold(zero, end, split.parts * blockTerms, had,
                  [&](Value start, ValueRange old) {
                    SmallVector<Value> next = turn(start, old);
                    // Sums make room for stages.
                    barrier();
                    return next;
                  });
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

void TileProduct::forEachTile(function_ref<void(Value, Value)> body) {
  ::forEachTile(b, op.getM(), shape.rows, [&](Value i) {
    ::forEachTile(b, op.getN(), shape.columns, [&](Value j) { body(i, j); });
  });
}
