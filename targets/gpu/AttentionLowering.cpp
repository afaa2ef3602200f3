//===- AttentionLowering.cpp - Attention in the registers of subgroups ----===//
//
// A subgroup has 16 rows of a head, and computes with what it loads: no lane
// waits for another subgroup, and nothing goes through shared memory. Features
// that are summed over are dealt out as in SubgroupProducts.h. Those of a
// result may have any order, too: of the 64 that a workgroup computes, lane `4
// g + t` has the eight from `8 g` on of four rows on the right, and sums of the
// sixteen from `16 t` on.
//
// Weights are computed where sums of scores are, which is where the left side
// of the next product wants them.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/AttentionLowering.h"

#include "targets/gpu/ProductLowering.h"
#include "targets/gpu/StagedRows.h"
#include "targets/gpu/TileShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/MathExtras.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::simt;

/// Sums of a lane for 16 x 64.
static constexpr int64_t kResultSums =
    kLaneSums * kResultFeatures / kMatrixColumns;

namespace {

/// Rows `g` and `g + 8` of a subgroup's 16, or something of each.
using Pair = std::array<Value, 2>;

/// Rows in shared memory, from number `at` on.
struct Staged {
  Value at;
  int64_t rows;
};

class SubgroupAttention {
public:
  SubgroupAttention(Operation *op, const Team &team)
      : subgroup{team.state, /*isSubgroup=*/true}, b(op, subgroup),
        g(b.div(team.state.lane, b.index(4))),
        t(b.rem(team.state.lane, b.index(4))), f32(b.getF32Type()) {}

  Value real(double value) { return b.real(f32, value); }
  Value word(int64_t value) {
    return arith::ConstantIntOp::create(b, value, 32);
  }
  Value max(Value x, Value y) { return b.createOrFold<arith::MaxUIOp>(x, y); }
  /// `i`, or the nearest of [from, last].
  Value within(Value i, Value from, Value last) {
    return b.min(max(i, from), last);
  }
  Value atLeast(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::uge, x, y);
  }
  /// Of narrow numbers.
  Value isAtLeast(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, x, y);
  }
  Value isBelow(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y);
  }
  Value addWord(Value x, int64_t y) {
    return y ? arith::AddIOp::create(b, x, word(y)).getResult() : x;
  }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  /// A row's number in 32 bits, which batches have fewer of: where it is only
  /// compared it takes one register.
  Value narrow(Value row) {
    return arith::IndexCastOp::create(b, b.getI32Type(), row);
  }
  Value loadIndex(Value memory, Value at) {
    return arith::IndexCastOp::create(b, b.getIndexType(), b.load(memory, at));
  }
  Pair forBoth(function_ref<Value(int64_t)> of) { return {of(0), of(1)}; }

  /// The first key that `row` sees.
  Value firstKey(Value starts, Value row, std::optional<int64_t> window) {
    Value start = loadIndex(starts, row);
    if (!window)
      return start;
    return arith::MaxSIOp::create(b, start, b.sub(row, b.index(*window - 1)));
  }

  /// Joins what the four lanes of a row have.
  Value join(Value x, function_ref<Value(Value, Value)> combine) {
    for (int32_t distance : {1, 2})
      x = combine(x, b.exchange(x, distance));
    return x;
  }
  Value joinSum(Value x) {
    return join(x, [&](Value p, Value q) { return b.add(p, q); });
  }

  /// Of eight of `right`'s rows each, `right` . `left` for the pair of rows:
  /// kLaneSums for each.
  SmallVector<Value> dots(const HeadMatrix &left, const Pair &leftRows,
                          const HeadMatrix &right, ArrayRef<Value> rightRows,
                          int64_t headDim);
  /// Four words for the left side of a product over 16 terms: what two
  /// neighbouring matrices of sums hold.
  Words packed(ValueRange sums);
  /// sums + weights . `from`, whose rows are `rows` of this lane.
  void addProduct(MutableArrayRef<Value> sums, ArrayRef<Value> weights,
                  const HeadMatrix &from, ArrayRef<Value> rows);
  /// Rows of the right side of a product over 16 terms from `first` on.
  SmallVector<Value> termRows(Value first, Value from, Value last);
  /// Of 16 staged rows the products with the first `columns` of staged rows on
  /// the right: kLaneSums for eight columns.
  SmallVector<Value> stagedDots(StagedRows &staged, const Staged &left,
                                const Staged &right, int64_t columns,
                                int64_t headDim);
  /// sums += weights . `from`, of 16 staged rows from `row` on.
  void addStaged(MutableArrayRef<Value> sums, ArrayRef<Value> weights,
                 StagedRows &staged, const Staged &from, int64_t row);
  /// Stores the sums of row `half` of the pair, times `factor` if it is there,
  /// where `isThere` is true.
  void finishStaged(ValueRange sums, int64_t half, const HeadMatrix &to,
                    Value row, Value isThere, Value factor = {});
  /// 2^x, for x up to 127: of much less than -126 it is zero.
  Value exp2(Value x);
  /// So many numbers of bfloat16 in shared memory.
  Value sharedNumbers(int64_t count) {
    return memref::ViewOp::create(
        b, sharedType(MemRefType::get(count, b.getBF16Type())),
        b.team.state.stages(2 * count), b.index(0), /*sizes=*/ValueRange());
  }

  /// Stores the sums of row `half` of the pair, times `factor` if it is there.
  void finish(ValueRange sums, int64_t half, const HeadMatrix &to, Value row,
              Value factor = {});

  /// Adds up the sums of all subgroups: the first has them.
  SmallVector<Value> joinSubgroups(ValueRange sums);

