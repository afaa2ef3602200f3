//===- KernelsAttentionTest.cpp - Attention against the reference ---------===//
//
// Batches hold up to three sequences whose bounds fall inside blocks of rows,
// and all memory beyond the batch is NaN.
//
//===----------------------------------------------------------------------===//

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
      // What a GPU has in registers.
      {3, 1, 64, 0},
      {4, 2, 64, 13},
      {2, 1, 128, 0},
  };

  /// Without matrix units wide heads are as narrow ones are.
  bool isFor(const Shape &shape) {
    return shape.headDim <= 40 || element() == kPairs;
  }
  /// Of scores. Long dots would leave a row one weight, and no gradient.
  static double scaleOf(const Shape &shape) {
    return shape.headDim > 40 ? 0.1 : 0.3;
  }
  static std::string text(const Shape &shape) {
    return " heads " + std::to_string(shape.heads) + " kv_heads " +
           std::to_string(shape.kvHeads) +
           (shape.window ? " window " + std::to_string(shape.window) : "") +
           (scaleOf(shape) == 0.1 ? " scale 0.1" : " scale 0.3");
  }
  void checkLongSequence(int64_t window);
};
INSTANTIATE_TEST_SUITE_P(Elements, KernelsAttentionTest,
                         testing::Values("f32", "f64", kMedium, "bf16",
                                         kPairs));
} // namespace

