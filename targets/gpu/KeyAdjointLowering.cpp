//===- KeyAdjointLowering.cpp - Attention's adjoint over keys -------------===//
//
// See SubgroupAttention.h.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/SubgroupAttention.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hone;
using namespace hone::simt;

namespace {

/// The rows of a subgroup, which are seen by queries. As many subgroups share
/// them as there are for each 16 rows of the workgroup: each has 16 or 32 of a
/// turn's queries.
struct KeyRows {
  KeyRows(AttentionKeyAdjointOp op, SubgroupAttention &s)
      : s(s), b(s.b), headDim(s.headDim), rows(op.getRows()),
        blocks(rows / kMatrixRows), each(queriesOfTurn(s.byGroups)),
        queries(kSubgroups / blocks * each), ends(op.getEnds()) {
    Value one = b.index(1);
    block = b.rem(s.number, b.index(blocks));
    share = b.div(s.number, b.index(blocks));
    Value begin = op.getFirst();
    Value last = b.add(begin, b.sub(op.getCount(), one));
    Value start = b.add(begin, b.mul(block, b.index(kMatrixRows)));
    Value first = b.min(start, last);
    Value final = b.min(b.add(start, b.index(kMatrixRows - 1)), last);
    beginRow = s.narrow(begin);
    endRow = s.narrow(last);
    firstRow = s.narrow(start);
    finalRow = s.narrow(final);
    for (int64_t half : {0, 1}) {
      Value place = s.addWord(arith::AddIOp::create(b, firstRow, s.narrow(s.g)),
                              8 * half);
      isThere[half] = s.isAtLeast(endRow, place);
      keys[half] = arith::MinSIOp::create(b, place, endRow);
    }
    from = b.mul(b.div(begin, b.index(queries)), b.index(queries));
    end = s.loadIndex(ends, last);
    lastQuery = s.narrow(b.sub(end, one));
    // Later rows end later.
    lastSeen = b.select(b.isLess(last, start), s.word(-1), lastOf(final));
    lastOfAll = lastOf(first);
  }

  Value lastOf(Value row) { return s.addWord(b.load(ends, row), -1); }
  Value hasRows() { return s.isAtLeast(endRow, firstRow); }
  /// The first of the subgroup's queries of a turn.
  Value queryOf(Value turn) {
    return arith::AddIOp::create(b, turn,
                                 s.narrow(b.mul(share, b.index(each))));
  }
  Value isSeen(Value query) {
    // Both begin at multiples of 16.
    return s.both(s.isAtLeast(query, firstRow), s.isAtLeast(lastSeen, query));
  }
  /// Scores of queries that do not see their row become the least.
  SmallVector<Value> masked(Value query, ValueRange scores);
  /// The subgroup's rows, and queries, of the stage that begins at number `at`.
  Staged ownKeys(Value at) { return {s.leftOf(at, block), stagedRows()}; }
  Staged ownQueries(Value at) {
    return {b.add(at, b.mul(share, b.index(each * StagedRows::kLine))),
            queries};
  }
  int64_t stagedRows() const { return std::max(rows, StagedRows::kLeastRows); }
  void bringRows(StagedRows &staged, Value at, const HeadMatrix &of) {
    staged.bring(at, stagedRows(), headDim, of, beginRow, beginRow, endRow);
  }
  void bringQueries(StagedRows &staged, Value at, Value turn,
                    const HeadMatrix &of) {
    staged.bring(at, queries, headDim, of, turn, beginRow, lastQuery);
  }

  SubgroupAttention &s;
  TeamBuilder &b;
  const int64_t headDim, rows, blocks;
  const int64_t each, queries; ///< of a turn: of a subgroup, and all
  Value ends, block, share;
  Value from, end; ///< the queries of the workgroup
  // Narrow.
  Value beginRow, endRow, lastQuery; ///< of the workgroup
  Value firstRow, finalRow;          ///< of the subgroup
  Pair keys, isThere; ///< the lane's rows, or the last one in their place
  Value lastSeen, lastOfAll; ///< queries that see any of its rows, and each
};

} // namespace

