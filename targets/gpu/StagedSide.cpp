//===- StagedSide.cpp - One side of a product in shared memory ------------===//
//
// See StagedSide.h. The bytes that eight threads read or write at once are in
// all banks.
//
// For a matrix unit, eight chunks of 16 bytes are a line of 128 bytes: one row,
// or two or four short ones; longer rows are in planes of one line each. Line r
// has its chunks in the order of c ^ r, so that chunk c of eight rows is in all
// banks. So is a line: eight threads that copy one read one line of the
// device's memory.
//
// Other rows of shared memory end in 16 bytes for nobody.
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

/// All banks of shared memory.
static constexpr int64_t kLineBytes = 128;
/// Terms of the narrowest type.
static constexpr int64_t kMostTerms = kStageBytes / 2;

int64_t simt::stageBytes(int64_t places) {
  // Pairs of places, or rows of one term each.
  return kStageBytes * places + kChunkBytes * std::max(places / 2, kMostTerms);
}

/// Terms of a side are neighbours in its source.
static bool isAlongTermsOf(tile::ProductOp op, StagedSide::Which which) {
  return which == StagedSide::Left ? !op.getTransposeA() : op.getTransposeW();
}

static MemRefType sourceTypeOf(tile::ProductOp op, StagedSide::Which which) {
  return (which == StagedSide::Left ? op.getA() : op.getW()).getType();
}

/// Whether a side comes in chunks of 16 bytes of `type`: rows of the source are
/// there to be read as they are, and a tile's places are whole chunks.
static bool hasWholeChunks(tile::ProductOp op, StagedSide::Which which,
                           int64_t places, Type type) {
  auto [strides, offset] = sourceTypeOf(op, which).getStridesAndOffset();
  int64_t chunk = kChunkBytes * 8 / type.getIntOrFloatBitWidth();
  return !ShapedType::isDynamic(strides.front()) && strides.back() == 1 &&
         (which == StagedSide::Left || op.getPrologue().empty()) &&
         (isAlongTermsOf(op, which) || places % chunk == 0);
}

/// Whether numbers of a side are in the device's memory, and each row begins
/// where as many bytes do as a chunk of `type` takes there, or 16.
static bool hasAlignedRows(tile::ProductOp op, StagedSide::Which which,
                           Type type) {
  MemRefType from = sourceTypeOf(op, which);
  int64_t width = from.getElementTypeBitWidth();
  int64_t chunkBits = kChunkBytes * 8 / type.getIntOrFloatBitWidth() * width;
  auto [strides, offset] = from.getStridesAndOffset();
  return !from.getMemorySpace() && isa<FloatType>(from.getElementType()) &&
         strides.front() * width % std::min(kChunkBytes * 8, chunkBits) == 0;
}

Type StagedSide::typeFor(tile::ProductOp op, Which which, int64_t places,
                         Type element, const DeviceFeatures &device) {
  Type stored = sourceTypeOf(op, which).getElementType();
  bool isCopied = device.copiesInFlight && stored.isBF16() &&
                  hasWholeChunks(op, which, places, stored) &&
                  hasAlignedRows(op, which, stored);
  return isCopied ? stored : element;
}

StagedSide::StagedSide(tile::ProductOp op, Which which, int64_t places,
                       Type type, std::optional<int64_t> group, int64_t terms,
                       TeamBuilder &b)
    : isAlongTerms(isAlongTermsOf(op, which)), op(op), which(which),
      places(places), group(group), terms(terms), type(type), b(b),
      way(wayOf()) {}

StagedSide::Way StagedSide::wayOf() {
  if (!hasWholeChunks(op, which, places, type))
    return Way::Single;
  MemRefType from = source().getType();
  if (which == Right && op.getBits()) {
    auto [strides, offset] = from.getStridesAndOffset();
    int64_t row = strides.front() * from.getElementTypeBitWidth();
    bool isWhole = row % (chunk() * int64_t(*op.getBits())) == 0 &&
                   chunk() * int64_t(*op.getBits()) % 8 == 0;
    return isWhole ? Way::Packed : Way::Single;
  }
  if (!b.team.state.device.copiesInFlight || !hasAlignedRows(op, which, type))
    return Way::Single;
  bool isRounded = op.getRounded() && !type.isBF16();
  return isRounded || from.getElementType() != type ? Way::Converted
                                                    : Way::InFlight;
}