private:
  const Team subgroup;

public:
  TeamBuilder b;
  const Value g, t;
  const Type f32;

private:
  Words loadWords(const HeadMatrix &from, Value row, Value feature) {
    auto op = LoadWordsOp::create(b, SmallVector<Type>(4, b.getI32Type()),
                                  from.matrix,
                                  ValueRange{row, b.add(from.column, feature)});
    return Words(op->getResults());
  }
  /// Two floats as bfloat16 in a word.
  Value pack(Value low, Value high);
  /// Of words of chunks `j` in lane `t` of four, word `t` of each, makes the
  /// words `j` of chunk `t`.
  void transpose(MutableArrayRef<Value> words);
  /// The low or high halves of two words.
  Value halves(Value low, Value high, bool isHigh);

public:
  /// The products of the numbers in two rows, joined.
  Value rowProduct(const HeadMatrix &x, const HeadMatrix &y, Value row,
                   int64_t headDim);
};

} // namespace

Value SubgroupAttention::pack(Value low, Value high) {
  auto type = VectorType::get(2, b.getBF16Type());
  Value both = NVVM::ConvertF32x2ToBF16x2Op::create(
      b, type, high, low, /*random_bits=*/Value(), NVVM::FPRoundingMode::RN,
      NVVM::SaturationMode::NONE, /*relu=*/false);
  return LLVM::BitcastOp::create(b, b.getI32Type(), both);
}

Value SubgroupAttention::exp2(Value x) {
  // Below, the factor is zero; and NaN stays NaN.
  x = arith::MaximumFOp::create(b, x, real(-127.0));
  // Adding it leaves an integer in the lowest bits.
  Value shift = real(0x1.8p23);
  Value shifted = b.add(x, shift);
  Value rest = b.sub(x, b.sub(shifted, shift));
  // 2^rest for [-1/2, 1/2], relative error 1e-7, and 2^0 is 1.
  Value p = real(0x1.5bba14p-10);
  for (double coefficient :
       {0x1.3cea88p-7, 0x1.c6b752p-5, 0x1.ebf9bcp-3, 0x1.62e42ap-1, 1.0})
    p = math::FmaOp::create(b, p, rest, real(coefficient));
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), shifted);
  Value factor = arith::AddIOp::create(
      b, arith::ShLIOp::create(b, bits, word(23)), word(0x3f800000));
  return b.mul(p, arith::BitcastOp::create(b, f32, factor));
}

Value SubgroupAttention::halves(Value low, Value high, bool isHigh) {
  if (isHigh)
    return arith::OrIOp::create(
        b, arith::ShRUIOp::create(b, low, word(16)),
        arith::AndIOp::create(b, high, word(int32_t(0xffff0000))));
  return arith::OrIOp::create(b, arith::AndIOp::create(b, low, word(0xffff)),
                              arith::ShLIOp::create(b, high, word(16)));
}

SmallVector<Value> SubgroupAttention::dots(const HeadMatrix &left,
                                           const Pair &leftRows,
                                           const HeadMatrix &right,
                                           ArrayRef<Value> rightRows,
                                           int64_t headDim) {
  SmallVector<Value> zeros(kLaneSums * rightRows.size(), real(0.0));
  // A loop that stays one: both sides would be in registers otherwise.
  return b.foldRolled(b.index(0), b.index(headDim), kSubgroupTerms, zeros,
                      [&](Value from, ValueRange before) {
                        Value feature = b.add(from, b.mul(t, b.index(8)));
                        Words low = loadWords(left, leftRows[0], feature),
                              high = loadWords(left, leftRows[1], feature);
                        SmallVector<Words> others;
                        for (Value row : rightRows)
                          others.push_back(loadWords(right, row, feature));
                        SmallVector<Value> sums(before);
                        addTerms(b, sums, low, high, others);
                        return sums;
                      });
}

void SubgroupAttention::transpose(MutableArrayRef<Value> words) {
  for (size_t distance : {1, 2}) {
    Value isUpper = b.isEqual(
        b.rem(b.div(t, b.index(int64_t(distance))), b.index(2)), b.index(1));
    for (size_t j = 0; j < words.size(); ++j) {
      if (j & distance)
        continue;
      Value &low = words[j], &high = words[j + distance];
      Value got = b.exchange(b.select(isUpper, low, high), int32_t(distance));
      low = b.select(isUpper, got, low);
      high = b.select(isUpper, high, got);
    }
  }
}

