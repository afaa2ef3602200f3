//===- KernelsLossTest.cpp - Head and cross-entropy against the reference -===//
//
// Vocabularies that are no multiple of a panel and longer than a tile; targets
// that are missing in single rows, in most and in all.
//
//===----------------------------------------------------------------------===//

#include "test/numerics/KernelCase.h"

#include <cmath>

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
                         testing::Values("f32", "f64", kMedium, "bf16",
                                         kPairs));
} // namespace

TEST_P(KernelsLossTest, LossAndInputAdjoint) {
  // A loss alone has code of its own, with and without smoothing.
  for (auto [vocabulary, smoothing, alone] : {std::tuple(9, 0.0, false),
                                              {100, 0.0, true},
                                              {2048, 0.0, false},
                                              {4500, 0.0, false},
                                              {9, 0.1, false},
                                              {100, 0.25, false},
                                              {4500, 0.1, true}}) {
    std::string v = std::to_string(vocabulary);
    for (bool withDx : {false, true}) {
      if (!withDx && !alone)
        continue;
      std::vector<std::string> results = {"f64"};
      if (withDx)
        results.push_back("?x24xT");
      KernelCase kernel(
          element(), {{"x", "?x24xT"}, {"w", v + "x24xT"}, {"t", "?xi32"}},
          results,
          "hone.linear_cross_entropy %x, %w, %t" + smoothed(smoothing));
      Matrix w = random(vocabulary, 24);
      kernel.set("w", w);
      for (int64_t rows : kRowCounts) {
        Matrix x = scale(random(rows, 24), 2);
        Rows targets = everyThird(rows, vocabulary);
        kernel.set("x", x);
        kernel.set("t", targets);
        std::vector<Matrix> got = kernel.run(rows);
        Loss want = linearCrossEntropy(x, w, targets, smoothing);
        expectClose(got[0], Matrix(1, 1, want.loss), element(), 24,
                    "linear_cross_entropy");
        if (withDx)
          expectClose(got[1], want.dx, element(), vocabulary,
                      "linear_cross_entropy_dx");
      }
    }
  }
}

namespace {
/// The loss of 24 features with its dx.
struct LossCase {
  LossCase(const std::string &element, const Matrix &w)
      : element(element), w(w),
        kernel(element,
               {{"x", "?x24xT"},
                {"w", std::to_string(w.rows) + "x24xT"},
                {"t", "?xi32"}},
               {"f64", "?x24xT"}, "hone.linear_cross_entropy %x, %w, %t") {
    kernel.set("w", w);
  }
  std::vector<Matrix> run(const Matrix &x, const Rows &targets) {
    kernel.set("x", x);
    kernel.set("t", targets);
    return kernel.run(x.rows);
  }
  /// Runs and compares with the reference.
  std::vector<Matrix> check(const Matrix &x, const Rows &targets) {
    std::vector<Matrix> got = run(x, targets);
    Loss want = linearCrossEntropy(x, w, targets);
    expectClose(got[0], Matrix(1, 1, want.loss), element, 24, "loss");
    expectClose(got[1], want.dx, element, w.rows, "dx");
    return got;
  }

  std::string element;
  Matrix w;
  KernelCase kernel;
};
} // namespace

TEST_P(KernelsLossTest, FewTargets) {
  LossCase loss(element(), random(100, 24));
  Matrix x = random(kMaxRows, 24);
  Rows targets(kMaxRows, -100);
  std::vector<Matrix> got = loss.run(x, targets);
  EXPECT_EQ(got[0](0, 0), 0);
  EXPECT_EQ(got[1].values, Matrix(kMaxRows, 24).values);

  targets[70] = 5;
  targets[99] = 99;
  got = loss.check(x, targets);
  EXPECT_EQ(got[1](3, 7), 0);
  EXPECT_EQ(got[1](98, 0), 0);
}