MemRefType StagedSide::memoryType(int64_t stages) const {
  if (!group) {
    int64_t inner = isAlongTerms ? terms : places;
    int64_t length = std::min(inner, kLineBytes / kChunkBytes * chunk());
    return MemRefType::get({stages, terms * places / length, length}, type);
  }
  if (isAlongTerms)
    return MemRefType::get({stages, int64_t(llvm::divideCeil(places, *group)),
                            *group * terms + chunk()},
                           type);
  return MemRefType::get({stages, terms, places + chunk()}, type);
}

MemRefType StagedSide::sourceType() const { return sourceTypeOf(op, which); }

MemRefType StagedSide::copiesType() const {
  return MemRefType::get(
      {kLateCopies, /*halves=*/2, terms * places / chunk(), chunk() / 2},
      sourceType().getElementType());
}

int64_t StagedSide::bytes(int64_t stages) const {
  auto bytesOf = [](MemRefType type) {
    return type.getNumElements() * type.getElementTypeBitWidth() / 8;
  };
  if (isLate)
    return bytesOf(memoryType(kLateStages)) + bytesOf(copiesType());
  return bytesOf(memoryType(stages));
}

void StagedSide::begin(Value buffer, Value offset, int64_t count, Value place) {
  memory = buffer;
  begins = offset;
  isOnlyStage = count == 1;
  MemRefType stagesType = memoryType(isLate ? kLateStages : count);
  stages = memref::ViewOp::create(b, sharedType(stagesType), memory, offset,
                                  /*sizes=*/ValueRange());
  if (isLate) {
    int64_t bytes = stagesType.getNumElements() * 2;
    copies = memref::ViewOp::create(b, sharedType(copiesType()), memory,
                                    b.add(offset, b.index(bytes)),
                                    /*sizes=*/ValueRange());
  }
  first = place;
  hasChunks = way == Way::Single ? Value() : beginsChunks();
}

Value StagedSide::from(Value slot, Value place) {
  MemRefType stage =
      MemRefType::get(memoryType(1).getShape().drop_front(), type);
  int64_t width = type.getIntOrFloatBitWidth() / 8;
  Value start = b.mul(slotOf(slot), b.index(stage.getNumElements() * width));
  Value at = b.add(start, b.mul(place, b.index(width)));
  return memref::ViewOp::create(b, sharedType(stage), memory, b.add(begins, at),
                                /*sizes=*/ValueRange());
}

SmallVector<Value> StagedSide::indices(Value slot, Value term, Value place) {
  slot = slotOf(slot);
  if (!group)
    return isAlongTerms ? inLines(slot, place, term)
                        : inLines(slot, term, place);
  if (!isAlongTerms)
    return {slot, term, place};
  Value inGroup = b.mul(b.rem(place, b.index(*group)), b.index(terms));
  return {slot, b.div(place, b.index(*group)), b.add(inGroup, term)};
}

