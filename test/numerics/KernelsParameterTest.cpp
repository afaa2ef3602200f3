//===- KernelsParameterTest.cpp - Gradients of weights, norms and tables --===//
//
// Sizes cross every block: more rows than one partial sum, more columns than
// one iteration has, more of the vocabulary than a tile.
//
//===----------------------------------------------------------------------===//

#include "test/numerics/KernelCase.h"

using namespace hone;
using namespace hone::reference;

namespace {
class KernelsParameterTest : public KernelTest {
protected:
  static Rows idsOf(int64_t rows, int64_t vocabulary) {
    Rows ids(rows);
    for (int64_t i = 0; i < rows; ++i)
      ids[i] = (i * 31 + i / 7) % vocabulary;
    return ids;
  }
};
INSTANTIATE_TEST_SUITE_P(Elements, KernelsParameterTest,
                         testing::Values("f32", "f64", kMedium, "bf16",
                                         kPairs));
} // namespace

TEST_P(KernelsParameterTest, LinearParameterAdjoint) {
  for (auto [in, out] : {std::pair{48, 72}, {130, 600}, {1100, 40}}) {
    std::string i = std::to_string(in), o = std::to_string(out);
    KernelCase kernel(
        element(), {{"dy", "?x" + o + "xT"}, {"x", "?x" + i + "xT"}},
        {o + "x" + i + "xC"}, "hone.linear_parameter_adjoint %dy, %x");
    for (int64_t rows : kRowCounts) {
      Matrix dy = random(rows, out), x = random(rows, in);
      kernel.set("dy", dy);
      kernel.set("x", x);
      expectClose(kernel.run(rows)[0], linearParameterAdjoint(dy, x),
                  computed(), rows, "linear_parameter_adjoint");
    }
  }
}

TEST_P(KernelsParameterTest, LinearParameterAdjointOfManyRows) {
  constexpr int64_t rows = 600;
  KernelCase kernel(element(), {{"dy", "?x72xT"}, {"x", "?x48xT"}}, {"72x48xC"},
                    "hone.linear_parameter_adjoint %dy, %x", /*maxRows=*/700);
  Matrix dy = random(rows, 72), x = random(rows, 48);
  kernel.set("dy", dy);
  kernel.set("x", x);
  expectClose(kernel.run(rows)[0], linearParameterAdjoint(dy, x), computed(),
              rows, "linear_parameter_adjoint");
}

TEST_P(KernelsParameterTest, Bias) {
  for (int64_t out : {5, 72, 200}) {
    std::string o = std::to_string(out);
    KernelCase adjoint(element(), {{"dy", "?x" + o + "xT"}}, {o + "xC"},
                       "hone.bias_adjoint %dy");
    KernelCase tangent(element(), {{"tb", o + "xC"}}, {"?x" + o + "xT"},
                       "hone.bias_tangent %tb");
    Matrix tb = random(1, out);
    tangent.set("tb", tb);
    for (int64_t rows : kRowCounts) {
      Matrix dy = random(rows, out);
      adjoint.set("dy", dy);
      expectClose(adjoint.run(rows)[0], biasAdjoint(dy), computed(), rows,
                  "bias_adjoint");
      Matrix repeated(rows, out);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < out; ++j)
          repeated(i, j) = tb(0, j);
      expectClose(tangent.run(rows)[0], repeated, element(), 1, "bias_tangent");
    }
  }
}

TEST_P(KernelsParameterTest, RmsNormParameterAdjoint) {
  for (auto [width, heads] : {std::pair{75, 1}, {200, 1}, {75, 5}})
    for (bool kept : {false, true}) {
      std::string w = "?x" + std::to_string(width) + "xT";
      std::string h = std::to_string(heads);
      Norm norm{1e-5, heads};
      std::vector<KernelCase::Operand> operands = {{"dy", w}, {"x", w}};
      if (kept)
        operands.push_back({"r", "?x" + h + "xC"});
      KernelCase kernel(element(), operands,
                        {std::to_string(width / heads) + "xC"},
                        "hone.rms_norm_parameter_adjoint %dy, %x " +
                            std::string(kept ? "rstd %r " : "") + "heads " + h +
                            " eps 1.0e-5");
      for (int64_t rows : kRowCounts) {
        Matrix dy = random(rows, width), x = random(rows, width);
        kernel.set("dy", dy);
        kernel.set("x", x);
        if (kept)
          kernel.set("r", reciprocalRms(x, norm));
        expectClose(kernel.run(rows)[0], rmsNormParameterAdjoint(dy, x, norm),
                    computed(), rows * heads + width,
                    "rms_norm_parameter_adjoint");
      }
    }
}

