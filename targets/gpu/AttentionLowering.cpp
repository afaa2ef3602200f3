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
#include "targets/gpu/SubgroupProducts.h"
#include "targets/gpu/TileShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

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

/// A matrix and the column where a head begins.
struct HeadMatrix {
  Value matrix, column;
};

class SubgroupAttention {
public:
  SubgroupAttention(Operation *op, const Team &team)
      : subgroup{team.state, /*isSubgroup=*/true}, b(op, subgroup),
        g(b.div(team.state.lane, b.index(4))),
        t(b.rem(team.state.lane, b.index(4))), f32(b.getF32Type()) {}

  Value real(double value) { return b.real(f32, value); }
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
  Value word(int64_t value) {
    return arith::ConstantIntOp::create(b, value, 32);
  }
  /// Two floats as bfloat16 in a word.
  Value pack(Value low, Value high);
  /// The low or high halves of two words.
  Value halves(Value low, Value high, bool isHigh);

public:
  /// The products of the numbers in two rows, joined.
  Value rowProduct(const HeadMatrix &x, const HeadMatrix &y, Value row,
                   int64_t headDim);
};

} // namespace

Value SubgroupAttention::pack(Value low, Value high) {
  auto bits = [&](Value x) {
    Value narrow = arith::TruncFOp::create(b, b.getBF16Type(), x);
    Value half = arith::BitcastOp::create(b, b.getI16Type(), narrow);
    return arith::ExtUIOp::create(b, b.getI32Type(), half).getResult();
  };
  return arith::OrIOp::create(b, bits(low),
                              arith::ShLIOp::create(b, bits(high), word(16)));
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

/// The rows of a subgroup, which see keys.
struct QueryRows {
  template <typename Op>
  QueryRows(Op op, SubgroupAttention &s)
      : headDim(op.getHeadDim()),
        scale(s.real(op.getScale().convertToDouble())) {
    TeamBuilder &b = s.b;
    Value head = op.getHead(), width = b.index(headDim);
    column = b.mul(head, width);
    feature = b.mul(op.getPart(), b.index(kResultFeatures));
    kvColumn = b.mul(b.div(head, b.index(op.getGroup())), width);
    first = b.add(op.getFirst(),
                  b.mul(b.team.state.subgroup, b.index(kMatrixRows)));
    Value end = b.add(op.getFirst(), op.getCount());
    hasRows = b.isLess(first, end);
    last =
        b.min(b.add(first, b.index(kMatrixRows - 1)), b.sub(end, b.index(1)));
    places = s.forBoth([&](int64_t half) {
      return b.add(first, b.add(s.g, b.index(8 * half)));
    });
    rows = s.forBoth([&](int64_t half) { return b.min(places[half], last); });
  }

  /// To be called where there are rows.
  void begin(SubgroupAttention &s, Value starts,
             std::optional<int64_t> window) {
    firstKeys = s.forBoth([&](int64_t half) {
      return s.narrow(s.firstKey(starts, rows[half], window));
    });
    lastKeys = s.forBoth([&](int64_t half) { return s.narrow(rows[half]); });
    from = s.firstKey(starts, first, window);
    end = s.b.add(last, s.b.index(1));
  }
  /// The keys that a turn from `turn` on looks at, as rows of scores.
  SmallVector<Value> keysOf(SubgroupAttention &s, Value turn,
                            int64_t keys) const {
    SmallVector<Value> found;
    for (int64_t n = 0; n < keys; n += kMatrixColumns)
      found.push_back(
          s.within(s.b.add(turn, s.b.add(s.g, s.b.index(n))), from, last));
    return found;
  }
  /// Calls body(number, half, isSeen) for each score of the lane in a turn.
  void forEachScore(SubgroupAttention &s, Value turn, int64_t keys,
                    function_ref<void(int64_t, int64_t, Value)> body) const {
    TeamBuilder &b = s.b;
    Value begin = s.narrow(b.add(turn, b.mul(s.t, b.index(2))));
    for (int64_t n = 0; n < keys / kMatrixColumns; ++n)
      for (int64_t i = 0; i < kLaneSums; ++i) {
        Value key = s.addWord(begin, n * kMatrixColumns + i % 2);
        int64_t half = i / 2;
        body(n * kLaneSums + i, half,
             s.both(s.isAtLeast(key, firstKeys[half]),
                    s.isAtLeast(lastKeys[half], key)));
      }
  }
  Value begins(SubgroupAttention &s, int64_t keys) const {
    return s.b.mul(s.b.div(from, s.b.index(keys)), s.b.index(keys));
  }

  int64_t headDim;
  Value scale, column, kvColumn, first, last, hasRows;
  Value feature;     ///< of the head, with which results begin
  Pair places, rows; ///< where they would be, and the nearest that is there
  Pair firstKeys, lastKeys; ///< that they see, narrow
  Value from, end;          ///< keys that any of them sees
};

} // namespace

