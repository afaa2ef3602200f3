//===- RowSums.cpp - An adapter's gradients on matrix units ---------------===//
//
// See RowSums.h. Subgroups wait for nobody: each copies stages of its own, as
// many in flight as there is room for. Neighbouring lanes copy neighbouring 16
// bytes of a row, which stay side by side in shared memory, in an order that
// depends on the row: so eight rows are read without a bank conflict.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/RowSums.h"

#include "targets/gpu/GpuDialect.h"
#include "targets/gpu/ProductLowering.h"
#include "targets/gpu/StagedSide.h"
#include "targets/gpu/TileShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hone;
using namespace hone::simt;

static constexpr int64_t kFewestPlaces = 16, kMostPlacesOfSums = 64;
/// Numbers of bfloat16, and of float32, that are copied at once.
static constexpr int64_t kWideChunk = kChunkBytes / 2,
                         kNarrowChunk = kChunkBytes / 4;
/// Sums of a lane for a matrix of 16 x 8.
static constexpr int64_t kLaneSums = 4;

int64_t RowSums::placesFor(int64_t width) {
  int64_t places = kMostPlacesOfSums;
  while (places > kFewestPlaces &&
         2 * llvm::divideCeil(width, places) < kMultiprocessors)
    places /= 2;
  return places;
}

std::optional<RowSums> RowSums::of(int64_t rank, int64_t places,
                                   bool isLeftNarrow,
                                   const DeviceFeatures &device) {
  if (!device.matrixUnits || !device.copiesInFlight || !isRank(rank) ||
      places < 1 || places > kMostPlacesOfSums)
    return std::nullopt;
  RowSums sums = {rank,
                  std::max<int64_t>(llvm::PowerOf2Ceil(places), kFewestPlaces),
                  isLeftNarrow, /*blocks=*/1, /*stages=*/2};
  // Of few columns a block is few bytes, and waits for its own instructions.
  if (sums.places == kFewestPlaces)
    sums.blocks = 2;
  constexpr int64_t kMostStages = 8;
  // So that two workgroups have room.
  auto fits = [&] {
    return kSubgroups * sums.stagesBytes() <= device.sharedBytesOfEach(2);
  };
  if (!fits())
    return std::nullopt;
  while (sums.stages < kMostStages && fits())
    sums.stages *= 2;
  if (!fits())
    sums.stages /= 2;
  return sums;
}

std::optional<RowSums> RowSums::of(tile::ProductOp op,
                                   const DeviceFeatures &device) {
  if (!op.getAnyOrder() || !op.getFewRows() || !op.getTransposeA() ||
      op.getTransposeW() || !op.getPrologue().empty() || op.getScales())
    return std::nullopt;
  auto a = cast<MemRefType>(op.getA().getType());
  auto w = cast<MemRefType>(op.getW().getType());
  auto areSides = [](MemRefType narrow, MemRefType wide) {
    return narrow.getElementType().isF32() && wide.getElementType().isBF16() &&
           wide.getDimSize(1) % kWideChunk == 0;
  };
  bool isLeftNarrow = areSides(a, w);
  if (!isLeftNarrow && !areSides(w, a))
    return std::nullopt;
  // All of the narrow side's columns, so that rows follow each other.
  std::optional<int64_t> rows = upperBound(op.getM());
  int64_t columns = op.getColumns();
  int64_t rank = (isLeftNarrow ? a : w).getDimSize(1);
  Value count = isLeftNarrow ? op.getM() : op.getN();
  Value begin = isLeftNarrow ? op.getAColumn() : op.getWColumn();
  if (!rows || getConstantIntValue(count) != rank ||
      getConstantIntValue(begin) != 0)
    return std::nullopt;
  return of(rank, isLeftNarrow ? columns : *rows, isLeftNarrow, device);
}

namespace {

class RowSumLowering {
public:
  RowSumLowering(tile::ProductOp op, const RowSums &tile, TeamBuilder &b,
                 Value memory);

