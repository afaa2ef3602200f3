//===- SubgroupAttention.cpp - Attention's numbers in registers -----------===//

#include "targets/gpu/SubgroupAttention.h"

#include "targets/gpu/ProductLowering.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::simt;

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

Value SubgroupAttention::leftOf(Value at, Value block) {
  int64_t blocks = byGroups ? kGroup : 1;
  return b.add(at, b.mul(b.div(block, b.index(blocks)),
                         b.index(blocks * kMatrixRows * StagedRows::kLine)));
}

void SubgroupAttention::barrier() {
  if (byGroups)
    fenceForGroups(b);
  mlir::gpu::BarrierOp::create(b);
}

SmallVector<SmallVector<Value>>
SubgroupAttention::dots(StagedRows &staged, ArrayRef<StagedDots> pairs,
                        int64_t columns) {
  SmallVector<SmallVector<Value>> results;
  if (!byGroups) {
    for (const StagedDots &pair : pairs)
      results.push_back(subgroupDots(staged, pair, columns));
    return results;
  }
  SmallVector<Value> lefts, rights;
  for (const StagedDots &pair : pairs) {
    lefts.push_back(pair.left.at);
    rights.push_back(pair.right.at);
  }
  int64_t each = columns / 2;
  SmallVector<Type> types(pairs.size() * each, f32);
  auto op = GroupDotsOp::create(b, types, staged.memory, lefts, rights,
                                pairs.front().left.rows,
                                pairs.front().right.rows, columns, headDim);
  for (size_t i = 0; i < pairs.size(); ++i)
    results.push_back(llvm::to_vector_of<Value>(
        ValueRange(op.getResults()).slice(i * each, each)));
  return results;
}

SmallVector<Value> SubgroupAttention::subgroupDots(StagedRows &staged,
                                                   const StagedDots &pair,
                                                   int64_t columns) {
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
        Value leftAt = panelOf(pair.left), rightAt = panelOf(pair.right);
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

void SubgroupAttention::addProducts(MutableArrayRef<Value> sums,
                                    StagedRows &staged,
                                    ArrayRef<WeightedRows> all) {
  if (byGroups) {
    SmallVector<Value> words, places;
    for (const WeightedRows &each : all) {
      llvm::append_range(words, packed(each.weights));
      places.push_back(each.rows.at);
    }
    auto op =
        GroupAddOp::create(b, SmallVector<Type>(sums.size(), f32), words,
                           staged.memory, places, all.front().rows.rows, sums);
    llvm::copy(op.getResults(), sums.begin());
    return;
  }
  for (auto [i, each] : llvm::enumerate(all)) {
    auto ofEach = sums.slice(i * resultSums(), resultSums());
    constexpr int64_t kTermSums = kLaneSums * kMatrixTerms / kMatrixColumns;
    for (size_t from = 0; from < each.weights.size(); from += kTermSums)
      addProduct(ofEach, packed(each.weights.slice(from, kTermSums)), staged,
                 each.rows, int64_t(from / kTermSums) * kMatrixTerms);
  }
}

void SubgroupAttention::addProduct(MutableArrayRef<Value> sums,
                                   ArrayRef<Value> weights, StagedRows &staged,
                                   const Staged &from, int64_t row) {
  for (int64_t step = 0; step < features / kMatrixTerms; ++step) {
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

void SubgroupAttention::finish(ValueRange sums, int64_t half,
                               const HeadMatrix &to, Value row, Value isThere,
                               Value factor) {
  Words words;
  for (int64_t j = 0; j < features / kMatrixColumns; ++j) {
    auto sum = [&](int64_t odd) {
      Value value = sums[j * kLaneSums + 2 * half + odd];
      return factor ? b.mul(value, factor) : value;
    };
    words.push_back(pack(sum(0), sum(1)));
  }
  for (size_t i = 0; i < words.size(); i += 4)
    transpose(MutableArrayRef(words).slice(i, 4));
  b.when(isThere, [&] {
    for (size_t i = 0; i < words.size(); i += 4) {
      Value feature = b.mul(b.add(t, b.index(int64_t(i))), b.index(kLaneTerms));
      StoreWordsOp::create(b, words[i], words[i + 1], words[i + 2],
                           words[i + 3], to.matrix,
                           ValueRange{row, b.add(to.column, feature)});
    }
  });
}

SmallVector<Value>
SubgroupAttention::masked(Value isEdge, Value first, ValueRange scores,
                          function_ref<std::pair<Pair, Pair>()> range) {
  auto branch = scf::IfOp::create(
      b, isEdge,
      [&](OpBuilder &, Location) {
        SmallVector<Value> left;
        auto [least, greatest] = range();
        for (auto [i, score] : llvm::enumerate(scores)) {
          int64_t half = i % kLaneSums / 2;
          Value column = columnOf(first, int64_t(i));
          left.push_back(b.select(both(isAtLeast(column, least[half]),
                                       isAtLeast(greatest[half], column)),
                                  score, real(-HUGE_VAL)));
        }
        scf::YieldOp::create(b, left);
      },
      [&](OpBuilder &, Location) { scf::YieldOp::create(b, scores); });
  return llvm::to_vector_of<Value>(branch.getResults());
}

Words SubgroupAttention::packed(ValueRange sums) {
  Words words;
  for (size_t i = 0; i < sums.size(); i += 2)
    words.push_back(pack(sums[i], sums[i + 1]));
  return words;
}

Value SubgroupAttention::rowProduct(const HeadMatrix &x, const HeadMatrix &y,
                                    Value row) {
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

SmallVector<Value> SubgroupAttention::joinSubgroups(ValueRange given,
                                                    int64_t left) {
  SmallVector<Value> sums(given);
  auto count = static_cast<int64_t>(sums.size());
  Value parts = sharedFloats({kSubgroups / 2, count, kLanes}, /*begin=*/0);
  Value number = b.team.state.subgroup, lane = b.team.state.lane;
  for (int64_t half = kSubgroups / 2; half >= left; half /= 2) {
    Value most = b.index(half);
    barrier();
    b.when(both(b.isLess(b.index(half - 1), number),
                b.isLess(number, b.index(2 * half))),
           [&] {
             for (auto [i, sum] : llvm::enumerate(sums))
               b.store(sum, parts, {b.sub(number, most), b.index(i), lane});
           });
    barrier();
    // Subgroups from `half` on load numbers that they do not use.
    Value from = b.min(number, b.index(half - 1));
    for (auto [i, sum] : llvm::enumerate(sums))
      sum = b.add(sum, b.load(parts, {from, b.index(i), lane}));
  }
  return sums;
}
