//===- AttentionLowering.cpp - Attention and its adjoint over queries -----===//
//
// See SubgroupAttention.h.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/SubgroupAttention.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::simt;

namespace {

/// The rows of a subgroup, which see keys, and the keys of its workgroup.
struct QueryRows {
  template <typename Op>
  QueryRows(Op op, SubgroupAttention &s, int64_t keys)
      : s(s), b(s.b), headDim(s.headDim), keys(keys),
        scale(op.getScale().convertToDouble()) {
    Value head = op.getHead(), width = b.index(headDim), one = b.index(1);
    column = b.mul(head, width);
    feature = b.mul(op.getPart(), b.index(s.features));
    kvColumn = b.mul(b.div(head, b.index(op.getGroup())), width);
    Value begin = op.getFirst();
    end = b.add(begin, op.getCount());
    Value last = b.sub(end, one);
    Value start = b.add(begin, b.mul(s.number, b.index(kMatrixRows)));
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
  Value row(int64_t half) { return s.wide(lastKeys[half]); }
  /// The subgroup's rows, or those of its group, among the workgroup's.
  Staged own(Value at) { return {s.leftOf(at, s.number), kRows}; }

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
    s.barrier();
    Value next = b.add(turn, size);
    b.when(b.isLess(next, end), [&] { bring(stageOf(next), next); });
    NVVM::CpAsyncCommitGroupOp::create(b);
    // All subgroups multiply together: keys that none of a subgroup's rows sees
    // have weights of zero.
    if (s.byGroups)
      return body(turn, stageOf(turn), had);
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
  return s.masked(isEdge, begin, scores, [&] {
    Pair firstKeys = s.forBoth([&](int64_t half) {
      return s.narrow(s.firstKey(starts, row(half), window));
    });
    return std::pair(firstKeys, lastKeys);
  });
}

namespace {

/// A turn of an online softmax (Milakov and Gimelshein 2018): the factor of
/// each row's sums before the turn's `weights` add to them, and its largest
/// product and total then.
struct SoftmaxTurn {
  Pair factors, maxima, totals;
  SmallVector<Value> weights;
};

} // namespace

/// `maxima` and `totals` are those before; products times `scale` are powers of
/// two.
static SoftmaxTurn weigh(SubgroupAttention &s, Value scale,
                         SmallVector<Value> scores, Pair maxima, Pair totals) {
  TeamBuilder &b = s.b;
  auto greater = [&](Value x, Value y) -> Value {
    return arith::MaximumFOp::create(b, x, y);
  };
  auto largest = llvm::to_vector(ArrayRef(scores).take_front(kLaneSums));
  for (size_t i = kLaneSums; i < scores.size(); ++i) {
    Value &most = largest[i % kLaneSums];
    most = greater(most, scores[i]);
  }
  Pair factors, offsets;
  for (int64_t half : {0, 1}) {
    Value old = maxima[half];
    Value most =
        s.join(greater(largest[2 * half], largest[2 * half + 1]), greater);
    maxima[half] = arith::MaximumFOp::create(b, old, most);
    // A row that has seen nothing has no maximum: -inf - -inf is no number.
    Value hasNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                          maxima[half], s.real(-HUGE_VAL));
    Value finite = b.select(hasNone, s.real(0.0), maxima[half]);
    factors[half] = s.exp2(b.mul(b.sub(old, finite), scale));
    totals[half] = b.mul(totals[half], factors[half]);
    offsets[half] = arith::NegFOp::create(b, b.mul(finite, scale));
  }
  for (auto [i, score] : llvm::enumerate(scores)) {
    int64_t half = i % kLaneSums / 2;
    score = s.exp2(math::FmaOp::create(b, score, scale, offsets[half]));
    totals[half] = b.add(totals[half], score);
  }
  return {factors, maxima, totals, std::move(scores)};
}

/// Stores the results of all turns: `sums`, over each row's total, and the
/// normalizer.
static void storeRows(simt::AttentionOp op, SubgroupAttention &s, QueryRows &at,
                      ValueRange sums, ValueRange maxima, ValueRange totals) {
  TeamBuilder &b = s.b;
  for (int64_t half : {0, 1}) {
    Value row = s.lateIndex(at.lastKeys[half]);
    Value maximum = b.mul(maxima[half], s.real(at.scale));
    Value total = s.joinSum(totals[half]);
    Value reciprocal = b.div(s.real(1.0), total);
    s.finish(sums, half, {op.getY(), b.add(at.column, at.feature)}, row,
             at.isThere[half], reciprocal);
    if (!op.getNormalizer())
      continue;
    Value place = b.mul(op.getHead(), b.index(2));
    b.when(
        s.both(at.isThere[half], s.both(b.isEqual(s.t, b.index(0)),
                                        b.isEqual(op.getPart(), b.index(0)))),
        [&] {
          b.store(maximum, op.getNormalizer(), {row, place});
          b.store(reciprocal, op.getNormalizer(),
                  {row, b.add(place, b.index(1))});
        });
  }
}

void simt::lowerAttention(simt::AttentionOp op, const Team &team) {
  SubgroupAttention s(op, team);
  TeamBuilder &b = s.b;
  auto body = [&]() -> SmallVector<Value> {
    const int64_t size = s.resultSums();
    const int64_t keys = keysOfTurn(s.headDim, s.byGroups);
    QueryRows at(op, s, keys);
    HeadMatrix q{op.getQ(), at.column}, k{op.getK(), at.kvColumn},
        vPart{op.getV(), b.add(at.kvColumn, at.feature)};
    // All queries, then two stages of keys and of values.
    const int64_t rowNumbers = StagedRows::numbers(at.kRows, at.headDim),
                  keyNumbers = StagedRows::numbers(keys, at.headDim),
                  valueNumbers = StagedRows::numbers(keys, s.features),
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
                       s.features);
        },
        [&](Value turn, Value stageAt, ValueRange before) {
          SmallVector<Value> scores = at.masked(
              turn, s.dots(staged, {{at.own(rowsAt), {stageAt, keys}}}, keys)
                        .front());
          SoftmaxTurn next = weigh(s, scale, std::move(scores),
                                   {before[size], before[size + 1]},
                                   {before[size + 2], before[size + 3]});
          SmallVector<Value> sums(before.take_front(size));
          for (auto [i, sum] : llvm::enumerate(sums))
            sum = b.mul(sum, next.factors[i % kLaneSums / 2]);
          Staged values{b.add(stageAt, b.index(keyNumbers)), keys};
          s.addProducts(sums, staged, {{next.weights, values}});
          llvm::append_range(sums, next.maxima);
          llvm::append_range(sums, next.totals);
          return sums;
        });
    b.when(at.hasRows(), [&] {
      ValueRange all = state;
      storeRows(op, s, at, all.take_front(size), all.slice(size, 2),
                all.take_back(2));
    });
    return {};
  };
  b.alone({}, body);
}

