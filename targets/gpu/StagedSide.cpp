//===- StagedSide.cpp - One side of a product in shared memory ------------===//
//
// See StagedSide.h. Rows of shared memory end in 16 bytes for nobody, so that
// what eight threads read or write at once is in all banks.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/StagedSide.h"

#include "dialects/Tile/StoredMatrix.h"
#include "targets/gpu/GpuDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace hone;
using namespace hone::simt;

/// Chunks of a place's terms, or of as many bytes.
static constexpr int64_t kChunksOfStage = kStageBytes / kChunkBytes;
/// Terms of the narrowest type.
static constexpr int64_t kMostTerms = kStageBytes / 2;

int64_t simt::stageBytes(int64_t places) {
  // Pairs of places, or rows of one term each.
  return kStageBytes * places + kChunkBytes * std::max(places / 2, kMostTerms);
}

StagedSide::StagedSide(tile::ProductOp op, Which which, int64_t places,
                       Type type, int64_t group, TeamBuilder &b)
    : isAlongTerms(which == Left ? !op.getTransposeA() : op.getTransposeW()),
      op(op), which(which), places(places), group(group), type(type), b(b),
      way(wayOf()) {}

StagedSide::Way StagedSide::wayOf() {
  MemRefType from = source().getType();
  bool isRight = which == Right;
  auto [strides, offset] = from.getStridesAndOffset();
  int64_t row = strides.front() * from.getElementTypeBitWidth();
  if (ShapedType::isDynamic(strides.front()) || strides.back() != 1 ||
      (isRight && !op.getPrologue().empty()) ||
      (!isAlongTerms && places % chunk() != 0))
    return Way::Single;
  if (isRight && op.getBits()) {
    bool isWhole = row % (chunk() * int64_t(*op.getBits())) == 0 &&
                   chunk() * int64_t(*op.getBits()) % 8 == 0;
    return isWhole ? Way::Packed : Way::Single;
  }
  bool isRounded = op.getRounded() && !type.isBF16();
  return b.team.state.device.copiesInFlight && !isRounded &&
                 !from.getMemorySpace() && from.getElementType() == type &&
                 row % (kChunkBytes * 8) == 0
             ? Way::InFlight
             : Way::Single;
}

MemRefType StagedSide::memoryType(int64_t stages) const {
  if (isAlongTerms)
    return MemRefType::get({stages, int64_t(llvm::divideCeil(places, group)),
                            group * termsOf(type) + chunk()},
                           type);
  return MemRefType::get({stages, termsOf(type), places + chunk()}, type);
}

int64_t StagedSide::bytes(int64_t stages) const {
  MemRefType memory = memoryType(stages);
  return memory.getNumElements() * memory.getElementTypeBitWidth() / 8;
}

void StagedSide::begin(Value buffer, Value offset, int64_t count, Value place) {
  memory = buffer;
  begins = offset;
  stages = memref::ViewOp::create(b, sharedType(memoryType(count)), memory,
                                  offset, /*sizes=*/ValueRange());
  first = place;
  hasChunks = way == Way::Single ? Value() : beginsChunks();
}

Value StagedSide::from(Value slot, Value place) {
  MemRefType stage =
      MemRefType::get(memoryType(1).getShape().drop_front(), type);
  int64_t width = type.getIntOrFloatBitWidth() / 8;
  Value start = b.mul(slot, b.index(stage.getNumElements() * width));
  Value at = b.add(start, b.mul(place, b.index(width)));
  return memref::ViewOp::create(b, sharedType(stage), memory, b.add(begins, at),
                                /*sizes=*/ValueRange());
}

SmallVector<Value> StagedSide::indices(Value slot, Value term, Value place) {
  if (!isAlongTerms)
    return {slot, term, place};
  Value inGroup = b.mul(b.rem(place, b.index(group)), b.index(termsOf(type)));
  return {slot, b.div(place, b.index(group)), b.add(inGroup, term)};
}

std::pair<Value, Value> StagedSide::sourceAt(Value term, Value place) {
  Value row = which == Left ? op.getARow() : op.getWRow();
  Value column = which == Left ? op.getAColumn() : op.getWColumn();
  return {b.add(row, isAlongTerms ? place : term),
          b.add(column, isAlongTerms ? term : place)};
}

Value StagedSide::staged(Value number) {
  if (op.getRounded())
    number = b.convert(b.getBF16Type(), number);
  return b.convert(type, number);
}

Value StagedSide::beginsChunks() {
  Value column = which == Left ? op.getAColumn() : op.getWColumn();
  Value at = column;
  int64_t unit = chunk();
  if (way == Way::InFlight) {
    Value start = memref::ExtractAlignedPointerAsIndexOp::create(b, source());
    at = b.add(start, b.mul(column, b.index(type.getIntOrFloatBitWidth() / 8)));
    unit = kChunkBytes;
  }
  return b.isEqual(b.rem(at, b.index(unit)), b.index(0));
}