SmallVector<Value> SubgroupAttention::stagedDots(StagedRows &staged,
                                                 const Staged &left,
                                                 const Staged &right,
                                                 int64_t columns,
                                                 int64_t headDim) {
  SmallVector<Value> zeros(kLaneSums * columns / kMatrixColumns, real(0.0));
  // A loop that stays one: both sides would be in registers otherwise.
  return b.foldRolled(
      b.index(0), b.index(headDim), kSubgroupTerms, zeros,
      [&](Value from, ValueRange before) {
        SmallVector<Value> sums(before);
        Value line = b.index(StagedRows::kLine), feature = b.rem(from, line);
        auto panelOf = [&](const Staged &rows) {
          return b.add(rows.at, b.mul(b.div(from, line),
                                      b.index(rows.rows * StagedRows::kLine)));
        };
        Value leftAt = panelOf(left), rightAt = panelOf(right);
        Words rows[] = {
            staged.left(leftAt, feature),
            staged.left(leftAt, b.add(feature, b.index(kMatrixTerms)))};
        for (int64_t n = 0; n < columns; n += kMatrixColumns) {
          auto place = MutableArrayRef(sums).slice(n / 2, kLaneSums);
          Words words = staged.right(
              b.add(rightAt, b.index(n * StagedRows::kLine)), feature);
          for (int64_t i : {0, 1})
            llvm::copy(multiplyOnce(b, rows[i],
                                    {words[2 * i], words[2 * i + 1]}, place),
                       place.begin());
        }
        return sums;
      });
}

void SubgroupAttention::addStaged(MutableArrayRef<Value> sums,
                                  ArrayRef<Value> weights, StagedRows &staged,
                                  const Staged &from, int64_t row) {
  for (int64_t step = 0; step < kResultFeatures / kMatrixTerms; ++step) {
    Words words =
        staged.across(b.add(from.at, b.index(row * StagedRows::kLine)),
                      b.index(step * kMatrixTerms));
    for (int64_t i : {0, 1}) {
      auto place = sums.slice((2 * step + i) * kLaneSums, kLaneSums);
      llvm::copy(
          multiplyOnce(b, weights, {words[2 * i], words[2 * i + 1]}, place),
          place.begin());
    }
  }
}

void SubgroupAttention::finishStaged(ValueRange sums, int64_t half,
                                     const HeadMatrix &to, Value row,
                                     Value isThere, Value factor) {
  Words words;
  for (int64_t j = 0; j < kResultFeatures / kMatrixColumns; ++j) {
    auto sum = [&](int64_t odd) {
      Value value = sums[j * kLaneSums + 2 * half + odd];
      return factor ? b.mul(value, factor) : value;
    };
    words.push_back(pack(sum(0), sum(1)));
  }
  transpose(MutableArrayRef(words).take_front(4));
  transpose(MutableArrayRef(words).drop_front(4));
  b.when(isThere, [&] {
    for (size_t i : {0, 4}) {
      Value feature = b.mul(b.add(t, b.index(int64_t(i))), b.index(kLaneTerms));
      StoreWordsOp::create(b, words[i], words[i + 1], words[i + 2],
                           words[i + 3], to.matrix,
                           ValueRange{row, b.add(to.column, feature)});
    }
  });
}

Words SubgroupAttention::packed(ValueRange sums) {
  return {pack(sums[0], sums[1]), pack(sums[2], sums[3]),
          pack(sums[4], sums[5]), pack(sums[6], sums[7])};
}

SmallVector<Value> SubgroupAttention::termRows(Value first, Value from,
                                               Value last) {
  SmallVector<Value> rows;
  for (int64_t i : {0, 1, 8, 9})
    rows.push_back(within(b.add(first, b.add(b.mul(t, b.index(2)), b.index(i))),
                          from, last));
  return rows;
}

void SubgroupAttention::addProduct(MutableArrayRef<Value> sums,
                                   ArrayRef<Value> weights,
                                   const HeadMatrix &from,
                                   ArrayRef<Value> rows) {
  Value feature = b.mul(g, b.index(8));
  SmallVector<Words> terms;
  for (Value row : rows)
    terms.push_back(loadWords(from, row, feature));
  for (int64_t j = 0; j < 8; ++j) {
    auto place = sums.slice(j * kLaneSums, kLaneSums);
    Value ws[] = {halves(terms[0][j / 2], terms[1][j / 2], j % 2),
                  halves(terms[2][j / 2], terms[3][j / 2], j % 2)};
    llvm::copy(multiplyOnce(b, weights, ws, place), place.begin());
  }
}