SmallVector<Value> KeyRows::masked(Value query, ValueRange scores) {
  Value isEdge =
      arith::OrIOp::create(b, s.isBelow(query, finalRow),
                           s.isBelow(lastOfAll, s.addWord(query, each - 1)));
  return s.masked(isEdge, query, scores, [&] {
    // Late, since turns that are no edge have no registers for addresses.
    Pair lastQueries = s.forBoth(
        [&](int64_t half) { return lastOf(s.lateIndex(keys[half])); });
    return std::pair(keys, lastQueries);
  });
}

namespace {

/// The adjoint of a key head over its rows, and the features of one part of the
/// result: the workgroup's state and its steps.
class KeyAdjoint {
public:
  /// Brings the rows of keys and of values.
  KeyAdjoint(AttentionKeyAdjointOp op, SubgroupAttention &s);

  /// Goes over heads of the group, and turns of each, as one loop: the next
  /// turn's copies are under way even if it has another head. Returns the
  /// subgroup's sums of keys, then of values.
  SmallVector<Value> sumTurns();
  /// Adds up the sums of subgroups that share their rows, and stores them.
  void finish(ValueRange ofSubgroup);

private:
  /// Terms that all keys of a query share: the term added to a weight's
  /// logarithm, the weight's factor, and the term added to a slope.
  enum Term { Offset, Reciprocal, LessTerm };
  static constexpr int64_t kTerms = 3;
  using QueryTerms = std::array<Value, kTerms>;
  QueryTerms termsOf(Value head, Value query);

  /// By column of a lane's scores. With groups they are in shared memory, a
  /// stage of them for each of queries: a lane has no registers for them beside
  /// products.
  SmallVector<QueryTerms> columnTerms(Value head, Value query);
  SmallVector<QueryTerms> stagedColumnTerms(Value number);
  static size_t columnOf(size_t score) {
    return score / kLaneSums * 2 + score % 2;
  }
  /// A thread's query of a turn, if there is one for it.
  SmallVector<Value> loadTerms(Value isWanted, Value head, Value turn);
  void storeTerms(Value number, ValueRange terms);
  Value hasQuery() {
    return b.isLess(b.team.state.thread, b.index(at.queries));
  }
  Value stageOf(Value number) {
    return b.add(b.index(2 * rowNumbers),
                 b.mul(b.rem(number, b.index(2)), b.index(2 * queryNumbers)));
  }
  /// Brings a turn's queries and matrices like them into a stage.
  void bring(Value stage, Value head, Value turn);
  /// The sums with those of the subgroup's queries from `query` on, which are
  /// in a stage.
  SmallVector<Value> addQueries(Value number, Value head, Value query,
                                ValueRange before);

  AttentionKeyAdjointOp op;
  SubgroupAttention &s;
  TeamBuilder &b;
  KeyRows at;
  const Value kvColumn;
  // Rows of keys and of values, then two stages of queries and of matrices like
  // them.
  const int64_t rowNumbers, queryNumbers;
  StagedRows staged;
  Value stagedTerms;
  const Value keysAt, valuesAt;
  const double scale;
  Value logScale;
  Value partAt; ///< where the features of the result begin in a stage
};

} // namespace

KeyAdjoint::KeyAdjoint(AttentionKeyAdjointOp op, SubgroupAttention &s)
    : op(op), s(s), b(s.b), at(op, s),
      kvColumn(b.mul(op.getHead(), b.index(at.headDim))),
      rowNumbers(StagedRows::numbers(at.stagedRows(), at.headDim)),
      queryNumbers(StagedRows::numbers(at.queries, at.headDim)),
      staged(b, s.sharedNumbers(2 * rowNumbers + 4 * queryNumbers)),
      keysAt(b.index(0)), valuesAt(b.index(rowNumbers)),
      scale(op.getScale().convertToDouble()) {
  at.bringRows(staged, keysAt, {op.getK(), kvColumn});
  at.bringRows(staged, valuesAt, {op.getV(), kvColumn});
  logScale = s.real(scale * llvm::numbers::log2e);
  partAt = b.mul(op.getPart(), b.index(at.queries * StagedRows::kLine));
  if (s.byGroups)
    stagedTerms = s.sharedFloats({2, kTerms, at.queries},
                                 2 * (2 * rowNumbers + 4 * queryNumbers));
}

