//===- KernelsLossTest.cpp - Head and cross-entropy against the reference -===//
//
// Vocabularies that are no multiple of a panel and longer than a partial sum;
// targets that are missing in single rows and in whole chunks.
//
//===----------------------------------------------------------------------===//

#include "test/numerics/KernelCase.h"

using namespace hone;
using namespace hone::reference;

namespace {
class KernelsLossTest : public KernelTest {
protected:
  static Rows everyThird(int64_t rows, int64_t vocabulary) {
    Rows targets(rows);
    for (int64_t i = 0; i < rows; ++i)
      targets[i] = i % 3 == 1 ? -100 : (i * 31) % vocabulary;
    return targets;
  }
};
INSTANTIATE_TEST_SUITE_P(Elements, KernelsLossTest,
                         testing::Values("f32", "f64"));
} // namespace

TEST_P(KernelsLossTest, LossAndInputAdjoint) {
  for (int64_t vocabulary : {9, 100, 4500}) {
    std::string v = std::to_string(vocabulary);
    for (bool withDx : {false, true}) {
      std::vector<std::string> results = {"f64"};
      if (withDx)
        results.push_back("?x24xT");
      KernelCase kernel(element(),
                        {{"x", "?x24xT"}, {"w", v + "x24xT"}, {"t", "?xi32"}},
                        results, "hone.linear_cross_entropy %x, %w, %t");
      Matrix w = random(vocabulary, 24);
      kernel.set("w", w);
      for (int64_t rows : kRowCounts) {
        Matrix x = scale(random(rows, 24), 2);
        Rows targets = everyThird(rows, vocabulary);
        kernel.set("x", x);
        kernel.set("t", targets);
        std::vector<Matrix> got = kernel.run(rows);
        Loss want = linearCrossEntropy(x, w, targets);
        expectClose(got[0], Matrix(1, 1, want.loss), element(), 24,
                    "linear_cross_entropy");
        if (withDx)
          expectClose(got[1], want.dx, element(), vocabulary,
                      "linear_cross_entropy_dx");
      }
    }
  }
}

TEST_P(KernelsLossTest, ChunkWithoutTargets) {
  KernelCase kernel(element(),
                    {{"x", "?x24xT"}, {"w", "100x24xT"}, {"t", "?xi32"}},
                    {"f64", "?x24xT"}, "hone.linear_cross_entropy %x, %w, %t");
  Matrix w = random(100, 24), x = random(kMaxRows, 24);
  Rows targets(kMaxRows, -100);
  targets[70] = 5;
  kernel.set("w", w);
  kernel.set("x", x);
  kernel.set("t", targets);
  std::vector<Matrix> got = kernel.run(kMaxRows);
  Loss want = linearCrossEntropy(x, w, targets);
  expectClose(got[0], Matrix(1, 1, want.loss), element(), 24, "loss");
  expectClose(got[1], want.dx, element(), 100, "dx");
  EXPECT_EQ(got[1](3, 7), 0);
}