  /// The subgroup's sums.
  SmallVector<Value> sums();
  void store(ValueRange sums, Value parts);

private:
  using Matrix = TypedValue<MemRefType>;
  Matrix wide() { return tile.isLeftNarrow ? op.getW() : op.getA(); }
  Matrix narrow() { return tile.isLeftNarrow ? op.getA() : op.getW(); }
  Value wideRow() { return tile.isLeftNarrow ? op.getWRow() : op.getARow(); }
  Value narrowRow() { return tile.isLeftNarrow ? op.getARow() : op.getWRow(); }
  Value wideColumn() {
    return tile.isLeftNarrow ? op.getWColumn() : op.getAColumn();
  }
  Value wideCount() { return tile.isLeftNarrow ? op.getN() : op.getM(); }

  int64_t wideChunks() const { return tile.places / kWideChunk; }
  int64_t narrowChunks() const { return tile.rank / kNarrowChunk; }
  /// Halves of a matrix's 16 rows that the narrow side fills.
  int64_t narrowHalves() const {
    return llvm::divideCeil(tile.rank, kMatrixRows / 2);
  }
  Value exclusiveOr(Value a, Value x) {
    return b.createOrFold<arith::XOrIOp>(a, x);
  }
  /// Where chunk `chunk` of a row of a stage is.
  Value wideChunkAt(Value row, Value chunk);
  Value narrowChunkAt(Value row, Value chunk);
  Value beginsChunks(Matrix matrix, Value column);
  Value firstRow(Value turn, int64_t block) {
    Value number = b.add(b.mul(turn, b.index(tile.blocks)), b.index(block));
    return b.mul(
        b.add(b.mul(number, b.index(kSubgroups)), b.team.state.subgroup),
        b.index(RowSums::kRows));
  }
  /// Where a block of a turn is.
  Value slotOf(Value turn, int64_t block) {
    Value stage = b.rem(turn, b.index(tile.stages));
    return b.add(b.mul(stage, b.index(tile.blocks)), b.index(block));
  }
  /// body(row, chunk) for chunks of a stage with so many in each row.
  void forEachChunk(int64_t chunks, function_ref<void(Value, Value)> body);
  /// Rows from `first` on are on their way to `slot`, or there.
  void bring(Value slot, Value first);
  /// The wide side's, which all exist, or the last of which are repeated.
  void copyWide(Value slot, Value first, bool areThere);
  void copyNarrow(Value slot, Value first);
  // Number by number. On the narrow side rows that are not there are zeros.
  void fillWide(Value slot, Value first);
  void fillNarrow(Value slot, Value first);
  /// Three numbers of bfloat16 whose sum is `number`, in the high halves.
  std::array<Value, 3> split(Value number);
  /// The high halves of `low` and `high`.
  Value pack(Value low, Value high);
  SmallVector<Value> multiply(Value slot, ValueRange before);
  Value word(uint32_t bits) {
    return arith::ConstantIntOp::create(b, static_cast<int32_t>(bits), 32);
  }

  tile::ProductOp op;
  const RowSums tile;
  TeamBuilder &b;
  const Value lane, g, t;
  Value wideStages, narrowStages, isAligned;
};

} // namespace

RowSumLowering::RowSumLowering(tile::ProductOp op, const RowSums &tile,
                               TeamBuilder &b, Value memory)
    : op(op), tile(tile), b(b), lane(b.team.state.lane),
      g(b.div(lane, b.index(4))), t(b.rem(lane, b.index(4))) {
  Value begin = b.mul(b.team.state.subgroup, b.index(tile.bytes()));
  auto view = [&](int64_t columns, Type type, int64_t offset) {
    auto stages = MemRefType::get(
        {tile.stages * tile.blocks, RowSums::kRows, columns}, type);
    return memref::ViewOp::create(b, sharedType(stages), memory,
                                  b.add(begin, b.index(offset)),
                                  /*sizes=*/ValueRange());
  };
  wideStages = view(tile.places, b.getBF16Type(), 0);
  narrowStages = view(tile.rank, b.getF32Type(),
                      tile.stages * tile.blocks * tile.wideBytes());
  isAligned = b.createOrFold<arith::AndIOp>(beginsChunks(wide(), wideColumn()),
                                            beginsChunks(narrow(), b.index(0)));
}