SmallVector<Value> StagedSide::inLines(Value slot, Value outer, Value inner) {
  int64_t length = memoryType(1).getShape().back(), chunks = length / chunk();
  int64_t rowsOfLine = kLineBytes / kChunkBytes / chunks;
  int64_t rows = isAlongTerms ? places : terms;
  Value plane = b.div(inner, b.index(length));
  Value turn = b.rem(b.div(outer, b.index(rowsOfLine)), b.index(chunks));
  Value at = b.createOrFold<arith::XOrIOp>(b.rem(inner, b.index(length)),
                                           b.mul(turn, b.index(chunk())));
  return {slot, b.add(b.mul(plane, b.index(rows)), outer), at};
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
  if (way != Way::Packed) {
    int64_t width = source().getType().getElementTypeBitWidth() / 8;
    Value start = memref::ExtractAlignedPointerAsIndexOp::create(b, source());
    at = b.add(start, b.mul(column, b.index(width)));
    unit = std::min(kChunkBytes, chunk() * width);
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

/// Of number `i` of neighbours of `width` bytes that begin where `unit` bytes
/// do.
static llvm::MaybeAlign alignmentOf(int64_t i, int64_t width, int64_t unit) {
  return llvm::Align(i * width % unit ? width : unit);
}

Value StagedSide::isWhole(Value place, Value end) {
  if (!hasOwnLoop())
    return Value();
  Value reaches = b.createOrFold<arith::CmpIOp>(
      arith::CmpIPredicate::ule, b.add(place, b.index(places)), count());
  Value isStages = b.createOrFold<arith::CmpIOp>(
      arith::CmpIPredicate::eq, b.rem(end, b.index(terms)), b.index(0));
  return b.createOrFold<arith::AndIOp>(
      beginsChunks(), b.createOrFold<arith::AndIOp>(reaches, isStages));
}

std::pair<Value, Value> StagedSide::chunkAt(Value t, Value term, Value place) {
  // Rows beyond the last one are not looked at.
  Value at = b.add(first, place);
  if (isAlongTerms && !areAllWhole)
    at = within(b, at, count());
  return sourceAt(b.add(t, term), at);
}

void StagedSide::bringChunk(Value slot, Value t, Value term, Value place) {
  auto [row, column] = chunkAt(t, term, place);
  SmallVector<Value> to = indices(slot, term, place);
  if (way == Way::InFlight) {
    CopyOp::create(b, source(), ValueRange{row, column}, stages, to);
    return;
  }
  Type element = op.getC().getType().getElementType();
  SmallVector<Value> numbers = loadPacked(b, op, element, row, column, chunk());
  for (Value &number : numbers)
    number = staged(number);
  storeChunk(numbers, to);
}

SmallVector<Value> StagedSide::loadChunk(Value t, const Chunk &at) {
  auto [row, column] = chunkAt(t, at.term, at.place);
  Type element = op.getC().getType().getElementType();
  int64_t width = sourceType().getElementTypeBitWidth() / 8;
  SmallVector<Value> numbers;
  for (int64_t i = 0; i < chunk(); ++i) {
    Value number = memref::LoadOp::create(
        b, source(), ValueRange{row, b.add(column, b.index(i))},
        /*nontemporal=*/false,
        alignmentOf(i, width, std::min(kChunkBytes, chunk() * width)));
    numbers.push_back(staged(b.convert(element, number)));
  }
  return numbers;
}

void StagedSide::storeChunk(ArrayRef<Value> numbers, SmallVector<Value> to) {
  int64_t width = type.getIntOrFloatBitWidth() / 8;
  Value first = to.back();
  for (auto [i, number] : llvm::enumerate(numbers)) {
    to.back() = b.add(first, b.index(i));
    memref::StoreOp::create(b, number, stages, to, /*nontemporal=*/false,
                            alignmentOf(i, width, kChunkBytes));
  }
}

void StagedSide::fillChunk(Value slot, Value term, Value place,
                           double padding) {
  storeChunk(SmallVector<Value>(chunk(), b.real(type, padding)),
             indices(slot, term, place));
}

void StagedSide::forEachChunk(Value t, Value end,
                              function_ref<void(const Chunk &)> body) {
  std::optional<int64_t> last = getConstantIntValue(end);
  bool isWholeStage = last && *last % terms == 0;
  Value thread = b.team.member();
  int64_t chunks = terms * places / chunk();
  int64_t threads = b.team.size();
  // Places, terms and threads are powers of two.
  assert(chunks % threads == 0 || chunks < threads);
  int64_t inner = (isAlongTerms ? terms : places) / chunk();
  auto visit = [&](Value turn) {
    Value e = b.add(thread, b.mul(turn, b.index(threads)));
    // Chunks of a thread are as far from each other here as they are there.
    bool isBelow = threads % inner == 0;
    Value outerAt = isBelow ? b.add(b.div(thread, b.index(inner)),
                                    b.mul(turn, b.index(threads / inner)))
                            : b.div(e, b.index(inner));
    Value innerAt =
        b.mul(b.rem(isBelow ? thread : e, b.index(inner)), b.index(chunk()));
    Chunk at{e, isAlongTerms ? innerAt : outerAt,
             isAlongTerms ? outerAt : innerAt, hasChunks, Value()};
    if (areAllWhole) {
      at.isWhole = Value();
      return body(at);
    }
    auto require = [&](Value begin, int64_t count, Value size) {
      Value most = b.add(begin, b.index(count));
      Value is =
          b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ule, most, size);
      at.isWhole = b.createOrFold<arith::AndIOp>(at.isWhole, is);
      Value none =
          b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::uge, begin, size);
      at.isBeyond =
          at.isBeyond ? b.createOrFold<arith::OrIOp>(at.isBeyond, none) : none;
    };
    if (!isWholeStage)
      require(b.add(t, at.term), isAlongTerms ? chunk() : 1, end);
    if (!isAlongTerms)
      require(b.add(first, at.place), chunk(), count());
    body(at);
  };
  bool isShort = way == Way::Converted && isOnlyStage;
  // Whole tiles have a loop of their own.
  bool isSeldom = !areAllWhole && hasOwnLoop();
  if ((b.team.isSubgroup || isShort || isSeldom) && chunks > threads) {
    // As many addresses at a time as there are turns would take the registers
    // of sums; of a short product, which stands beside others, too.
    b.loopRolled(b.index(0), b.index(chunks / threads), visit);
    return;
  }
  for (int64_t turn = 0; turn < chunks / threads; ++turn)
    visit(b.index(turn));
  if (chunks < threads)
    b.when(b.isLess(thread, b.index(chunks)), [&] { visit(b.index(0)); });
}

