//===- KernelsAttentionTest.cpp - Attention against the reference ---------===//
//
// Batches hold up to three sequences whose bounds fall inside blocks of rows,
// and all memory beyond the batch is NaN.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/TileShape.h"
#include "test/numerics/KernelCase.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace hone;
using namespace hone::reference;

namespace {
class KernelsAttentionTest : public KernelTest {
protected:
  struct Shape {
    int64_t heads, kvHeads, headDim, window; ///< 0: none
  };
  /// One head each; grouped; one key head for all and more than one panel wide
  /// in f64. Windows of one key, shorter and longer than a strip, and of all
  /// rows but one.
  static constexpr Shape shapes[] = {
      {2, 2, 8, 0},
      {6, 2, 16, 0},
      {3, 1, 40, 0},
      {2, 1, 8, 1},
      {6, 2, 16, 11},
      {3, 1, 40, 40},
      {2, 2, 8, 99},
      // Query heads of a key head that are in parts, the last one smaller.
      {14, 2, 32, 0},
      // The shapes that a GPU has in registers.
      {3, 1, 64, 0},
      {4, 2, 64, 13},
      {2, 1, 128, 0},
      // More than a panel wide and no multiple of one, and heads in parts.
      {7, 1, 96, 0},
      {5, 1, 33, 1},
  };

  /// Without matrix units wide heads are as narrow ones are.
  bool isFor(const Shape &shape) {
    return shape.headDim <= 40 || element() == kPairs;
  }
  /// Of scores. Long dots would leave a row one weight, and no gradient.
  static double scaleOf(const Shape &shape) {
    return shape.headDim > 40 ? 0.1 : 0.3;
  }
  static Heads headsOf(const Shape &shape) {
    return {shape.heads, shape.kvHeads, scaleOf(shape), shape.window};
  }
  static std::string text(const Shape &shape) {
    return " heads " + std::to_string(shape.heads) + " kv_heads " +
           std::to_string(shape.kvHeads) +
           (shape.window ? " window " + std::to_string(shape.window) : "") +
           (scaleOf(shape) == 0.1 ? " scale 0.1" : " scale 0.3");
  }
  static std::string rowOf(int64_t heads, const Shape &shape) {
    return "?x" + std::to_string(heads * shape.headDim) + "xT";
  }
  static std::string normalizerOf(const Shape &shape) {
    return "?x" + std::to_string(2 * shape.heads) + "xC";
  }
  KernelCase forwardCase(const Shape &shape, bool withNormalizer,
                         int64_t maxRows = kMaxRows);
  KernelCase adjointCase(const Shape &shape, int64_t maxRows = kMaxRows);
  /// The results of attention and of its adjoint.
  std::vector<Matrix> checkLongSequence(const Shape &shape, int64_t rows,
                                        int64_t maxRows);
  void checkHiddenKeys(const Shape &shape, int64_t maxRows);
  void checkHiddenQueries(const Shape &shape, int64_t maxRows);
};
INSTANTIATE_TEST_SUITE_P(Elements, KernelsAttentionTest,
                         testing::Values("f32", "f64", kMedium, "bf16",
                                         kPairs));

/// Attention with all scores in registers.
class RegisterAttentionTest : public KernelsAttentionTest {
protected:
  void SetUp() override {
    if (!addsOnMatrixUnits(element()))
      GTEST_SKIP() << "needs matrix units";
  }
  /// Rows of a module whose workgroups have `queries` rows.
  static int64_t maxRowsFor(int64_t queries, const Shape &shape) {
    return queries * simt::kMultiprocessors * 64 /
           (shape.heads * shape.headDim);
  }
  void checkWorkgroups(const Shape &shape);
};
INSTANTIATE_TEST_SUITE_P(Elements, RegisterAttentionTest,
                         testing::Values(kPairs));
} // namespace

KernelCase KernelsAttentionTest::forwardCase(const Shape &shape,
                                             bool withNormalizer,
                                             int64_t maxRows) {
  std::string q = rowOf(shape.heads, shape), kv = rowOf(shape.kvHeads, shape);
  std::vector<std::string> results = {q};
  if (withNormalizer)
    results.push_back(normalizerOf(shape));
  return KernelCase(
      element(), {{"q", q}, {"k", kv}, {"v", kv}, {"starts", "?xi32"}}, results,
      "hone.attention %q, %k, %v, %starts" + text(shape), maxRows);
}