void SubgroupAttention::finish(ValueRange sums, int64_t half,
                               const HeadMatrix &to, Value row, Value factor) {
  for (int64_t odd : {0, 1}) {
    auto sum = [&](int64_t j) {
      Value value = sums[j * kLaneSums + 2 * half + odd];
      return factor ? b.mul(value, factor) : value;
    };
    Words words;
    for (int64_t j = 0; j < 8; j += 2)
      words.push_back(pack(sum(j), sum(j + 1)));
    Value feature = b.add(b.mul(t, b.index(16)), b.index(8 * odd));
    StoreWordsOp::create(b, words[0], words[1], words[2], words[3], to.matrix,
                         ValueRange{row, b.add(to.column, feature)});
  }
}

Value SubgroupAttention::rowProduct(const HeadMatrix &x, const HeadMatrix &y,
                                    Value row, int64_t headDim) {
  auto number = [&](Value bits, bool isHigh) -> Value {
    Value whole =
        isHigh ? arith::AndIOp::create(b, bits, word(int32_t(0xffff0000)))
                     .getResult()
               : arith::ShLIOp::create(b, bits, word(16)).getResult();
    return arith::BitcastOp::create(b, f32, whole);
  };
  Value sum = real(0.0);
  for (int64_t from = 0; from < headDim; from += kSubgroupTerms) {
    Value feature = b.add(b.index(from), b.mul(t, b.index(8)));
    Words xs = loadWords(x, row, feature), ys = loadWords(y, row, feature);
    for (auto [p, q] : llvm::zip_equal(xs, ys))
      for (bool isHigh : {false, true})
        sum = b.add(sum, b.mul(number(p, isHigh), number(q, isHigh)));
  }
  return joinSum(sum);
}

SmallVector<Value> SubgroupAttention::joinSubgroups(ValueRange given) {
  SmallVector<Value> sums(given);
  auto count = static_cast<int64_t>(sums.size());
  int64_t bytes = kSubgroups / 2 * count * kLanes * 4;
  Value memory = b.team.state.stages(bytes);
  Value parts = memref::ViewOp::create(
      b, sharedType(MemRefType::get({kSubgroups / 2, count, kLanes}, f32)),
      memory, b.index(0), /*sizes=*/ValueRange());
  Value number = b.team.state.subgroup, lane = b.team.state.lane;
  for (int64_t half = kSubgroups / 2; half > 0; half /= 2) {
    Value most = b.index(half);
    mlir::gpu::BarrierOp::create(b);
    b.when(both(atLeast(number, most), b.isLess(number, b.index(2 * half))),
           [&] {
             for (auto [i, sum] : llvm::enumerate(sums))
               b.store(sum, parts, {b.sub(number, most), b.index(i), lane});
           });
    mlir::gpu::BarrierOp::create(b);
    // What others read is nothing to them.
    Value from = b.min(number, b.index(half - 1));
    for (auto [i, sum] : llvm::enumerate(sums))
      sum = b.add(sum, b.load(parts, {from, b.index(i), lane}));
  }
  return sums;
}

//===----------------------------------------------------------------------===//
// Rows that are queries
//===----------------------------------------------------------------------===//

namespace {

/// The rows of a subgroup, which see keys, and the keys of its workgroup.
struct QueryRows {
  template <typename Op>
  QueryRows(Op op, SubgroupAttention &s, int64_t keys)
      : s(s), b(s.b), headDim(op.getHeadDim()), keys(keys),
        scale(op.getScale().convertToDouble()) {
    Value head = op.getHead(), width = b.index(headDim), one = b.index(1);
    column = b.mul(head, width);
    feature = b.mul(op.getPart(), b.index(kResultFeatures));
    kvColumn = b.mul(b.div(head, b.index(op.getGroup())), width);
    Value begin = op.getFirst();
    end = b.add(begin, op.getCount());
    Value last = b.sub(end, one);
    Value start =
        b.add(begin, b.mul(b.team.state.subgroup, b.index(kMatrixRows)));
    Value first = b.min(start, last);
    Value final = b.min(b.add(start, b.index(kMatrixRows - 1)), last);
    firstRow = b.select(b.isLess(start, end), s.narrow(first), s.word(-1));
    originRow = s.narrow(begin);
    endRow = s.narrow(last);
    for (int64_t half : {0, 1}) {
      Value place = s.addWord(
          arith::AddIOp::create(b, s.narrow(start), s.narrow(s.g)), 8 * half);
      isThere[half] = s.isAtLeast(endRow, place);
      lastKeys[half] = arith::MinSIOp::create(b, place, endRow);
    }
    starts = op.getStarts();
    window = op.getWindow();
    auto firstKey = [&](Value row) { return s.firstKey(starts, row, window); };
    from = firstKey(begin);
    fromRow = s.narrow(from);
    firstSeen = s.narrow(firstKey(first));
    // Later rows begin later.
    firstOfAll = s.narrow(firstKey(final));
  }