namespace {

/// Of each row: the factor of a slope and the term that is added, and the
/// logarithm of the largest weight.
struct SlopeTerms {
  Pair factors, lessTerms, offsets;
};

} // namespace

/// Also stores the numbers of each row that the adjoint over keys reads.
static SlopeTerms slopeTerms(AttentionQueryAdjointOp op, SubgroupAttention &s,
                             QueryRows &at) {
  TeamBuilder &b = s.b;
  HeadMatrix y{op.getY(), at.column}, dy{op.getDy(), at.column};
  Value place = b.mul(op.getHead(), b.index(2));
  SlopeTerms terms;
  for (int64_t half : {0, 1}) {
    Value row = at.row(half);
    Value term = s.rowProduct(dy, y, row);
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
    Value factor = b.mul(reciprocal, s.real(at.scale));
    terms.factors[half] = factor;
    terms.lessTerms[half] = arith::NegFOp::create(b, b.mul(term, factor));
    terms.offsets[half] =
        arith::NegFOp::create(b, b.mul(maximum, s.real(llvm::numbers::log2e)));
  }
  return terms;
}

void simt::lowerAttention(AttentionQueryAdjointOp op, const Team &team) {
  SubgroupAttention s(op, team);
  TeamBuilder &b = s.b;
  auto body = [&]() -> SmallVector<Value> {
    constexpr int64_t keys = kKeysOfAdjointTurn;
    QueryRows at(op, s, keys);
    HeadMatrix q{op.getQ(), at.column}, k{op.getK(), at.kvColumn},
        v{op.getV(), at.kvColumn}, dy{op.getDy(), at.column};
    // All queries and matrices like them, then two stages of keys and values.
    const int64_t rowNumbers = StagedRows::numbers(at.kRows, at.headDim),
                  keyNumbers = StagedRows::numbers(keys, at.headDim);
    StagedRows staged(b, s.sharedNumbers(2 * rowNumbers + 4 * keyNumbers));
    Value rowsAt = b.index(0), slopesAt = b.index(rowNumbers);
    at.bringRows(staged, rowsAt, q);
    at.bringRows(staged, slopesAt, dy);

    Value scale = s.real(at.scale * llvm::numbers::log2e);
    const SlopeTerms terms = slopeTerms(op, s, at);
    SmallVector<Value> sums(s.resultSums(), s.real(0.0));
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
          Staged values{b.add(stageAt, b.index(keyNumbers)), keys};
          auto products = s.dots(
              staged,
              {{at.own(rowsAt), {stageAt, keys}}, {at.own(slopesAt), values}},
              keys);
          SmallVector<Value> scores = at.masked(turn, products[0]);
          SmallVector<Value> slopes = products[1];
          for (auto [i, slope] : llvm::enumerate(slopes)) {
            int64_t half = i % kLaneSums / 2;
            Value p = s.exp2(
                math::FmaOp::create(b, scores[i], scale, terms.offsets[half]));
            slope = b.mul(p, math::FmaOp::create(b, slope, terms.factors[half],
                                                 terms.lessTerms[half]));
          }
          SmallVector<Value> next(before);
          Staged part{b.add(stageAt, partAt), keys};
          s.addProducts(next, staged, {{slopes, part}});
          return next;
        });
    b.when(at.hasRows(), [&] {
      for (int64_t half : {0, 1})
        s.finish(sums, half, {op.getDq(), b.add(at.column, at.feature)},
                 s.lateIndex(at.lastKeys[half]), at.isThere[half]);
    });
    return {};
  };
  b.alone({}, body);
}