void KeyAdjoint::bring(Value stage, Value number, Value turn) {
  Value head = s.wide(number);
  Value column = b.mul(head, b.index(at.headDim));
  at.bringQueries(staged, stage, turn, {op.getQ(), column});
  at.bringQueries(staged, b.add(stage, b.index(queryNumbers)), turn,
                  {op.getDy(), column});
}

KeyAdjoint::QueryTerms KeyAdjoint::termsOf(Value head, Value query) {
  Value known = s.wide(arith::MinSIOp::create(b, query, at.lastQuery));
  auto ofQuery = [&](Value memory) { return b.load(memory, {head, known}); };
  QueryTerms terms;
  terms[Offset] = b.mul(ofQuery(op.getMaxima()), s.real(-llvm::numbers::log2e));
  terms[Reciprocal] = ofQuery(op.getReciprocals());
  terms[LessTerm] = b.mul(ofQuery(op.getTerms()), s.real(-scale));
  return terms;
}

SmallVector<KeyAdjoint::QueryTerms> KeyAdjoint::columnTerms(Value head,
                                                            Value query) {
  SmallVector<QueryTerms> terms;
  for (int64_t column = 0; column < at.each / 4; ++column)
    terms.push_back(
        termsOf(head, s.columnOf(query, column / 2 * kLaneSums + column % 2)));
  return terms;
}

SmallVector<KeyAdjoint::QueryTerms>
KeyAdjoint::stagedColumnTerms(Value number) {
  Value slot = b.rem(number, b.index(2)),
        first = b.add(b.mul(at.share, b.index(at.each)), s.twoT);
  SmallVector<QueryTerms> terms;
  for (int64_t column = 0; column < at.each / 4; ++column) {
    Value query =
        b.add(first, b.index(column / 2 * kMatrixColumns + column % 2));
    QueryTerms &ofQuery = terms.emplace_back();
    for (int64_t term = 0; term < kTerms; ++term)
      ofQuery[term] = b.load(stagedTerms, {slot, b.index(term), query});
  }
  return terms;
}

SmallVector<Value> KeyAdjoint::loadTerms(Value isWanted, Value head,
                                         Value turn) {
  auto branch = scf::IfOp::create(
      b, s.both(isWanted, hasQuery()),
      [&](OpBuilder &, Location) {
        Value query =
            arith::AddIOp::create(b, turn, s.narrow(b.team.state.thread));
        scf::YieldOp::create(b, ValueRange(termsOf(s.wide(head), query)));
      },
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, SmallVector<Value>(kTerms, s.real(0.0)));
      });
  return llvm::to_vector_of<Value>(branch.getResults());
}

void KeyAdjoint::storeTerms(Value number, ValueRange terms) {
  b.when(hasQuery(), [&] {
    for (auto [term, value] : llvm::enumerate(terms))
      b.store(value, stagedTerms,
              {b.rem(number, b.index(2)), b.index(int64_t(term)),
               b.team.state.thread});
  });
}

SmallVector<Value> KeyAdjoint::addQueries(Value number, Value head, Value query,
                                          ValueRange before) {
  SmallVector<QueryTerms> terms;
  if (!s.byGroups)
    terms = columnTerms(head, query);
  Value stage = stageOf(number);
  Staged queries = at.ownQueries(stage),
         like = at.ownQueries(b.add(stage, b.index(queryNumbers)));
  auto slopesOf = [&] { return StagedDots{at.ownKeys(valuesAt), like}; };
  // A group multiplies both at once; a subgroup keeps few in registers.
  SmallVector<StagedDots> first = {{at.ownKeys(keysAt), queries}};
  if (s.byGroups)
    first.push_back(slopesOf());
  auto products = s.dots(staged, first, at.each);
  SmallVector<Value> weights = at.masked(query, products[0]);
  if (s.byGroups)
    terms = stagedColumnTerms(number);
  for (auto [i, weight] : llvm::enumerate(weights)) {
    const QueryTerms &ofQuery = terms[columnOf(i)];
    weight =
        b.mul(s.exp2(math::FmaOp::create(b, weight, logScale, ofQuery[Offset])),
              ofQuery[Reciprocal]);
  }
  SmallVector<Value> slopes =
      s.byGroups ? products[1] : s.dots(staged, {slopesOf()}, at.each).front();
  for (auto [i, slope] : llvm::enumerate(slopes))
    slope =
        b.mul(weights[i], math::FmaOp::create(b, slope, s.real(scale),
                                              terms[columnOf(i)][LessTerm]));
  SmallVector<Value> sums(before);
  queries.at = b.add(queries.at, partAt);
  like.at = b.add(like.at, partAt);
  s.addProducts(sums, staged, {{slopes, queries}, {weights, like}});
  return sums;
}