KernelCase KernelsAttentionTest::adjointCase(const Shape &shape,
                                             int64_t maxRows) {
  std::string q = rowOf(shape.heads, shape), kv = rowOf(shape.kvHeads, shape);
  return KernelCase(
      element(),
      {{"dy", q},
       {"q", q},
       {"k", kv},
       {"v", kv},
       {"y", q},
       {"normalizer", normalizerOf(shape)},
       {"starts", "?xi32"}},
      {q, kv, kv},
      "hone.attention_adjoint %dy, %q, %k, %v, %y, %normalizer, %starts" +
          text(shape),
      maxRows);
}

TEST_P(KernelsAttentionTest, Forward) {
  for (const Shape &shape : shapes) {
    if (!isFor(shape))
      continue;
    int64_t wide = shape.heads * shape.headDim;
    int64_t narrow = shape.kvHeads * shape.headDim;
    KernelCase kernel = forwardCase(shape, /*withNormalizer=*/true);
    for (int64_t rows : kRowCounts) {
      SCOPED_TRACE(text(shape) + ", rows " + std::to_string(rows));
      Matrix query = scale(random(rows, wide), 4), key = random(rows, narrow);
      Matrix value = random(rows, narrow);
      Rows starts = sequenceStarts(rows);
      kernel.set("q", query);
      kernel.set("k", key);
      kernel.set("v", value);
      kernel.set("starts", starts);
      std::vector<Matrix> got = kernel.run(rows);
      Attention want = attention(query, key, value, starts, headsOf(shape));
      expectClose(got[0], want.y, element(), rows, "attention");
      expectClose(got[1], want.normalizer, computed(), rows,
                  "attention_normalizer");
    }
  }
}

TEST_P(KernelsAttentionTest, Adjoint) {
  for (const Shape &shape : shapes) {
    if (!isFor(shape))
      continue;
    int64_t wide = shape.heads * shape.headDim;
    int64_t narrow = shape.kvHeads * shape.headDim;
    KernelCase kernel = adjointCase(shape);
    for (int64_t rows : kRowCounts) {
      SCOPED_TRACE(text(shape) + ", rows " + std::to_string(rows));
      Matrix query = random(rows, wide), key = random(rows, narrow);
      Matrix value = random(rows, narrow), dy = random(rows, wide);
      Rows starts = sequenceStarts(rows);
      Heads heads = headsOf(shape);
      Attention forward = attention(query, key, value, starts, heads);
      kernel.set("dy", dy);
      kernel.set("q", query);
      kernel.set("k", key);
      kernel.set("v", value);
      kernel.set("y", forward.y);
      kernel.set("normalizer", forward.normalizer);
      kernel.set("starts", starts);
      std::vector<Matrix> got = kernel.run(rows);
      AttentionGradients want =
          attentionAdjoint(dy, query, key, value, starts, heads);
      expectClose(got[1], want.dk, element(), rows, "attention_adjoint_k");
      expectClose(got[2], want.dv, element(), rows, "attention_adjoint_v");
      // A row that sees one key has no gradient: only the others have a scale.
      if (rows > 1 && shape.window != 1)
        expectClose(got[0], want.dq, element(), rows, "attention_adjoint_q");
    }
  }
}