Value RowSumLowering::beginsChunks(Matrix matrix, Value column) {
  int64_t width = matrix.getType().getElementTypeBitWidth() / 8;
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(b, matrix);
  Value at = b.add(start, b.mul(column, b.index(width)));
  return b.isEqual(b.rem(at, b.index(kChunkBytes)), b.index(0));
}

Value RowSumLowering::wideChunkAt(Value row, Value chunk) {
  // Rows that share 128 bytes have one order.
  int64_t rowsOfLine = 8 / wideChunks();
  Value order = b.rem(b.div(row, b.index(rowsOfLine)), b.index(wideChunks()));
  return b.mul(exclusiveOr(chunk, order), b.index(kWideChunk));
}

Value RowSumLowering::narrowChunkAt(Value row, Value chunk) {
  // Of four rows of 64 bytes, each lane reads the same half.
  if (narrowChunks() == 4)
    chunk = exclusiveOr(
        chunk, b.mul(b.rem(b.div(row, b.index(2)), b.index(2)), b.index(2)));
  return b.mul(chunk, b.index(kNarrowChunk));
}

void RowSumLowering::forEachChunk(int64_t chunks,
                                  function_ref<void(Value, Value)> body) {
  auto visit = [&](Value e) {
    body(b.div(e, b.index(chunks)), b.rem(e, b.index(chunks)));
  };
  int64_t all = RowSums::kRows * chunks;
  if (all < kLanes)
    return b.when(b.isLess(lane, b.index(all)), [&] { visit(lane); });
  for (int64_t from = 0; from < all; from += kLanes)
    visit(b.add(lane, b.index(from)));
}

void RowSumLowering::copyWide(Value slot, Value first, bool areThere) {
  Value lastRow = b.sub(op.getK(), b.index(1));
  // Columns beyond the last are those of the last chunk, and nobody's.
  Value last = b.sub(b.ceilDiv(wideCount(), kWideChunk), b.index(1));
  forEachChunk(wideChunks(), [&](Value row, Value chunk) {
    Value at = b.add(first, row);
    Value column = b.mul(b.min(chunk, last), b.index(kWideChunk));
    CopyOp::create(
        b, wide(),
        ValueRange{b.add(wideRow(), areThere ? at : b.min(at, lastRow)),
                   b.add(wideColumn(), column)},
        wideStages, ValueRange{slot, row, wideChunkAt(row, chunk)});
  });
}

void RowSumLowering::copyNarrow(Value slot, Value first) {
  forEachChunk(narrowChunks(), [&](Value row, Value chunk) {
    CopyOp::create(b, narrow(),
                   ValueRange{b.add(b.add(narrowRow(), first), row),
                              b.mul(chunk, b.index(kNarrowChunk))},
                   narrowStages,
                   ValueRange{slot, row, narrowChunkAt(row, chunk)});
  });
}

void RowSumLowering::fillWide(Value slot, Value first) {
  Value lastRow = b.sub(op.getK(), b.index(1));
  Value lastColumn = b.sub(wideCount(), b.index(1));
  b.loopRolled(
      b.index(0), b.index(RowSums::kRows * tile.places / kLanes),
      [&](Value turn) {
        Value e = b.add(lane, b.mul(turn, b.index(kLanes)));
        Value row = b.div(e, b.index(tile.places));
        Value column = b.rem(e, b.index(tile.places));
        Value number =
            b.load(wide(), {b.add(wideRow(), b.min(b.add(first, row), lastRow)),
                            b.add(wideColumn(), b.min(column, lastColumn))});
        Value at = wideChunkAt(row, b.div(column, b.index(kWideChunk)));
        b.store(number, wideStages,
                {slot, row, b.add(at, b.rem(column, b.index(kWideChunk)))});
      });
}

