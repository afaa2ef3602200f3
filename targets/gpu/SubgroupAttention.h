//===- SubgroupAttention.h - Attention's numbers in registers -------------===//
//
// A subgroup has 16 rows of a head, with all scores and sums in its registers.
// Rows of keys, or queries, are in shared memory for all subgroups
// (StagedRows.h), a turn ahead of the products. Where four subgroups multiply
// together (`by_groups`), each still has 16 rows, and its registers hold the
// same numbers.
//
// Weights are computed where sums of scores are, which is where the left side
// of the next product wants them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/gpu/AttentionLowering.h"
#include "targets/gpu/StagedRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <array>

namespace hone::simt {

/// Rows `g` and `g + 8` of a subgroup's 16, or something of each.
using Pair = std::array<mlir::Value, 2>;

/// Rows in shared memory, from number `at` on.
struct Staged {
  mlir::Value at;
  int64_t rows;
};

/// Products of staged rows: 16 of a subgroup on the left, or 64 of a group.
struct StagedDots {
  Staged left, right;
};

/// Sums of scores' places, and as many rows that they are weights of.
struct WeightedRows {
  mlir::ValueRange weights;
  Staged rows;
};

class SubgroupAttention {
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;

public:
  template <typename Op>
  SubgroupAttention(Op op, const Team &team)
      : subgroup{team.state, /*isSubgroup=*/true}, b(op, subgroup),
        g(b.div(team.state.lane, b.index(4))),
        t(b.rem(team.state.lane, b.index(4))), twoT(b.mul(t, b.index(2))),
        f32(b.getF32Type()), headDim(op.getHeadDim()),
        features(op.getResultFeatures()), byGroups(op.getByGroups()),
        number(byGroups ? wide(b.fromFirstLane(narrow(team.state.subgroup)))
                        : team.state.subgroup) {}

  /// Sums of a lane for 16 rows of the result.
  int64_t resultSums() const { return kLaneSums * features / kMatrixColumns; }