// Scores that overflow have no weight, and neither has a block of nothing else:
// of its first 64 keys the later rows see nothing.
TEST_P(KernelsAttentionTest, FirstBlockOfNothingButMinusInfinity) {
  constexpr int64_t block = 64;
  for (const Shape &shape : {Shape{2, 1, 16, 0}, Shape{2, 1, 64, 0}}) {
    if (!isFor(shape))
      continue;
    Matrix query = random(kMaxRows, shape.heads * shape.headDim);
    Matrix key = random(kMaxRows, shape.kvHeads * shape.headDim);
    Matrix value = random(kMaxRows, shape.kvHeads * shape.headDim);
    for (int64_t row = 0; row < kMaxRows; ++row)
      for (int64_t head = 0; head < shape.heads; ++head)
        query(row, head * shape.headDim) = row < block ? 0 : 16;
    for (int64_t row = 0; row < block; ++row)
      key(row, 0) = -std::ldexp(1.0, 127);
    Rows starts(kMaxRows, 0);
    KernelCase kernel = forwardCase(shape, /*withNormalizer=*/true);
    kernel.set("q", query);
    kernel.set("k", key);
    kernel.set("v", value);
    kernel.set("starts", starts);
    std::vector<Matrix> got = kernel.run(kMaxRows);
    Attention want = attention(query, key, value, starts, headsOf(shape));
    expectClose(got[0], want.y, element(), kMaxRows, "attention");
    expectClose(got[1], want.normalizer, computed(), kMaxRows,
                "attention_normalizer");
  }
}

// More keys, and in the adjoint more queries, than one partial sum takes.
TEST_P(KernelsAttentionTest, LongSequence) {
  checkLongSequence({2, 1, 16, 0}, 600, 700);
}
TEST_P(KernelsAttentionTest, LongWindow) {
  checkLongSequence({2, 1, 16, 290}, 600, 700);
}

TEST_P(KernelsAttentionTest, WindowReadsNothingElse) {
  checkHiddenKeys({1, 1, 8, 9}, kMaxRows);
}
TEST_P(KernelsAttentionTest, WindowReadsNothingElseBackward) {
  checkHiddenQueries({1, 1, 8, 9}, 160);
}

TEST_P(RegisterAttentionTest, LongSequence) { checkWorkgroups({2, 1, 64, 0}); }
TEST_P(RegisterAttentionTest, LongWindow) { checkWorkgroups({2, 1, 64, 190}); }
TEST_P(RegisterAttentionTest, LongSequenceOfWideHeads) {
  checkWorkgroups({2, 1, 128, 0});
}

// Where four subgroups multiply together, that is for heads in one piece, with
// two groups in a workgroup of queries.
TEST_P(RegisterAttentionTest, LongSequenceOfWholeHeads) {
  for (int64_t headDim : {64, 128}) {
    const Shape shape = {2, 1, headDim, 0};
    SCOPED_TRACE(text(shape));
    checkLongSequence(shape, 300, 128 * simt::kMultiprocessors / shape.heads);
  }
}

TEST_P(RegisterAttentionTest, WindowReadsNothingElse) {
  constexpr Shape shape = {2, 1, 64, 9};
  for (int64_t queries : {32, 128})
    checkHiddenKeys(shape, maxRowsFor(queries, shape));
}
TEST_P(RegisterAttentionTest, WindowReadsNothingElseBackward) {
  constexpr Shape shape = {2, 1, 64, 9};
  for (int64_t queries : {32, 128})
    checkHiddenQueries(shape, maxRowsFor(queries, shape));
}

// A turn has up to 128 queries: there are three turns at least, and the last
// ends inside a block of 16. No bit of y, of the normalizer, and of dq depends
// on the rows of a workgroup. Workgroups of keys have 16, 32, and 32 of them
// here, and the fewer there are the more subgroups add up one's cotangents.
void RegisterAttentionTest::checkWorkgroups(const Shape &shape) {
  constexpr int64_t rows = 300;
  std::vector<Matrix> first;
  for (int64_t queries : {32, 64, 128}) {
    SCOPED_TRACE(text(shape) + ", queries " + std::to_string(queries));
    std::vector<Matrix> got =
        checkLongSequence(shape, rows, maxRowsFor(queries, shape));
    if (first.empty())
      first = got;
    for (size_t i : {0, 1, 2})
      EXPECT_TRUE(got[i].values == first[i].values) << "result " << i;
  }
}

