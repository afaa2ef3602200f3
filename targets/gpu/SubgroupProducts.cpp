//===- SubgroupProducts.cpp - Products out of a subgroup's registers ------===//
//
// See SubgroupProducts.h. Subgroups have pieces of kSubgroupTerms terms in
// turn, so that loads of one time are side by side, and load several of
// them before they multiply the first.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/SubgroupProducts.h"

#include "targets/gpu/GpuDialect.h"
#include "targets/gpu/ProductLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hone;
using namespace hone::simt;

/// Rows of a thin tile, and its columns, at most.
static constexpr int64_t kMostRows = 32, kMostColumns = 64;
/// Pieces of 16 bytes that a lane loads before it multiplies the first, at most
/// with sums of 16 and of 32 rows in registers.
static constexpr int64_t kMostLoads = 16, kMostTallLoads = 10;

void simt::addTerms(TeamBuilder &b, MutableArrayRef<Value> sums,
                    const Words &low, const Words &high,
                    ArrayRef<Words> right) {
  for (int64_t half : {0, 2})
    for (auto [n, words] : llvm::enumerate(right)) {
      auto place = sums.slice(kLaneSums * n, kLaneSums);
      llvm::copy(multiplyOnce(
                     b, {low[half], high[half], low[half + 1], high[half + 1]},
                     {words[half], words[half + 1]}, place),
                 place.begin());
    }
}

std::optional<ThinTile> ThinTile::of(int64_t rows, int64_t columns,
                                     int64_t terms) {
  ThinTile tile = {
      int64_t(llvm::alignTo(rows, kMatrixRows)),
      std::max<int64_t>(llvm::PowerOf2Ceil(columns), kMatrixColumns), terms, 1};
  if (rows < 1 || tile.rows > kMostRows || tile.columns > kMostColumns)
    return std::nullopt;
  int64_t loads = 2 * tile.rows / kMatrixRows + tile.columns / kMatrixColumns;
  int64_t pieces =
      llvm::divideCeil(llvm::divideCeil(terms, kSubgroupTerms), kSubgroups);
  int64_t most = tile.rows == kMatrixRows ? kMostLoads : kMostTallLoads;
  tile.atOnce = std::clamp<int64_t>(most / loads, 1, pieces);
  return tile;
}

std::optional<ThinTile> ThinTile::of(tile::ProductOp op,
                                     const DeviceFeatures &device) {
  std::optional<int64_t> rows = upperBound(op.getM());
  std::optional<int64_t> terms = getConstantIntValue(op.getK());
  if (!device.matrixUnits || !op.getRounded() || !op.getFewRows() ||
      op.getTransposeA() || !op.getPrologue().empty() || !areBFloat16(op) ||
      !rows || !terms || *terms < 1)
    return std::nullopt;
  return of(*rows, op.getColumns(), *terms);
}

namespace {

class ThinLowering {
public:
  ThinLowering(tile::ProductOp op, const ThinTile &tile, TeamBuilder &b)
      : op(op), tile(tile), b(b), lane(b.team.state.lane),
        g(b.div(lane, b.index(4))), t(b.rem(lane, b.index(4))) {}

  /// The subgroup's sums.
  SmallVector<Value> sums();
  void store(ValueRange sums, Value parts);

private:
  int64_t rowMatrices() const { return tile.rows / kMatrixRows; }
  int64_t columnMatrices() const { return tile.columns / kMatrixColumns; }
  /// Whether there are whole pieces only.
  bool hasTail() const { return tile.terms % kLaneTerms; }
  /// Terms of all turns of the loop.
  int64_t turnTerms() const {
    return kSubgroups * kSubgroupTerms * tile.atOnce;
  }
  /// Whether rows of `matrix` from `column` on begin where 16 bytes do.
  Value isAligned(TypedValue<MemRefType> matrix, Value column);
  bool canBeAligned(TypedValue<MemRefType> matrix) {
    return matrix.getType().getDimSize(1) % kLaneTerms == 0;
  }
  /// `i`, or the last of [0, count) if it is beyond.
  Value within(Value i, Value count) {
    return b.min(i, b.sub(count, b.index(1)));
  }
  /// Eight terms from `term` on: of a row, or the values of `number`.
  Words words(Value matrix, Value row, Value column, Value term, bool whole);
  Words gathered(function_ref<Value(Value)> number, Value term, bool whole);
  /// Without those that are beyond the last.
  Words existing(Words words, Value term);
  SmallVector<Value> loop(bool whole);

  tile::ProductOp op;
  const ThinTile tile;
  TeamBuilder &b;
  const Value lane, g, t;
};

} // namespace

Value ThinLowering::isAligned(TypedValue<MemRefType> matrix, Value column) {
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(b, matrix);
  Value at = b.add(start, b.mul(column, b.index(2)));
  return b.isEqual(b.rem(at, b.index(2 * kLaneTerms)), b.index(0));
}

Words ThinLowering::existing(Words words, Value term) {
  if (tile.terms % turnTerms() == 0)
    return words;
  Value none = arith::ConstantIntOp::create(b, 0, 32);
  Value isThere = b.isLess(term, b.index(tile.terms));
  for (Value &word : words)
    word = b.select(isThere, word, none);
  return words;
}