  Value real(double value) { return b.real(f32, value); }
  Value word(int64_t value) {
    return mlir::arith::ConstantIntOp::create(b, value, 32);
  }
  /// Of narrow numbers.
  Value isAtLeast(Value x, Value y) {
    return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::sge, x,
                                       y);
  }
  Value isBelow(Value x, Value y) {
    return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::slt, x,
                                       y);
  }
  Value addWord(Value x, int64_t y) {
    return y ? mlir::arith::AddIOp::create(b, x, word(y)).getResult() : x;
  }
  Value both(Value x, Value y) { return mlir::arith::AndIOp::create(b, x, y); }
  /// A row's number in 32 bits, which batches have fewer of: where it is only
  /// compared it takes one register.
  Value narrow(Value row) {
    return mlir::arith::IndexCastOp::create(b, b.getI32Type(), row);
  }
  Value wide(Value number) {
    return mlir::arith::IndexCastOp::create(b, b.getIndexType(), number);
  }
  Value loadIndex(Value memory, Value at) { return wide(b.load(memory, at)); }
  /// A narrow number as an index. The exchange with itself keeps the device's
  /// compiler from computing its uses earlier, and keeping them in registers.
  Value lateIndex(Value number) { return wide(b.exchange(number, 0)); }
  /// Of score `i` of a lane, which has two of each eight columns from `first`
  /// on, a narrow number.
  Value columnOf(Value first, int64_t i) {
    return addWord(mlir::arith::AddIOp::create(b, first, narrow(twoT)),
                   i / kLaneSums * kMatrixColumns + i % 2);
  }
  Pair forBoth(llvm::function_ref<Value(int64_t)> of) { return {of(0), of(1)}; }

  /// The first key that `row` sees.
  Value firstKey(Value starts, Value row, std::optional<int64_t> window) {
    Value start = loadIndex(starts, row);
    if (!window)
      return start;
    return mlir::arith::MaxSIOp::create(b, start,
                                        b.sub(row, b.index(*window - 1)));
  }

  /// Joins the values of a row's four lanes.
  Value join(Value x, llvm::function_ref<Value(Value, Value)> combine) {
    for (int32_t distance : {1, 2})
      x = combine(x, b.exchange(x, distance));
    return x;
  }
  Value joinSum(Value x) {
    return join(x, [&](Value p, Value q) { return b.add(p, q); });
  }

  /// Scores of columns from the narrow number `first` on, where `isEdge` only
  /// those from a row's least column to its greatest, which `range` has, both
  /// narrow; the others are minus infinity.
  llvm::SmallVector<Value>
  masked(Value isEdge, Value first, ValueRange scores,
         llvm::function_ref<std::pair<Pair, Pair>()> range);

  /// Of each pair the products with the first `columns` of the rows on the
  /// right, over a head's features: kLaneSums for eight columns.
  llvm::SmallVector<llvm::SmallVector<Value>>
  dots(StagedRows &staged, llvm::ArrayRef<StagedDots> pairs, int64_t columns);
  /// For each of `all` adds the products of its weights, rounded, with the rows
  /// to resultSums() of the sums.
  void addProducts(llvm::MutableArrayRef<Value> sums, StagedRows &staged,
                   llvm::ArrayRef<WeightedRows> all);
  /// The first of the 16 rows that the subgroup multiplies, or the 64 of its
  /// group, where its own rows are those of block `block` from `at` on.
  Value leftOf(Value at, Value block);
  /// After it, copies of all threads are there, if they have waited for their
  /// own.
  void barrier();
  /// Stores the sums of row `half` of the pair, times `factor` if it is there,
  /// where `isThere` is true.
  void finish(ValueRange sums, int64_t half, const HeadMatrix &to, Value row,
              Value isThere, Value factor = {});
  /// 2^x, for x up to 127: of much less than -126 it is zero.
  Value exp2(Value x);
  /// So many numbers of bfloat16 in shared memory.
  Value sharedNumbers(int64_t count) {
    return mlir::memref::ViewOp::create(
        b, sharedType(mlir::MemRefType::get(count, b.getBF16Type())),
        b.team.state.stages(2 * count), b.index(0), /*sizes=*/ValueRange());
  }

  /// So many floats there, from byte `begin` on.
  Value sharedFloats(llvm::ArrayRef<int64_t> shape, int64_t begin) {
    auto type = sharedType(mlir::MemRefType::get(shape, f32));
    return mlir::memref::ViewOp::create(
        b, type, b.team.state.stages(begin + 4 * type.getNumElements()),
        b.index(begin), /*sizes=*/ValueRange());
  }

  /// Adds up the sums of all subgroups whose numbers are the same modulo
  /// `left`, by halves: the first `left` have them.
  llvm::SmallVector<Value> joinSubgroups(ValueRange sums, int64_t left);

private:
  const Team subgroup;

public:
  TeamBuilder b;
  const Value g, t, twoT;
  const mlir::Type f32;
  const int64_t headDim;
  const int64_t features; ///< of the result
  const bool byGroups;
  /// Of the subgroup. A group's operands are the same for all lanes. A device's
  /// compiler keeps them where such values go only if it can see that.
  const mlir::Value number;

private:
  llvm::SmallVector<Value>
  subgroupDots(StagedRows &staged, const StagedDots &pair, int64_t columns);
  /// sums += `weights` . 16 staged rows from `row` on.
  void addProduct(llvm::MutableArrayRef<Value> sums,
                  llvm::ArrayRef<Value> weights, StagedRows &staged,
                  const Staged &from, int64_t row);
  Words loadWords(const HeadMatrix &from, Value row, Value feature) {
    auto op = LoadWordsOp::create(
        b, llvm::SmallVector<mlir::Type>(4, b.getI32Type()), from.matrix,
        ValueRange{row, b.add(from.column, feature)});
    return Words(op->getResults());
  }
  /// Two floats as bfloat16 in a word.
  Value pack(Value low, Value high);
  /// Words for the left side of a product, four for each 16 terms: the numbers
  /// of two neighbouring matrices of sums.
  Words packed(ValueRange sums);
  /// Of words of chunks `j` in lane `t` of four, word `t` of each, makes the
  /// words `j` of chunk `t`.
  void transpose(llvm::MutableArrayRef<Value> words);

public:
  /// The products of the numbers in two rows, joined.
  Value rowProduct(const HeadMatrix &x, const HeadMatrix &y, Value row);
};

} // namespace hone::simt