// Logits grow along the vocabulary, so that every tile has a new maximum and
// the first terms vanish beside the last.
TEST_P(KernelsLossTest, MaximumInTheLastTile) {
  // Of the longer one, a GPU's tiles have four parts, and the last has two.
  for (int64_t vocabulary : {3000, 20500}) {
    Matrix w(vocabulary, 24);
    for (int64_t i = 0; i < vocabulary; ++i)
      w(i, 0) = static_cast<double>(i * 40 / vocabulary);
    Matrix x = scale(random(27, 24), 0.25);
    for (int64_t i = 0; i < x.rows; ++i)
      x(i, 0) = i % 2 ? 3 : -3;
    LossCase loss(element(), w);
    loss.check(x, everyThird(27, vocabulary));
  }
}

// Logits that overflow have no share, and neither has a tile of nothing else,
// which on every target is the first.
TEST_P(KernelsLossTest, FirstTileOfNothingButMinusInfinity) {
  constexpr int64_t vocabulary = 4500, overflowing = 4100;
  Matrix w = random(vocabulary, 24);
  for (int64_t i = 0; i < overflowing; ++i)
    w(i, 0) = -std::ldexp(1.0, 127);
  Matrix x = scale(random(27, 24), 2);
  for (int64_t i = 0; i < x.rows; ++i)
    x(i, 0) = 4;
  Rows targets(x.rows);
  for (int64_t i = 0; i < x.rows; ++i)
    targets[i] = overflowing + i * 11;
  LossCase loss(element(), w);
  loss.check(x, targets);
}

// With p(target) = 1 - 1e-5, d(loss)/d(x) is as exact as ever.
TEST_P(KernelsLossTest, SureOfTheTarget) {
  Matrix w = random(100, 24);
  Matrix x(5, 24);
  Rows targets = {3, 30, 99, 0, 64};
  for (int64_t i = 0; i < x.rows; ++i) {
    x(i, i) = 16;
    for (int64_t j = 0; j < w.rows; ++j)
      w(j, i) = j == targets[i] ? 1 : (j % 8 - 7) / 64.0;
  }
  LossCase loss(element(), w);
  std::vector<Matrix> got = loss.run(x, targets);
  Loss want = linearCrossEntropy(x, w, targets);
  expectClose(got[1], want.dx, element(), 100, "dx");
  EXPECT_LT(want.loss, 5e-4);
}

// With dx a target may copy logits, since their scores take their place. No
// vector divides the last tile of these vocabularies.
TEST_P(KernelsLossTest, IsTheSameWithoutItsInputAdjoint) {
  for (int64_t vocabulary : {100, 2311, 4501}) {
    Matrix w = random(vocabulary, 24);
    LossCase both(element(), w);
    KernelCase alone(element(),
                     {{"x", "?x24xT"},
                      {"w", std::to_string(vocabulary) + "x24xT"},
                      {"t", "?xi32"}},
                     {"f64"}, "hone.linear_cross_entropy %x, %w, %t");
    Matrix x = scale(random(27, 24), 2);
    Rows targets = everyThird(27, vocabulary);
    alone.set("w", w);
    alone.set("x", x);
    alone.set("t", targets);
    EXPECT_EQ(both.check(x, targets)[0](0, 0), alone.run(27)[0](0, 0))
        << vocabulary;
  }
}

TEST_P(KernelsLossTest, ARowDoesNotSeeTheOthers) {
  LossCase loss(element(), random(1500, 24));
  Matrix x = scale(random(27, 24), 3);
  Rows targets = everyThird(27, 1500);
  Matrix together = loss.run(x, targets)[1];
  for (int64_t row : {0, 5, 26}) {
    Matrix one(1, 24);
    for (int64_t j = 0; j < 24; ++j)
      one(0, j) = x(row, j);
    Matrix alone = loss.run(one, {targets[row]})[1];
    for (int64_t j = 0; j < 24; ++j)
      EXPECT_EQ(alone(0, j), together(row, j)) << "row " << row;
  }
}