  /// Goes over the keys of the workgroup, `keys` at a time and from a multiple
  /// of that on, and carries `state`: `bring` has copies made of those from a
  /// turn on into the stage at a number, `body` computes with them where a row
  /// of the subgroup sees one.
  SmallVector<Value>
  turns(StagedRows &staged, Value stages, int64_t stageNumbers,
        ValueRange state, function_ref<void(Value, Value)> bring,
        function_ref<SmallVector<Value>(Value, Value, ValueRange)> body);

  /// Scores of keys that their rows do not see become the least.
  SmallVector<Value> masked(Value turn, ValueRange scores);
  /// Brings a turn's rows of a matrix of keys.
  void bringKeys(StagedRows &staged, Value at, Value turn, const HeadMatrix &of,
                 int64_t features) {
    staged.bring(at, keys, features, of, s.narrow(turn), fromRow, endRow);
  }
  void bringRows(StagedRows &staged, Value at, const HeadMatrix &of) {
    staged.bring(at, kRows, headDim, of, originRow, originRow, endRow);
  }
  Value hasRows() { return s.isAtLeast(firstRow, s.word(0)); }
  /// Half `half` of the lane's rows.
  Value row(int64_t half) {
    return arith::IndexCastOp::create(b, b.getIndexType(), lastKeys[half]);
  }
  /// The same after the turns. The exchange with itself keeps addresses from
  /// being computed before them, which a lane would have to keep.
  Value lateRow(int64_t half) {
    return arith::IndexCastOp::create(b, b.getIndexType(),
                                      b.exchange(lastKeys[half], 0));
  }
  /// The subgroup's rows among those of the workgroup.
  Staged own(Value at) {
    return {b.add(at, b.mul(b.team.state.subgroup,
                            b.index(kMatrixRows * StagedRows::kLine))),
            kRows};
  }

  /// Of a workgroup, at most.
  static constexpr int64_t kRows = kSubgroups * kMatrixRows;

  SubgroupAttention &s;
  TeamBuilder &b;
  int64_t headDim, keys;
  double scale;
  Value column, kvColumn, feature; ///< with the feature results begin
  Value starts;
  std::optional<int64_t> window;
  Value from, end; ///< the keys of the workgroup
  // Numbers of rows have 32 bits: with more, a lane has no registers.
  Value originRow, endRow, fromRow; ///< of the workgroup, and its first key
  Value firstRow;                   ///< of the subgroup, or -1: it has none
  Pair lastKeys;               ///< that the lane's rows see: they themselves
  Pair isThere;                ///< or the last row is, in their place
  Value firstSeen, firstOfAll; ///< keys that any of its rows sees, and each
};

} // namespace

SmallVector<Value> QueryRows::turns(
    StagedRows &staged, Value stages, int64_t stageNumbers, ValueRange state,
    function_ref<void(Value, Value)> bring,
    function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
  Value size = b.index(keys);
  auto stageOf = [&](Value turn) {
    return b.add(stages, b.mul(b.rem(b.div(turn, size), b.index(2)),
                               b.index(stageNumbers)));
  };
  Value begin = b.mul(b.div(from, size), size);
  bring(stageOf(begin), begin);
  NVVM::CpAsyncCommitGroupOp::create(b);
  return b.foldRolled(begin, end, keys, state, [&](Value turn, ValueRange had) {
    NVVM::CpAsyncWaitGroupOp::create(b, 0);
    // The copies of all are there, and nobody reads the other stage.
    mlir::gpu::BarrierOp::create(b);
    Value next = b.add(turn, size);
    b.when(b.isLess(next, end), [&] { bring(stageOf(next), next); });
    NVVM::CpAsyncCommitGroupOp::create(b);
    // Both begin at multiples of 16.
    Value isSeen = s.both(s.isAtLeast(firstRow, s.narrow(turn)),
                          s.isBelow(firstSeen, s.narrow(next)));
    auto branch = scf::IfOp::create(
        b, isSeen,
        [&](OpBuilder &, Location) {
          scf::YieldOp::create(b, body(turn, stageOf(turn), had));
        },
        [&](OpBuilder &, Location) { scf::YieldOp::create(b, had); });
    return llvm::to_vector_of<Value>(branch.getResults());
  });
}

SmallVector<Value> QueryRows::masked(Value turn, ValueRange scores) {
  Value begin = s.narrow(turn);
  Value isEdge =
      arith::OrIOp::create(b, s.isBelow(begin, firstOfAll),
                           s.isBelow(firstRow, s.addWord(begin, keys - 1)));
  auto branch = scf::IfOp::create(
      b, isEdge,
      [&](OpBuilder &, Location) {
        SmallVector<Value> left;
        Pair firstKeys = s.forBoth([&](int64_t half) {
          return s.narrow(s.firstKey(starts, row(half), window));
        });
        Value key0 = s.narrow(b.add(turn, b.mul(s.t, b.index(2))));
        for (auto [i, score] : llvm::enumerate(scores)) {
          int64_t matrix = i / kLaneSums, half = i % kLaneSums / 2;
          Value key = s.addWord(key0, matrix * kMatrixColumns + i % 2);
          left.push_back(b.select(s.both(s.isAtLeast(key, firstKeys[half]),
                                         s.isAtLeast(lastKeys[half], key)),
                                  score, s.real(-HUGE_VAL)));
        }
        scf::YieldOp::create(b, left);
      },
      [&](OpBuilder &, Location) { scf::YieldOp::create(b, scores); });
  return llvm::to_vector_of<Value>(branch.getResults());
}