SmallVector<Value> KeyAdjoint::sumTurns() {
  Value zero = b.index(0), one = b.index(1);
  int64_t group = op.getGroup();
  Value firstHead = b.mul(op.getHead(), b.index(group));
  Value turns =
      b.mul(b.ceilDiv(b.sub(at.end, at.from), at.queries), b.index(group));
  Value firstNumber = s.narrow(firstHead), from = s.narrow(at.from);
  bring(stageOf(zero), firstNumber, from);
  if (s.byGroups)
    storeTerms(zero, loadTerms(b.isLess(zero, turns), firstNumber, from));
  NVVM::CpAsyncCommitGroupOp::create(b);
  // Sums are carried beside the head and the turn, which are narrow.
  SmallVector<Value> state(2 * s.resultSums(), s.real(0.0));
  state.append({firstNumber, from});
  state =
      b.foldRolled(zero, turns, 1, state, [&](Value number, ValueRange before) {
        Value head = before[before.size() - 2], turn = before.back();
        Value later = s.addWord(turn, at.queries);
        Value isSame = s.isAtLeast(at.lastQuery, later);
        Value nextTurn = b.select(isSame, later, from);
        Value nextHead = b.select(isSame, head, s.addWord(head, 1));
        NVVM::CpAsyncWaitGroupOp::create(b, 0);
        // The copies of all are there, and nobody reads the other stage.
        s.barrier();
        Value next = b.add(number, one);
        b.when(b.isLess(next, turns),
               [&] { bring(stageOf(next), nextHead, nextTurn); });
        NVVM::CpAsyncCommitGroupOp::create(b);
        Value query = at.queryOf(turn);
        ValueRange sums = before.drop_back(2);
        auto added = [&] {
          return addQueries(number, s.wide(head), query, sums);
        };
        // All subgroups multiply together: weights of queries that see none of
        // its rows are zero.
        if (s.byGroups) {
          SmallVector<Value> terms =
              loadTerms(b.isLess(next, turns), nextHead, nextTurn);
          SmallVector<Value> after = added();
          storeTerms(next, terms);
          after.append({nextHead, nextTurn});
          return after;
        }
        auto branch = scf::IfOp::create(
            b, at.isSeen(query),
            [&](OpBuilder &, Location) { scf::YieldOp::create(b, added()); },
            [&](OpBuilder &, Location) { scf::YieldOp::create(b, sums); });
        auto after = llvm::to_vector_of<Value>(branch.getResults());
        after.append({nextHead, nextTurn});
        return after;
      });
  state.pop_back_n(2);
  return state;
}

void KeyAdjoint::finish(ValueRange ofSubgroup) {
  SmallVector<Value> sums = s.joinSubgroups(ofSubgroup, at.blocks);
  b.when(s.both(b.isEqual(at.share, b.index(0)), at.hasRows()), [&] {
    Value column = b.add(kvColumn, b.mul(op.getPart(), b.index(s.features)));
    for (int64_t half : {0, 1}) {
      Value row = s.lateIndex(at.keys[half]);
      s.finish(ValueRange(sums).take_front(s.resultSums()), half,
               {op.getDk(), column}, row, at.isThere[half]);
      s.finish(ValueRange(sums).drop_front(s.resultSums()), half,
               {op.getDv(), column}, row, at.isThere[half]);
    }
  });
}

void simt::lowerAttention(AttentionKeyAdjointOp op, const Team &team) {
  SubgroupAttention s(op, team);
  s.b.alone({}, [&]() -> SmallVector<Value> {
    KeyAdjoint adjoint(op, s);
    adjoint.finish(adjoint.sumTurns());
    return {};
  });
}