static Value weightOf(SubgroupAttention &s, Value dot, Value scale,
                      Value maximum) {
  Value less = arith::NegFOp::create(s.b, maximum);
  return s.b.exp(math::FmaOp::create(s.b, dot, scale, less));
}

void simt::lowerAttention(simt::AttentionOp op, const Team &team) {
  SubgroupAttention s(op, team);
  TeamBuilder &b = s.b;
  auto body = [&]() -> SmallVector<Value> {
    QueryRows at(op, s);
    HeadMatrix q{op.getQ(), at.column}, k{op.getK(), at.kvColumn},
        vPart{op.getV(), b.add(at.kvColumn, at.feature)};
    b.when(at.hasRows, [&] {
      at.begin(s, op.getStarts(), op.getWindow());
      constexpr int64_t size = kResultSums;
      // Sums, then each row's maximum and total so far.
      SmallVector<Value> state(size, s.real(0.0));
      state.append(2, s.real(-HUGE_VAL));
      state.append(2, s.real(0.0));
      state = b.foldRolled(
          at.begins(s, kKeysOfTurn), at.end, kKeysOfTurn, state,
          [&](Value turn, ValueRange before) {
            SmallVector<Value> scores = s.dots(
                q, at.rows, k, at.keysOf(s, turn, kKeysOfTurn), at.headDim);
            Pair maxima = {s.real(-HUGE_VAL), s.real(-HUGE_VAL)};
            at.forEachScore(
                s, turn, kKeysOfTurn, [&](int64_t i, int64_t half, Value seen) {
                  Value score = b.select(seen, b.mul(scores[i], at.scale),
                                         s.real(-HUGE_VAL));
                  maxima[half] =
                      arith::MaximumFOp::create(b, maxima[half], score);
                });
            Pair factors, totals;
            for (int64_t half : {0, 1}) {
              Value old = before[size + half];
              Value most = s.join(maxima[half], [&](Value x, Value y) {
                return arith::MaximumFOp::create(b, x, y).getResult();
              });
              maxima[half] = arith::MaximumFOp::create(b, old, most);
              // A row that has seen nothing has no maximum: -inf - -inf is no
              // number.
              Value same = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                                 old, maxima[half]);
              factors[half] =
                  b.select(same, s.real(1.0), b.exp(b.sub(old, maxima[half])));
              totals[half] = b.mul(before[size + 2 + half], factors[half]);
            }
            at.forEachScore(
                s, turn, kKeysOfTurn, [&](int64_t i, int64_t half, Value seen) {
                  Value weight = weightOf(s, scores[i], at.scale, maxima[half]);
                  scores[i] = b.select(seen, weight, s.real(0.0));
                  totals[half] = b.add(totals[half], scores[i]);
                });
            SmallVector<Value> sums(before.take_front(size));
            for (auto [i, sum] : llvm::enumerate(sums))
              sum = b.mul(sum, factors[i % kLaneSums / 2]);
            for (int64_t term = 0; term < kKeysOfTurn; term += kMatrixTerms) {
              ValueRange part = ValueRange(scores).slice(term / 2, 8);
              s.addProduct(
                  sums, s.packed(part), vPart,
                  s.termRows(b.add(turn, b.index(term)), at.from, at.last));
            }
            llvm::append_range(sums, maxima);
            llvm::append_range(sums, totals);
            return sums;
          });
      ValueRange sums = ValueRange(state).take_front(size);
      for (int64_t half : {0, 1}) {
        Value maximum = state[size + half];
        Value total = s.joinSum(state[size + 2 + half]);
        Value reciprocal = b.div(s.real(1.0), total);
        Value isThere = s.atLeast(at.last, at.places[half]);
        b.when(isThere, [&] {
          s.finish(sums, half, {op.getY(), b.add(at.column, at.feature)},
                   at.rows[half], reciprocal);
          if (!op.getNormalizer())
            return;
          Value place = b.mul(op.getHead(), b.index(2));
          b.when(s.both(b.isEqual(s.t, b.index(0)),
                        b.isEqual(op.getPart(), b.index(0))),
                 [&] {
                   b.store(maximum, op.getNormalizer(), {at.rows[half], place});
                   b.store(reciprocal, op.getNormalizer(),
                           {at.rows[half], b.add(place, b.index(1))});
                 });
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
    QueryRows at(op, s);
    HeadMatrix q{op.getQ(), at.column}, k{op.getK(), at.kvColumn},
        v{op.getV(), at.kvColumn}, y{op.getY(), at.column},
        dy{op.getDy(), at.column},
        kPart{op.getK(), b.add(at.kvColumn, at.feature)};
    constexpr int64_t keys = kKeysOfTurn;
    b.when(at.hasRows, [&] {
      at.begin(s, op.getStarts(), op.getWindow());
      Value place = b.mul(op.getHead(), b.index(2));
      Pair terms, maxima, reciprocals;
      for (int64_t half : {0, 1}) {
        Value row = at.rows[half];
        terms[half] = s.rowProduct(dy, y, row, at.headDim);
        maxima[half] = b.load(op.getNormalizer(), {row, place});
        reciprocals[half] =
            b.load(op.getNormalizer(), {row, b.add(place, b.index(1))});
        Value isOwn = s.both(s.atLeast(at.last, at.places[half]),
                             s.both(b.isEqual(s.t, b.index(0)),
                                    b.isEqual(op.getPart(), b.index(0))));
        b.when(isOwn, [&] {
          b.store(terms[half], op.getTerms(), {op.getHead(), row});
          b.store(maxima[half], op.getMaxima(), {op.getHead(), row});
          b.store(reciprocals[half], op.getReciprocals(), {op.getHead(), row});
        });
      }
      SmallVector<Value> sums(kResultSums, s.real(0.0));
      sums = b.foldRolled(
          at.begins(s, keys), at.end, keys, sums,
          [&](Value turn, ValueRange before) {
            SmallVector<Value> rows = at.keysOf(s, turn, keys);
            SmallVector<Value> scores = s.dots(q, at.rows, k, rows, at.headDim);
            SmallVector<Value> slopes =
                s.dots(dy, at.rows, v, rows, at.headDim);
            at.forEachScore(
                s, turn, keys, [&](int64_t i, int64_t half, Value seen) {
                  Value p =
                      b.mul(weightOf(s, scores[i], at.scale, maxima[half]),
                            reciprocals[half]);
                  Value ds = b.mul(p, b.sub(slopes[i], terms[half]));
                  slopes[i] = b.select(seen, b.mul(ds, at.scale), s.real(0.0));
                });
            SmallVector<Value> next(before);
            for (int64_t term = 0; term < keys; term += kMatrixTerms) {
              ValueRange part = ValueRange(slopes).slice(term / 2, 8);
              s.addProduct(
                  next, s.packed(part), kPart,
                  s.termRows(b.add(turn, b.index(term)), at.from, at.last));
            }
            return next;
          });
      for (int64_t half : {0, 1})
        b.when(s.atLeast(at.last, at.places[half]), [&] {
          s.finish(sums, half, {op.getDq(), b.add(at.column, at.feature)},
                   at.rows[half]);
        });
    });
    return {};
  };
  b.alone({}, body);
}

//===----------------------------------------------------------------------===//
// Rows that are keys
//===----------------------------------------------------------------------===//

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