void simt::lowerAttention(simt::AttentionOp op, const Team &team) {
  SubgroupAttention s(op, team);
  TeamBuilder &b = s.b;
  auto body = [&]() -> SmallVector<Value> {
    constexpr int64_t keys = kKeysOfTurn, size = kResultSums;
    QueryRows at(op, s, keys);
    HeadMatrix q{op.getQ(), at.column}, k{op.getK(), at.kvColumn},
        vPart{op.getV(), b.add(at.kvColumn, at.feature)};
    // All queries, then two stages of keys and of values.
    const int64_t rowNumbers = StagedRows::numbers(at.kRows, at.headDim),
                  keyNumbers = StagedRows::numbers(keys, at.headDim),
                  valueNumbers = StagedRows::numbers(keys, kResultFeatures),
                  stage = keyNumbers + valueNumbers;
    StagedRows staged(b, s.sharedNumbers(rowNumbers + 2 * stage));
    Value rowsAt = b.index(0);
    at.bringRows(staged, rowsAt, q);

    Value scale = s.real(at.scale * llvm::numbers::log2e);
    // Sums, then each row's largest product and its total so far.
    SmallVector<Value> state(size, s.real(0.0));
    state.append(2, s.real(-HUGE_VAL));
    state.append(2, s.real(0.0));
    state = at.turns(
        staged, b.index(rowNumbers), stage, state,
        [&](Value stageAt, Value turn) {
          at.bringKeys(staged, stageAt, turn, k, at.headDim);
          at.bringKeys(staged, b.add(stageAt, b.index(keyNumbers)), turn, vPart,
                       kResultFeatures);
        },
        [&](Value turn, Value stageAt, ValueRange before) {
          SmallVector<Value> scores =
              at.masked(turn, s.stagedDots(staged, at.own(rowsAt),
                                           {stageAt, keys}, keys, at.headDim));
          Pair maxima = {before[size], before[size + 1]};
          Pair largest = {scores[0], scores[2]};
          for (auto [i, score] : llvm::enumerate(scores)) {
            Value &most = largest[i % kLaneSums / 2];
            if (most != score)
              most = arith::MaximumFOp::create(b, most, score);
          }
          Pair factors, totals, offsets;
          for (int64_t half : {0, 1}) {
            Value old = maxima[half];
            Value most = s.join(largest[half], [&](Value x, Value y) {
              return arith::MaximumFOp::create(b, x, y).getResult();
            });
            maxima[half] = arith::MaximumFOp::create(b, old, most);
            // A row that has seen nothing has no maximum: -inf - -inf is no
            // number.
            Value hasNone = arith::CmpFOp::create(
                b, arith::CmpFPredicate::OEQ, maxima[half], s.real(-HUGE_VAL));
            Value finite = b.select(hasNone, s.real(0.0), maxima[half]);
            factors[half] = s.exp2(b.mul(b.sub(old, finite), scale));
            totals[half] = b.mul(before[size + 2 + half], factors[half]);
            offsets[half] = arith::NegFOp::create(b, b.mul(finite, scale));
          }
          for (auto [i, score] : llvm::enumerate(scores)) {
            int64_t half = i % kLaneSums / 2;
            score = s.exp2(math::FmaOp::create(b, score, scale, offsets[half]));
            totals[half] = b.add(totals[half], score);
          }
          SmallVector<Value> sums(before.take_front(size));
          for (auto [i, sum] : llvm::enumerate(sums))
            sum = b.mul(sum, factors[i % kLaneSums / 2]);
          Staged values{b.add(stageAt, b.index(keyNumbers)), keys};
          for (int64_t term = 0; term < keys; term += kMatrixTerms)
            s.addStaged(sums, s.packed(ValueRange(scores).slice(term / 2, 8)),
                        staged, values, term);
          llvm::append_range(sums, maxima);
          llvm::append_range(sums, totals);
          return sums;
        });
    ValueRange sums = ValueRange(state).take_front(size);
    b.when(at.hasRows(), [&] {
      for (int64_t half : {0, 1}) {
        Value row = at.lateRow(half);
        Value maximum = b.mul(state[size + half], s.real(at.scale));
        Value total = s.joinSum(state[size + 2 + half]);
        Value reciprocal = b.div(s.real(1.0), total);
        s.finishStaged(sums, half, {op.getY(), b.add(at.column, at.feature)},
                       row, at.isThere[half], reciprocal);
        if (!op.getNormalizer())
          continue;
        Value place = b.mul(op.getHead(), b.index(2));
        b.when(s.both(at.isThere[half],
                      s.both(b.isEqual(s.t, b.index(0)),
                             b.isEqual(op.getPart(), b.index(0)))),
               [&] {
                 b.store(maximum, op.getNormalizer(), {row, place});
                 b.store(reciprocal, op.getNormalizer(),
                         {row, b.add(place, b.index(1))});
               });
      }
    });
    return {};
  };
  b.alone({}, body);
}