void RowSumLowering::fillNarrow(Value slot, Value first) {
  Value lastRow = b.sub(op.getK(), b.index(1));
  Value zero = b.real(b.getF32Type(), 0.0);
  // All are loaded before the first is stored.
  struct Number {
    Value value, row, at;
  };
  SmallVector<Number> numbers;
  for (int64_t from = 0; from < RowSums::kRows * tile.rank; from += kLanes) {
    Value e = b.add(lane, b.index(from));
    Value row = b.div(e, b.index(tile.rank));
    Value column = b.rem(e, b.index(tile.rank));
    Value number =
        b.load(narrow(),
               {b.add(narrowRow(), b.min(b.add(first, row), lastRow)), column});
    Value at = narrowChunkAt(row, b.div(column, b.index(kNarrowChunk)));
    numbers.push_back(
        {b.select(b.isLess(b.add(first, row), op.getK()), number, zero), row,
         b.add(at, b.rem(column, b.index(kNarrowChunk)))});
  }
  for (auto [value, row, at] : numbers)
    b.store(value, narrowStages, {slot, row, at});
}

void RowSumLowering::bring(Value slot, Value first) {
  Value next = b.add(first, b.index(RowSums::kRows));
  Value isWhole =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ule, next, op.getK());
  b.when(
      b.createOrFold<arith::AndIOp>(isWhole, isAligned),
      [&] {
        copyWide(slot, first, /*areThere=*/true);
        copyNarrow(slot, first);
      },
      [&] {
        b.when(
            isAligned, [&] { copyWide(slot, first, /*areThere=*/false); },
            [&] { fillWide(slot, first); });
        fillNarrow(slot, first);
      });
}

std::array<Value, 3> RowSumLowering::split(Value number) {
  Type i32 = b.getI32Type(), f32 = b.getF32Type();
  Value mask = word(0xffff0000);
  std::array<Value, 3> parts;
  for (Value &part : parts) {
    Value bits = arith::BitcastOp::create(b, i32, number);
    part = arith::AndIOp::create(b, bits, mask);
    number = b.sub(number, arith::BitcastOp::create(b, f32, part));
  }
  return parts;
}

Value RowSumLowering::pack(Value low, Value high) {
  Value shifted = arith::ShRUIOp::create(b, low, word(16));
  return arith::OrIOp::create(b, shifted, high);
}

SmallVector<Value> RowSumLowering::multiply(Value slot, ValueRange before) {
  // A lane's terms are rows t, t + 4, t + 8 and t + 12: then four lanes read
  // four neighbouring rows of the narrow side.
  constexpr int64_t kTerms = 4;
  std::array<std::array<std::array<Value, kTerms>, 2>, 3> parts;
  for (int64_t half = 0; half < narrowHalves(); ++half)
    for (int64_t i = 0; i < kTerms; ++i) {
      Value row = b.add(t, b.index(i * kTerms));
      Value column = b.rem(b.add(g, b.index(8 * half)), b.index(tile.rank));
      Value chunk = b.div(column, b.index(kNarrowChunk));
      Value at = b.add(narrowChunkAt(row, chunk),
                       b.rem(column, b.index(kNarrowChunk)));
      for (auto [part, value] :
           llvm::zip(parts, split(b.load(narrowStages, {slot, row, at}))))
        part[half][i] = value;
    }
  auto words = [&](int64_t part, int64_t half) {
    auto &terms = parts[part][half];
    return std::array{pack(terms[0], terms[1]), pack(terms[2], terms[3])};
  };
  // Matrices of the narrow side, on the left: of up to eight columns the first
  // two parts are one matrix.
  SmallVector<SmallVector<Value, 4>> lefts;
  auto addLeft = [&](std::array<Value, 2> upper, std::array<Value, 2> lower) {
    lefts.push_back({upper[0], lower[0], upper[1], lower[1]});
  };
  if (narrowHalves() == 1) {
    Value zero = word(0);
    addLeft(words(2, 0), {zero, zero});
    addLeft(words(0, 0), words(1, 0));
  } else {
    for (int64_t part : {2, 1, 0})
      addLeft(words(part, 0), words(part, 1));
  }

  // Lane `8 m + r` says where row `r` of matrix `m` is: of the first eight
  // terms, of the next, and both again eight columns further on.
  Value term = b.rem(lane, b.index(16)), next = b.div(lane, b.index(16));
  Value inEight = b.rem(term, b.index(8));
  Value row = b.add(b.mul(b.div(term, b.index(8)), b.index(8)),
                    b.add(b.mul(b.rem(inEight, b.index(2)), b.index(4)),
                          b.div(inEight, b.index(2))));
  SmallVector<Value> sums(before);
  for (int64_t chunk = 0; chunk < wideChunks(); chunk += 2) {
    Value at = wideChunkAt(row, b.add(next, b.index(chunk)));
    auto four = LoadMatricesOp::create(b, SmallVector<Type>(4, b.getI32Type()),
                                       wideStages, ValueRange{slot, row, at},
                                       /*transpose=*/true);
    for (int64_t j : {0, 1}) {
      auto place =
          MutableArrayRef(sums).slice(kLaneSums * (chunk + j), kLaneSums);
      ValueRange right = four->getResults().slice(2 * j, 2);
      for (ArrayRef<Value> left : lefts)
        llvm::copy(multiplyOnce(b, left, SmallVector<Value>(right),
                                SmallVector<Value>(place)),
                   place.begin());
    }
  }
  return sums;
}