TEST_P(KernelsParameterTest, EmbeddingParameterAdjoint) {
  for (auto [vocabulary, width, scale] :
       {std::tuple{9, 75, 1.0}, {300, 24, 1.0}, {9, 24, 3.0}}) {
    std::string v = std::to_string(vocabulary), w = std::to_string(width);
    KernelCase kernel(
        element(), {{"dy", "?x" + w + "xT"}, {"ids", "?xi32"}},
        {v + "x" + w + "xC"},
        std::string("hone.embedding_parameter_adjoint %dy, %ids") +
            (scale == 1.0 ? "" : " scale 3.0"));
    for (int64_t rows : kRowCounts) {
      Matrix dy = random(rows, width);
      Rows ids = idsOf(rows, vocabulary);
      kernel.set("dy", dy);
      kernel.set("ids", ids);
      Matrix expected = embeddingParameterAdjoint(dy, ids, vocabulary);
      for (double &element : expected.values)
        element *= scale;
      expectClose(kernel.run(rows)[0], expected, computed(), rows,
                  "embedding_parameter_adjoint");
    }
  }
}

TEST_P(KernelsParameterTest, LinearCrossEntropyParameterAdjoint) {
  for (auto [vocabulary, smoothing] : {std::pair(9, 0.0),
                                       {100, 0.0},
                                       {2048, 0.0},
                                       {2500, 0.0},
                                       {9, 0.25},
                                       {2500, 0.1}}) {
    std::string v = std::to_string(vocabulary);
    KernelCase kernel(
        element(),
        {{"d", "f64"}, {"x", "?x24xT"}, {"w", v + "x24xC"}, {"t", "?xi32"}},
        {v + "x24xC"},
        "hone.linear_cross_entropy_parameter_adjoint %d, %x, %w, %t" +
            smoothed(smoothing));
    Matrix w = random(vocabulary, 24);
    kernel.set("w", w);
    kernel.set("d", Matrix(1, 1, 0.5));
    for (int64_t rows : kRowCounts) {
      Matrix x = scale(random(rows, 24), 2);
      Rows targets = idsOf(rows, vocabulary);
      for (int64_t i = 1; i < rows; i += 3)
        targets[i] = -100;
      kernel.set("x", x);
      kernel.set("t", targets);
      Matrix want = scale(
          linearCrossEntropyParameterAdjoint(x, w, targets, smoothing), 0.5);
      expectClose(kernel.run(rows)[0], want, computed(), vocabulary + rows,
                  "linear_cross_entropy_parameter_adjoint");
    }
  }
}

TEST_P(KernelsParameterTest, HeadWithoutTargetsHasNoGradient) {
  KernelCase kernel(
      element(),
      {{"d", "f64"}, {"x", "?x24xT"}, {"w", "9x24xC"}, {"t", "?xi32"}},
      {"9x24xC"}, "hone.linear_cross_entropy_parameter_adjoint %d, %x, %w, %t");
  kernel.set("d", Matrix(1, 1, 1.0));
  kernel.set("w", random(9, 24));
  kernel.set("x", random(5, 24));
  kernel.set("t", Rows(5, -100));
  Matrix gradient = kernel.run(5)[0];
  for (double value : gradient.values)
    EXPECT_EQ(value, 0);
}

TEST_P(KernelsParameterTest, LinearCrossEntropyTangentAlongTheHead) {
  for (bool alongBoth : {false, true}) {
    std::vector<KernelCase::Operand> operands = {
        {"x", "?x24xT"}, {"w", "2048x24xC"}, {"t", "?xi32"}};
    if (alongBoth)
      operands.push_back({"tx", "?x24xT"});
    operands.push_back({"tw", "2048x24xC"});
    KernelCase kernel(element(), operands, {"f64"},
                      std::string("hone.linear_cross_entropy_tangent %x, %w, "
                                  "%t ") +
                          (alongBoth ? "tx %tx " : "") + "tw %tw");
    Matrix w = random(2048, 24), tw = random(2048, 24);
    kernel.set("w", w);
    kernel.set("tw", tw);
    for (int64_t rows : kRowCounts) {
      Matrix x = random(rows, 24), tx = random(rows, 24);
      Rows targets = idsOf(rows, 2048);
      kernel.set("x", x);
      kernel.set("t", targets);
      Matrix dw = linearCrossEntropyParameterAdjoint(x, w, targets);
      double want = dot(dw, tw), size = 0;
      for (size_t i = 0; i < dw.values.size(); ++i)
        size += std::abs(dw.values[i] * tw.values[i]);
      if (alongBoth) {
        kernel.set("tx", tx);
        want += linearCrossEntropyTangent(tx, x, w, targets);
        size += std::abs(linearCrossEntropyTangent(tx, x, w, targets));
      }
      // Terms cancel: the tangent's error is relative to its terms.
      double got = kernel.run(rows)[0](0, 0);
      expectClose(Matrix(1, 1, got - want + size), Matrix(1, 1, size),
                  element(), 2048, "linear_cross_entropy_tangent");
    }
  }
}