void simt::lowerAttention(AttentionQueryAdjointOp op, const Team &team) {
  SubgroupAttention s(op, team);
  TeamBuilder &b = s.b;
  auto body = [&]() -> SmallVector<Value> {
    constexpr int64_t keys = kKeysOfAdjointTurn;
    QueryRows at(op, s, keys);
    HeadMatrix q{op.getQ(), at.column}, k{op.getK(), at.kvColumn},
        v{op.getV(), at.kvColumn}, y{op.getY(), at.column},
        dy{op.getDy(), at.column};
    // All queries and what is like them, then two stages of keys and values.
    const int64_t rowNumbers = StagedRows::numbers(at.kRows, at.headDim),
                  keyNumbers = StagedRows::numbers(keys, at.headDim);
    StagedRows staged(b, s.sharedNumbers(2 * rowNumbers + 4 * keyNumbers));
    Value rowsAt = b.index(0), slopesAt = b.index(rowNumbers);
    at.bringRows(staged, rowsAt, q);
    at.bringRows(staged, slopesAt, dy);

    Value place = b.mul(op.getHead(), b.index(2));
    Value scale = s.real(at.scale * llvm::numbers::log2e);
    // Of each row: what a slope is multiplied with and what is added, and the
    // logarithm of the largest weight.
    Pair factors, lessTerms, offsets;
    for (int64_t half : {0, 1}) {
      Value row = at.row(half);
      Value term = s.rowProduct(dy, y, row, at.headDim);
      Value maximum = b.load(op.getNormalizer(), {row, place});
      Value reciprocal =
          b.load(op.getNormalizer(), {row, b.add(place, b.index(1))});
      Value isOwn =
          s.both(at.isThere[half], s.both(b.isEqual(s.t, b.index(0)),
                                          b.isEqual(op.getPart(), b.index(0))));
      b.when(isOwn, [&] {
        b.store(term, op.getTerms(), {op.getHead(), row});
        b.store(maximum, op.getMaxima(), {op.getHead(), row});
        b.store(reciprocal, op.getReciprocals(), {op.getHead(), row});
      });
      factors[half] = b.mul(reciprocal, s.real(at.scale));
      lessTerms[half] = arith::NegFOp::create(b, b.mul(term, factors[half]));
      offsets[half] = arith::NegFOp::create(
          b, b.mul(maximum, s.real(llvm::numbers::log2e)));
    }
    SmallVector<Value> sums(kResultSums, s.real(0.0));
    // Where the features of the result begin in a stage of keys.
    Value partAt = b.mul(op.getPart(), b.index(keys * StagedRows::kLine));
    sums = at.turns(
        staged, b.index(2 * rowNumbers), 2 * keyNumbers, sums,
        [&](Value stageAt, Value turn) {
          at.bringKeys(staged, stageAt, turn, k, at.headDim);
          at.bringKeys(staged, b.add(stageAt, b.index(keyNumbers)), turn, v,
                       at.headDim);
        },
        [&](Value turn, Value stageAt, ValueRange before) {
          SmallVector<Value> scores =
              at.masked(turn, s.stagedDots(staged, at.own(rowsAt),
                                           {stageAt, keys}, keys, at.headDim));
          SmallVector<Value> slopes = s.stagedDots(
              staged, at.own(slopesAt),
              {b.add(stageAt, b.index(keyNumbers)), keys}, keys, at.headDim);
          for (auto [i, slope] : llvm::enumerate(slopes)) {
            int64_t half = i % kLaneSums / 2;
            Value p =
                s.exp2(math::FmaOp::create(b, scores[i], scale, offsets[half]));
            slope = b.mul(p, math::FmaOp::create(b, slope, factors[half],
                                                 lessTerms[half]));
          }
          SmallVector<Value> next(before);
          for (int64_t term = 0; term < keys; term += kMatrixTerms)
            s.addStaged(next, s.packed(ValueRange(slopes).slice(term / 2, 8)),
                        staged, {b.add(stageAt, partAt), keys}, term);
          return next;
        });
    b.when(at.hasRows(), [&] {
      for (int64_t half : {0, 1})
        s.finishStaged(sums, half, {op.getDq(), b.add(at.column, at.feature)},
                       at.lateRow(half), at.isThere[half]);
    });
    return {};
  };
  b.alone({}, body);
}