/// `i`, or the last of [0, count) if it is beyond.
static Value within(TeamBuilder &b, Value i, Value count) {
  return b.min(i, b.sub(count, b.index(1)));
}

void StagedSide::bringNumber(Value slot, Value t, Value term, Value place,
                             Value end, double padding) {
  Value at = b.add(t, term);
  auto [row, column] =
      sourceAt(within(b, at, end), within(b, b.add(first, place), count()));
  // The numbers computed with: a packed one is no bfloat16 before it is
  // unpacked.
  Type element = op.getC().getType().getElementType();
  Value value;
  if (which == Left) {
    value = b.convert(element, b.load(op.getA(), {row, column}));
  } else {
    value = loadStored(b, op, element, row, column);
    if (!op.getPrologue().empty())
      value = b.inlined(op.getPrologue().front(), {value, row, column}).front();
  }
  value = b.select(b.isLess(at, end), staged(value), b.real(type, padding));
  b.store(value, stages, indices(slot, term, place));
}

void StagedSide::bringChunk(Value slot, Value t, Value term, Value place) {
  // Rows beyond the last one are not looked at.
  Value at = b.add(first, place);
  if (isAlongTerms)
    at = within(b, at, count());
  auto [row, column] = sourceAt(b.add(t, term), at);
  SmallVector<Value> to = indices(slot, term, place);
  if (way == Way::InFlight) {
    CopyOp::create(b, source(), ValueRange{row, column}, stages, to);
    return;
  }
  Type element = op.getC().getType().getElementType();
  SmallVector<Value> numbers = loadPacked(b, op, element, row, column, chunk());
  for (auto [i, number] : llvm::enumerate(numbers)) {
    SmallVector<Value> next = to;
    next.back() = b.add(next.back(), b.index(i));
    b.store(staged(number), stages, next);
  }
}

void StagedSide::bring(Value slot, Value t, Value end, double padding) {
  int64_t terms = termsOf(type);
  if (way == Way::Single) {
    int64_t inner = isAlongTerms ? terms : places;
    b.deal(b.index(terms * places), [&](Value e) {
      // Neighbours read neighbours.
      Value outerAt = b.div(e, b.index(inner));
      Value innerAt = b.rem(e, b.index(inner));
      bringNumber(slot, t, isAlongTerms ? innerAt : outerAt,
                  isAlongTerms ? outerAt : innerAt, end, padding);
    });
    return;
  }
  std::optional<int64_t> last = getConstantIntValue(end);
  bool isWholeStage = last && *last % terms == 0;
  auto bringAt = [&](Value e) {
    int64_t inner = isAlongTerms ? kChunksOfStage : places / chunk();
    Value outerAt = b.div(e, b.index(inner));
    Value innerAt = b.mul(b.rem(e, b.index(inner)), b.index(chunk()));
    Value term = isAlongTerms ? innerAt : outerAt;
    Value place = isAlongTerms ? outerAt : innerAt;
    Value isWhole = hasChunks;
    auto require = [&](Value atMost, Value size) {
      Value is = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ule,
                                               atMost, size);
      isWhole = b.createOrFold<arith::AndIOp>(isWhole, is);
    };
    Value more = b.index(chunk());
    if (!isWholeStage)
      require(b.add(b.add(t, term), isAlongTerms ? more : b.index(1)), end);
    if (!isAlongTerms)
      require(b.add(b.add(first, place), more), count());
    b.when(
        isWhole, [&] { bringChunk(slot, t, term, place); },
        [&] {
          b.loopRolled(b.index(0), more, [&](Value i) {
            bringNumber(slot, t, isAlongTerms ? b.add(term, i) : term,
                        isAlongTerms ? place : b.add(place, i), end, padding);
          });
        });
  };
  Value thread = b.team.member();
  int64_t chunks = kChunksOfStage * places;
  int64_t threads = b.team.size();
  if (b.team.isSubgroup && chunks > threads) {
    // As many addresses at a time as there are turns would take the registers
    // of sums.
    b.loopRolled(b.index(0), b.index(chunks / threads), [&](Value turn) {
      bringAt(b.add(thread, b.mul(turn, b.index(threads))));
    });
    return;
  }
  for (int64_t from = 0; from + threads <= chunks; from += threads)
    bringAt(b.add(thread, b.index(from)));
  if (chunks < threads)
    b.when(b.isLess(thread, b.index(chunks)), [&] { bringAt(thread); });
}