Words ThinLowering::gathered(function_ref<Value(Value)> number, Value term,
                             bool whole) {
  Value count = b.index(tile.terms), zero = b.real(b.getBF16Type(), 0.0);
  auto bits = [&](int64_t i) -> Value {
    Value at = b.add(term, b.index(i));
    Value value = number(whole ? at : within(at, count));
    if (!whole)
      value = b.select(b.isLess(at, count), value, zero);
    Value half = arith::BitcastOp::create(b, b.getI16Type(), value);
    return arith::ExtUIOp::create(b, b.getI32Type(), half);
  };
  Value sixteen = arith::ConstantIntOp::create(b, 16, 32);
  SmallVector<Value> halves;
  for (int64_t i = 0; i < kLaneTerms; ++i)
    halves.push_back(bits(i));
  Words words;
  for (int64_t i = 0; i < kLaneTerms; i += 2)
    words.push_back(arith::OrIOp::create(
        b, halves[i], arith::ShLIOp::create(b, halves[i + 1], sixteen)));
  return words;
}

Words ThinLowering::words(Value matrix, Value row, Value column, Value term,
                          bool whole) {
  if (!whole)
    return gathered(
        [&](Value at) { return b.load(matrix, {row, b.add(column, at)}); },
        term, whole);
  auto four = LoadWordsOp::create(b, SmallVector<Type>(4, b.getI32Type()),
                                  matrix, ValueRange{row, b.add(column, term)});
  return Words(four->getResults());
}

SmallVector<Value> ThinLowering::loop(bool whole) {
  Type f32 = b.getF32Type();
  int64_t matrixSums = columnMatrices() * kLaneSums;
  SmallVector<Value> zeros(rowMatrices() * matrixSums, b.real(f32, 0.0));
  Value begin = b.add(b.mul(b.team.state.subgroup, b.index(kSubgroupTerms)),
                      b.mul(t, b.index(kLaneTerms)));
  Value last = b.index(std::max<int64_t>(tile.terms - kLaneTerms, 0));
  return b.foldRolled(
      b.index(0), b.index(tile.terms), turnTerms(), zeros,
      [&](Value from, ValueRange before) {
        struct Piece {
          SmallVector<Words> left, right;
        };
        SmallVector<Piece> pieces;
        for (int64_t n = 0; n < tile.atOnce; ++n) {
          Value term = b.add(b.add(from, begin),
                             b.index(n * kSubgroups * kSubgroupTerms));
          // Terms beyond the last are loaded from where there are some.
          Value at =
              whole && tile.terms % turnTerms() ? b.min(term, last) : term;
          Piece &piece = pieces.emplace_back();
          for (int64_t i = 0; i < 2 * rowMatrices(); ++i) {
            Value row =
                within(b.add(g, b.index(i * kMatrixRows / 2)), op.getM());
            piece.left.push_back(
                existing(words(op.getA(), b.add(op.getARow(), row),
                               op.getAColumn(), at, whole),
                         term));
          }
          for (int64_t j = 0; j < columnMatrices(); ++j) {
            Value column =
                within(b.add(g, b.index(j * kMatrixColumns)), op.getN());
            auto below = [&](Value term) {
              return b.load(op.getW(), {b.add(op.getWRow(), term),
                                        b.add(op.getWColumn(), column)});
            };
            piece.right.push_back(
                existing(op.getTransposeW()
                             ? words(op.getW(), b.add(op.getWRow(), column),
                                     op.getWColumn(), at, whole)
                             : gathered(below, at, whole),
                         term));
          }
        }
        SmallVector<Value> sums(before);
        for (const Piece &piece : pieces)
          for (int64_t i = 0; i < rowMatrices(); ++i)
            addTerms(b, MutableArrayRef(sums).slice(i * matrixSums, matrixSums),
                     piece.left[2 * i], piece.left[2 * i + 1], piece.right);
        return sums;
      });
}

SmallVector<Value> ThinLowering::sums() {
  if (hasTail() || !canBeAligned(op.getA()) ||
      (op.getTransposeW() && !canBeAligned(op.getW())))
    return loop(/*whole=*/false);
  Value aligned = isAligned(op.getA(), op.getAColumn());
  if (op.getTransposeW())
    aligned = b.createOrFold<arith::AndIOp>(
        aligned, isAligned(op.getW(), op.getWColumn()));
  auto branch = scf::IfOp::create(
      b, aligned,
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, loop(/*whole=*/true));
      },
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, loop(/*whole=*/false));
      });
  return llvm::to_vector_of<Value>(branch.getResults());
}

void ThinLowering::store(ValueRange sums, Value parts) {
  unsigned number = 0;
  for (int64_t i = 0; i < rowMatrices(); ++i)
    for (int64_t j = 0; j < columnMatrices(); ++j)
      for (int64_t half : {0, 1})
        for (int64_t odd : {0, 1}) {
          Value row = b.add(g, b.index(i * kMatrixRows + 8 * half));
          Value column =
              b.add(b.mul(t, b.index(2)), b.index(j * kMatrixColumns + odd));
          Value place = b.add(b.mul(row, b.index(tile.columns)), column);
          b.store(sums[number++], parts, {b.team.state.subgroup, place});
        }
}

void simt::storeThinParts(tile::ProductOp op, const ThinTile &tile,
                          TeamBuilder &b, Value parts) {
  ThinLowering lowering(op, tile, b);
  lowering.store(lowering.sums(), parts);
}