//===----------------------------------------------------------------------===//
// Rows that are keys
//===----------------------------------------------------------------------===//

static Value weightOf(SubgroupAttention &s, Value dot, Value scale,
                      Value maximum) {
  Value less = arith::NegFOp::create(s.b, maximum);
  return s.b.exp(math::FmaOp::create(s.b, dot, scale, less));
}

void simt::lowerAttention(AttentionKeyAdjointOp op, const Team &team) {
  SubgroupAttention s(op, team);
  TeamBuilder &b = s.b;
  constexpr int64_t size = kMatrixRows;
  int64_t headDim = op.getHeadDim(), group = op.getGroup();
  bool ofKeys = !op.getValues();
  Value scale = s.real(op.getScale().convertToDouble());
  auto body = [&]() -> SmallVector<Value> {
    Value first = op.getFirst(), one = b.index(1), zero = b.index(0);
    Value last = b.add(first, b.sub(op.getCount(), one));
    Value kvColumn = b.mul(op.getHead(), b.index(headDim));
    HeadMatrix k{op.getK(), kvColumn}, v{op.getV(), kvColumn};
    Pair places = s.forBoth([&](int64_t half) {
      return b.add(first, b.add(s.g, b.index(8 * half)));
    });
    Pair rows =
        s.forBoth([&](int64_t half) { return b.min(places[half], last); });
    Pair firstQueries =
        s.forBoth([&](int64_t half) { return s.narrow(rows[half]); });
    Pair lastQueries = s.forBoth([&](int64_t half) {
      return s.addWord(b.load(op.getEnds(), rows[half]), -1);
    });
    Value end = s.loadIndex(op.getEnds(), last);
    Value lastQuery = b.sub(end, one), firstBlock = b.div(first, b.index(size));
    Value subgroups = b.index(kSubgroups);

    Value feature = b.mul(op.getPart(), b.index(kResultFeatures));
    SmallVector<Value> sums(kResultSums, s.real(0.0));
    sums = b.foldRolled(
        zero, b.index(group), 1, sums, [&](Value member, ValueRange had) {
          Value head = b.add(b.mul(op.getHead(), b.index(group)), member);
          Value column = b.mul(head, b.index(headDim));
          HeadMatrix q{op.getQ(), column}, dy{op.getDy(), column};
          Value turn = b.rem(b.add(member, firstBlock), subgroups);
          Value skipped = b.rem(
              b.sub(b.add(team.state.subgroup, subgroups), turn), subgroups);
          Value from = b.mul(b.add(firstBlock, skipped), b.index(size));
          return b.foldRolled(
              from, end, size * kSubgroups, had,
              [&](Value block, ValueRange before) {
                SmallVector<Value> queries;
                for (int64_t n : {0, 8})
                  queries.push_back(s.within(
                      b.add(block, b.add(s.g, b.index(n))), first, lastQuery));
                SmallVector<Value> weights =
                    s.dots(k, rows, q, queries, headDim);
                SmallVector<Value> slopes;
                if (ofKeys)
                  slopes = s.dots(v, rows, dy, queries, headDim);
                for (int64_t n : {0, 1})
                  for (int64_t odd : {0, 1}) {
                    Value query = b.add(block, b.add(b.mul(s.t, b.index(2)),
                                                     b.index(8 * n + odd)));
                    Value known = b.min(query, lastQuery);
                    Value number = s.narrow(query);
                    auto ofQuery = [&](Value memory) {
                      return b.load(memory, {head, known});
                    };
                    Value maximum = ofQuery(op.getMaxima()),
                          reciprocal = ofQuery(op.getReciprocals()), term;
                    if (ofKeys)
                      term = ofQuery(op.getTerms());
                    for (int64_t half : {0, 1}) {
                      int64_t i = kLaneSums * n + 2 * half + odd;
                      Value seen =
                          s.both(s.isAtLeast(number, firstQueries[half]),
                                 s.isAtLeast(lastQueries[half], number));
                      Value p = b.mul(weightOf(s, weights[i], scale, maximum),
                                      reciprocal);
                      if (ofKeys)
                        p = b.mul(b.mul(p, b.sub(slopes[i], term)), scale);
                      weights[i] = b.select(seen, p, s.real(0.0));
                    }
                  }
                SmallVector<Value> next(before);
                s.addProduct(
                    next, s.packed(weights),
                    {ofKeys ? q.matrix : dy.matrix, b.add(column, feature)},
                    s.termRows(block, first, lastQuery));
                return next;
              });
        });
    sums = s.joinSubgroups(sums);
    Value isFirst = b.isEqual(team.state.subgroup, zero);
    HeadMatrix to{op.getTo(), b.add(kvColumn, feature)};
    for (int64_t half : {0, 1})
      b.when(s.both(isFirst, s.atLeast(last, places[half])),
             [&] { s.finish(sums, half, to, rows[half]); });
    return {};
  };
  b.alone({}, body);
}