SmallVector<Value> RowSumLowering::sums() {
  Value zero = b.index(0);
  int64_t ahead = tile.stages - 1;
  Value turns = b.ceilDiv(op.getK(), RowSums::kRows * kSubgroups * tile.blocks);
  auto bringStage = [&](Value turn) {
    b.when(b.isLess(turn, turns), [&] {
      for (int64_t i = 0; i < tile.blocks; ++i)
        bring(slotOf(turn, i), firstRow(turn, i));
    });
    // Each turn is a group of copies, with none in it at the end.
    NVVM::CpAsyncCommitGroupOp::create(b);
  };
  b.loopRolled(zero, b.index(ahead), bringStage);
  SmallVector<Value> zeros(kLaneSums * wideChunks(),
                           b.real(b.getF32Type(), 0.0));
  return b.foldRolled(zero, turns, 1, zeros,
                      [&](Value turn, ValueRange before) {
                        NVVM::CpAsyncWaitGroupOp::create(b, ahead - 1);
                        NVVM::SyncWarpOp::create(b, word(-1));
                        // The stage that was there before is multiplied.
                        bringStage(b.add(turn, b.index(ahead)));
                        SmallVector<Value> sums(before);
                        for (int64_t i = 0; i < tile.blocks; ++i)
                          sums = multiply(slotOf(turn, i), sums);
                        return sums;
                      });
}

void RowSumLowering::store(ValueRange sums, Value parts) {
  // Sums go where the stages were.
  NVVM::SyncWarpOp::create(b, word(-1));
  auto put = [&](Value sum, Value inRank, Value place) {
    Value row = tile.isLeftNarrow ? inRank : place;
    Value column = tile.isLeftNarrow ? place : inRank;
    b.store(sum, parts,
            {b.team.state.subgroup,
             b.add(b.mul(row, b.index(tile.stride())), column)});
  };
  for (int64_t chunk = 0; chunk < wideChunks(); ++chunk)
    for (int64_t odd : {0, 1}) {
      Value place = b.add(b.mul(t, b.index(2)), b.index(8 * chunk + odd));
      Value upper = sums[kLaneSums * chunk + odd];
      Value lower = sums[kLaneSums * chunk + 2 + odd];
      if (narrowHalves() == 2) {
        put(upper, g, place);
        put(lower, b.add(g, b.index(8)), place);
      } else if (tile.rank < 8) {
        b.when(b.isLess(g, b.index(tile.rank)),
               [&] { put(b.add(upper, lower), g, place); });
      } else {
        put(b.add(upper, lower), g, place);
      }
    }
}

void simt::storeRowSums(tile::ProductOp op, const RowSums &sums, TeamBuilder &b,
                        Value memory, Value parts) {
  RowSumLowering lowering(op, sums, b, memory);
  lowering.store(lowering.sums(), parts);
}