TEST_P(KernelsAttentionTest, Forward) {
  for (const Shape &shape : shapes) {
    if (!isFor(shape))
      continue;
    int64_t wide = shape.heads * shape.headDim;
    int64_t narrow = shape.kvHeads * shape.headDim;
    std::string q = "?x" + std::to_string(wide) + "xT";
    std::string kv = "?x" + std::to_string(narrow) + "xT";
    KernelCase kernel(element(),
                      {{"q", q}, {"k", kv}, {"v", kv}, {"starts", "?xi32"}},
                      {q, "?x" + std::to_string(2 * shape.heads) + "xC"},
                      "hone.attention %q, %k, %v, %starts" + text(shape));
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
      Attention want =
          attention(query, key, value, starts,
                    {shape.heads, shape.kvHeads, scaleOf(shape), shape.window});
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
    std::string q = "?x" + std::to_string(wide) + "xT";
    std::string kv = "?x" + std::to_string(narrow) + "xT";
    KernelCase kernel(
        element(),
        {{"dy", q},
         {"q", q},
         {"k", kv},
         {"v", kv},
         {"y", q},
         {"normalizer", "?x" + std::to_string(2 * shape.heads) + "xC"},
         {"starts", "?xi32"}},
        {q, kv, kv},
        "hone.attention_adjoint %dy, %q, %k, %v, %y, %normalizer, %starts" +
            text(shape));
    for (int64_t rows : kRowCounts) {
      SCOPED_TRACE(text(shape) + ", rows " + std::to_string(rows));
      Matrix query = random(rows, wide), key = random(rows, narrow);
      Matrix value = random(rows, narrow), dy = random(rows, wide);
      Rows starts = sequenceStarts(rows);
      Heads heads{shape.heads, shape.kvHeads, scaleOf(shape), shape.window};
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

// More keys, and in the adjoint more queries, than one partial sum takes.
TEST_P(KernelsAttentionTest, LongSequence) { checkLongSequence(0); }
TEST_P(KernelsAttentionTest, LongWindow) { checkLongSequence(290); }

// Keys and queries that no row of a strip sees are not read at all.
TEST_P(KernelsAttentionTest, WindowReadsNothingElse) {
  constexpr int64_t rows = 100;
  KernelCase kernel(
      element(),
      {{"q", "?x8xT"}, {"k", "?x8xT"}, {"v", "?x8xT"}, {"starts", "?xi32"}},
      {"?x8xT"},
      "hone.attention %q, %k, %v, %starts heads 1 kv_heads 1 window 9 scale "
      "0.3");
  Matrix q = random(rows, 8), k = random(rows, 8), v = random(rows, 8);
  Rows starts(rows, 0);
  kernel.set("q", q);
  kernel.set("k", k);
  kernel.set("v", v);
  kernel.set("starts", starts);
  Matrix whole = kernel.run(rows)[0];
  // The strip that begins at row 64 sees no key before row 56.
  for (int64_t j = 0; j < 56 * 8; ++j)
    k.values[j] = v.values[j] = NAN;
  kernel.set("k", k);
  kernel.set("v", v);
  Matrix rest = kernel.run(rows)[0];
  for (int64_t j = 64 * 8; j < rows * 8; ++j)
    ASSERT_EQ(rest.values[j], whole.values[j]) << j;
}

TEST_P(KernelsAttentionTest, WindowReadsNothingElseBackward) {
  constexpr int64_t rows = 150;
  std::vector<KernelCase::Operand> inputs;
  for (const char *name : {"dy", "q", "k", "v", "y"})
    inputs.push_back({name, "?x8xT"});
  inputs.push_back({"normalizer", "?x2xC"});
  inputs.push_back({"starts", "?xi32"});
  KernelCase kernel(
      element(), inputs, {"?x8xT", "?x8xT", "?x8xT"},
      "hone.attention_adjoint %dy, %q, %k, %v, %y, %normalizer, %starts heads "
      "1 kv_heads 1 window 9 scale 0.3",
      /*maxRows=*/160);
  std::map<std::string, Matrix> given;
  for (const char *name : {"dy", "q", "k", "v"})
    given[name] = random(rows, 8);
  Rows starts(rows, 0);
  Attention forward = attention(given["q"], given["k"], given["v"], starts,
                                {1, 1, 0.3, /*window=*/9});
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
  for (size_t result = 0; result < rest.size(); ++result)
    for (int64_t j = 64 * 8; j < 128 * 8; ++j)
      ASSERT_EQ(rest[result].values[j], whole[result].values[j])
          << "result " << result << ", " << j;
}

void KernelsAttentionTest::checkLongSequence(int64_t window) {
  constexpr int64_t rows = 600;
  Heads heads{2, 1, 0.3, window};
  std::string given = window ? "window " + std::to_string(window) + " " : "";
  Matrix q = random(rows, 32), k = random(rows, 16), v = random(rows, 16);
  Matrix dy = random(rows, 32);
  Rows starts(rows, 0);
  std::fill(starts.begin() + 20, starts.end(), 20);

  KernelCase forward(
      element(),
      {{"q", "?x32xT"}, {"k", "?x16xT"}, {"v", "?x16xT"}, {"starts", "?xi32"}},
      {"?x32xT", "?x4xC"},
      "hone.attention %q, %k, %v, %starts heads 2 kv_heads 1 " + given +
          "scale 0.3",
      /*maxRows=*/700);
  forward.set("q", q);
  forward.set("k", k);
  forward.set("v", v);
  forward.set("starts", starts);
  Attention want = attention(q, k, v, starts, heads);
  expectClose(forward.run(rows)[0], want.y, element(), rows, "attention");

  KernelCase adjoint(element(),
                     {{"dy", "?x32xT"},
                      {"q", "?x32xT"},
                      {"k", "?x16xT"},
                      {"v", "?x16xT"},
                      {"y", "?x32xT"},
                      {"normalizer", "?x4xC"},
                      {"starts", "?xi32"}},
                     {"?x32xT", "?x16xT", "?x16xT"},
                     "hone.attention_adjoint %dy, %q, %k, %v, %y, %normalizer, "
                     "%starts heads 2 kv_heads 1 " +
                         given + "scale 0.3",
                     /*maxRows=*/700);
  adjoint.set("dy", dy);
  adjoint.set("q", q);
  adjoint.set("k", k);
  adjoint.set("v", v);
  adjoint.set("y", want.y);
  adjoint.set("normalizer", want.normalizer);
  adjoint.set("starts", starts);
  std::vector<Matrix> got = adjoint.run(rows);
  AttentionGradients gradients = attentionAdjoint(dy, q, k, v, starts, heads);
  expectClose(got[0], gradients.dq, element(), rows, "attention_adjoint_q");
  expectClose(got[1], gradients.dk, element(), rows, "attention_adjoint_k");
  expectClose(got[2], gradients.dv, element(), rows, "attention_adjoint_v");
}