void StagedSide::bringNumbers(Value slot, Value t, const Chunk &at, Value end,
                              double padding) {
  b.loopRolled(b.index(0), b.index(chunk()), [&](Value i) {
    bringNumber(slot, t, isAlongTerms ? b.add(at.term, i) : at.term,
                isAlongTerms ? at.place : b.add(at.place, i), end, padding);
  });
}

void StagedSide::putChunk(Value slot, Value t, const Chunk &at, Value end,
                          double padding,
                          function_ref<SmallVector<Value>()> load) {
  auto rest = [&] { bringNumbers(slot, t, at, end, padding); };
  auto put = [&](ValueRange numbers) {
    storeChunk(llvm::to_vector(numbers), indices(slot, at.term, at.place));
  };
  if (!at.isWhole)
    return put(load());
  if (!at.isBeyond)
    return b.when(at.isWhole, [&] { put(load()); }, rest);
  // One store for both: LLVM would make one of two, and not side by side.
  b.when(
      b.createOrFold<arith::OrIOp>(at.isWhole, at.isBeyond),
      [&] {
        SmallVector<Value> zeros(chunk(), b.real(type, padding));
        auto either = scf::IfOp::create(
            b, at.isWhole,
            [&](OpBuilder &, Location) { scf::YieldOp::create(b, load()); },
            [&](OpBuilder &, Location) { scf::YieldOp::create(b, zeros); });
        put(either.getResults());
      },
      rest);
}

void StagedSide::bring(Value slot, Value t, Value end, double padding) {
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
  forEachChunk(t, end, [&](const Chunk &at) {
    if (areAllWhole && way == Way::InFlight)
      return bringChunk(slot, t, at.term, at.place);
    if (areAllWhole && isLate)
      return copyChunk(t, at);
    if (isLate)
      return b.when(at.isWhole, [&] { copyChunk(t, at); });
    if (way == Way::Converted)
      return putChunk(slot, t, at, end, padding,
                      [&] { return loadChunk(t, at); });
    b.when(
        at.isWhole, [&] { bringChunk(slot, t, at.term, at.place); },
        [&] {
          auto numbers = [&] { bringNumbers(slot, t, at, end, padding); };
          if (!at.isBeyond || way == Way::Packed)
            return numbers();
          // Of the few terms of a short product most chunks are beyond.
          b.when(
              at.isBeyond, [&] { fillChunk(slot, at.term, at.place, padding); },
              numbers);
        });
  });
}

SmallVector<Value> StagedSide::copyAt(Value t, Value number, int64_t half) {
  Value stage = b.rem(b.div(t, b.index(terms)), b.index(kLateCopies));
  return {stage, b.index(half), number, b.index(0)};
}

void StagedSide::copyChunk(Value t, const Chunk &at) {
  auto [row, column] = chunkAt(t, at.term, at.place);
  for (int64_t half : {0, 1})
    CopyOp::create(b, source(),
                   ValueRange{row, b.add(column, b.index(half * chunk() / 2))},
                   copies, copyAt(t, at.number, half));
}

void StagedSide::settle(Value slot, Value t, Value end, double padding) {
  forEachChunk(t, end, [&](const Chunk &at) {
    putChunk(slot, t, at, end, padding, [&] {
      SmallVector<Value> numbers;
      for (int64_t half : {0, 1})
        for (int64_t i = 0; i < chunk() / 2; ++i) {
          SmallVector<Value> from = copyAt(t, at.number, half);
          from.back() = b.index(i);
          numbers.push_back(staged(memref::LoadOp::create(
              b, copies, from, /*nontemporal=*/false,
              alignmentOf(i, kChunkBytes / (chunk() / 2), kChunkBytes))));
        }
      return numbers;
    });
  });
}