// Keys and queries that no row of a strip sees are not read at all.
void KernelsAttentionTest::checkHiddenKeys(const Shape &shape,
                                           int64_t maxRows) {
  constexpr int64_t rows = 100;
  int64_t wide = shape.heads * shape.headDim;
  int64_t narrow = shape.kvHeads * shape.headDim;
  KernelCase kernel = forwardCase(shape, /*withNormalizer=*/false, maxRows);
  Matrix q = random(rows, wide), k = random(rows, narrow);
  Matrix v = random(rows, narrow);
  kernel.set("q", q);
  kernel.set("k", k);
  kernel.set("v", v);
  kernel.set("starts", Rows(rows, 0));
  Matrix whole = kernel.run(rows)[0];
  // The strip that begins at row 64 sees no key before row 56.
  for (int64_t j = 0; j < 56 * narrow; ++j)
    k.values[j] = v.values[j] = NAN;
  kernel.set("k", k);
  kernel.set("v", v);
  Matrix rest = kernel.run(rows)[0];
  for (int64_t j = 64 * wide; j < rows * wide; ++j)
    ASSERT_EQ(rest.values[j], whole.values[j]) << j;
}

void KernelsAttentionTest::checkHiddenQueries(const Shape &shape,
                                              int64_t maxRows) {
  constexpr int64_t rows = 150;
  KernelCase kernel = adjointCase(shape, maxRows);
  std::map<std::string, Matrix> given;
  for (const char *name : {"dy", "q"})
    given[name] = random(rows, shape.heads * shape.headDim);
  for (const char *name : {"k", "v"})
    given[name] = random(rows, shape.kvHeads * shape.headDim);
  Rows starts(rows, 0);
  Attention forward =
      attention(given["q"], given["k"], given["v"], starts, headsOf(shape));
  given["y"] = forward.y;
  given["normalizer"] = forward.normalizer;
  auto run = [&] {
    for (const auto &[name, matrix] : given)
      kernel.set(name, matrix);
    kernel.set("starts", starts);
    return kernel.run(rows);
  };
  std::vector<Matrix> whole = run();
  // Queries from row 64 on see no key before row 56, and keys before row 128
  // are seen by no query from row 136 on.
  for (auto &[name, matrix] : given)
    for (int64_t i = 0; i < rows; ++i)
      if (i < 56 || i >= 136)
        for (int64_t j = 0; j < matrix.columns; ++j)
          matrix.values[i * matrix.columns + j] = NAN;
  std::vector<Matrix> rest = run();
  for (size_t result = 0; result < rest.size(); ++result) {
    int64_t columns = rest[result].columns;
    for (int64_t j = 64 * columns; j < 128 * columns; ++j)
      ASSERT_EQ(rest[result].values[j], whole[result].values[j])
          << "result " << result << ", " << j;
  }
}

std::vector<Matrix> KernelsAttentionTest::checkLongSequence(const Shape &shape,
                                                            int64_t rows,
                                                            int64_t maxRows) {
  int64_t wide = shape.heads * shape.headDim;
  int64_t narrow = shape.kvHeads * shape.headDim;
  auto matrixOf = [&](int64_t columns, unsigned seed) {
    return randomMatrix(rows, columns, seed, element());
  };
  Matrix q = matrixOf(wide, 1), k = matrixOf(narrow, 2);
  Matrix v = matrixOf(narrow, 3), dy = matrixOf(wide, 4);
  Rows starts(rows, 0);
  std::fill(starts.begin() + 20, starts.end(), 20);

  KernelCase forward = forwardCase(shape, /*withNormalizer=*/true, maxRows);
  forward.set("q", q);
  forward.set("k", k);
  forward.set("v", v);
  forward.set("starts", starts);
  Attention want = attention(q, k, v, starts, headsOf(shape));
  std::vector<Matrix> results = forward.run(rows);
  expectClose(results[0], want.y, element(), rows, "attention");

  KernelCase adjoint = adjointCase(shape, maxRows);
  adjoint.set("dy", dy);
  adjoint.set("q", q);
  adjoint.set("k", k);
  adjoint.set("v", v);
  adjoint.set("y", want.y);
  adjoint.set("normalizer", want.normalizer);
  adjoint.set("starts", starts);
  std::vector<Matrix> got = adjoint.run(rows);
  AttentionGradients gradients =
      attentionAdjoint(dy, q, k, v, starts, headsOf(shape));
  expectClose(got[0], gradients.dq, element(), rows, "attention_adjoint_q");
  expectClose(got[1], gradients.dk, element(), rows, "attention_adjoint_k");
  expectClose(got[2], gradients.dv, element(), rows, "attention_adjoint_v");
  llvm::append_range(results, got);
  return results;
}
