//===- KernelsGptTest.cpp - Ops of decoders before Llama ------------------===//
//
// Kernels against the reference, and the reference's derivatives against
// central finite differences.
//
//===----------------------------------------------------------------------===//

#include "test/numerics/KernelCase.h"
#include "test/reference/GptReference.h"

#include <cmath>

using namespace hone;
using namespace hone::reference;

namespace {
class KernelsGptTest : public KernelTest {};
INSTANTIATE_TEST_SUITE_P(Elements, KernelsGptTest,
                         testing::Values("f32", "f64", "bf16"));
} // namespace

static const char *const functions[] = {"relu", "gelu", "gelu_tanh", "silu"};

TEST_P(KernelsGptTest, Activation) {
  for (std::string function : functions) {
    KernelCase kernel(element(), {{"x", "?x75xT"}}, {"?x75xT"},
                      "\"hone.activation\"(%x) {activation = "
                      "#hone<activation " +
                          function + ">}");
    for (int64_t rows : kRowCounts) {
      Matrix x = scale(random(rows, 75), 8);
      // The tails, where exponentials overflow in single precision.
      x(0, 0) = -100;
      x(0, 1) = 100;
      x(0, 2) = 0;
      kernel.set("x", x);
      expectClose(kernel.run(rows)[0], activation(function, x), element(), 0,
                  function);
    }
  }
}

TEST_P(KernelsGptTest, ActivationAdjoint) {
  for (std::string function : functions) {
    KernelCase kernel(element(), {{"dy", "?x75xT"}, {"x", "?x75xT"}},
                      {"?x75xT"},
                      "\"hone.activation_adjoint\"(%dy, %x) {activation = "
                      "#hone<activation " +
                          function + ">}");
    for (int64_t rows : kRowCounts) {
      Matrix x = scale(random(rows, 75), 8), dy = random(rows, 75);
      x(0, 0) = -100;
      x(0, 1) = 100;
      x(0, 2) = 0;
      kernel.set("x", x);
      kernel.set("dy", dy);
      // In the tails 1 - s is small and its factor is large.
      expectClose(kernel.run(rows)[0], activationAdjoint(function, dy, x),
                  element(), 9, function + "_adjoint");
    }
  }
}

/// Rows whose means are far from zero: a variance from the mean of squares
/// would cancel.
static Matrix shifted(Matrix x) {
  for (double &value : x.values)
    value += 16;
  return x;
}

TEST_P(KernelsGptTest, LayerNorm) {
  KernelCase kernel(element(), {{"x", "?x75xT"}, {"w", "75xC"}, {"b", "75xC"}},
                    {"?x75xT", "?x2xC"},
                    "hone.layer_norm %x, %w, %b eps 1.0e-5");
  LayerNorm norm{random(1, 75), random(1, 75), 1e-5};
  kernel.set("w", norm.weight);
  kernel.set("b", norm.bias);
  for (int64_t rows : kRowCounts) {
    // Small multiples of 2^-2 are exact in every type that is tested.
    Matrix x = random(rows, 75);
    for (double &value : x.values)
      value = std::round(value * 4) / 4;
    for (const Matrix &input : {x, shifted(x)}) {
      kernel.set("x", input);
      std::vector<Matrix> got = kernel.run(rows);
      expectClose(got[0], layerNorm(input, norm), element(), 75, "layer_norm");
      expectClose(got[1], layerStatistics(input, 1e-5), computed(), 75,
                  "layer_norm_statistics");
    }
  }
}

TEST_P(KernelsGptTest, LayerNormAdjoints) {
  for (bool kept : {false, true}) {
    std::vector<KernelCase::Operand> all = {
        {"dy", "?x75xT"}, {"x", "?x75xT"}, {"w", "75xC"}};
    std::vector<KernelCase::Operand> some = {{"dy", "?x75xT"}, {"x", "?x75xT"}};
    std::string statistics;
    if (kept) {
      all.push_back({"s", "?x2xC"});
      some.push_back({"s", "?x2xC"});
      statistics = " statistics %s";
    }
    KernelCase input(element(), all, {"?x75xT"},
                     "hone.layer_norm_adjoint %dy, %x, %w" + statistics +
                         " eps 1.0e-5");
    KernelCase parameters(element(), some, {"75xC", "75xC"},
                          "hone.layer_norm_parameter_adjoint %dy, %x" +
                              statistics + " eps 1.0e-5");
    LayerNorm norm{random(1, 75), random(1, 75), 1e-5};
    input.set("w", norm.weight);
    for (int64_t rows : kRowCounts) {
      Matrix x = random(rows, 75), dy = random(rows, 75);
      for (KernelCase *kernel : {&input, &parameters}) {
        kernel->set("x", x);
        kernel->set("dy", dy);
        if (kept)
          kernel->set("s", layerStatistics(x, 1e-5));
      }
      expectClose(input.run(rows)[0], layerNormAdjoint(dy, x, norm), element(),
                  75, "layer_norm_adjoint");
      std::vector<Matrix> got = parameters.run(rows);
      LayerNormGradients want = layerNormParameterAdjoint(dy, x, 1e-5);
      got[0] = transpose(got[0]);
      got[1] = transpose(got[1]);
      expectClose(got[0], want.dw, computed(), rows + 75, "layer_norm_dw");
      expectClose(got[1], want.db, computed(), rows, "layer_norm_db");
    }
  }
}

TEST_P(KernelsGptTest, LayerNormTangent) {
  struct Given {
    bool tx, tw, tb, kept;
  };
  for (Given with :
       {Given{true, true, true, true}, Given{true, false, true, false},
        Given{true, false, false, false}, Given{false, true, false, true},
        Given{false, false, true, false}}) {
    std::vector<KernelCase::Operand> operands = {{"x", "?x75xT"},
                                                 {"w", "75xC"}};
    std::string text = "hone.layer_norm_tangent %x, %w";
    auto optional = [&](bool given, const std::string &name,
                        const std::string &type) {
      if (!given)
        return;
      text += " " + name + " %" + name;
      operands.push_back({name, type});
    };
    optional(with.tx, "tx", "?x75xT");
    optional(with.tw, "tw", "75xC");
    optional(with.tb, "tb", "75xC");
    optional(with.kept, "statistics", "?x2xC");
    KernelCase kernel(element(), operands, {"?x75xT"}, text + " eps 1.0e-5");
    LayerNorm norm{random(1, 75), random(1, 75), 1e-5};
    Matrix tw = random(1, 75), tb = random(1, 75);
    kernel.set("w", norm.weight);
    if (with.tw)
      kernel.set("tw", tw);
    if (with.tb)
      kernel.set("tb", tb);
    for (int64_t rows : kRowCounts) {
      Matrix x = random(rows, 75), tx = random(rows, 75);
      kernel.set("x", x);
      if (with.tx)
        kernel.set("tx", tx);
      if (with.kept)
        kernel.set("statistics", layerStatistics(x, 1e-5));
      LayerNormTangents tangents{with.tx ? &tx : nullptr,
                                 with.tw ? &tw : nullptr,
                                 with.tb ? &tb : nullptr};
      expectClose(kernel.run(rows)[0], layerNormTangent(x, norm, tangents),
                  element(), 75, "layer_norm_tangent");
    }
  }
}

TEST_P(KernelsGptTest, PositionEmbedding) {
  KernelCase kernel(element(), {{"starts", "?xi32"}, {"table", "103x37xT"}},
                    {"?x37xT"},
                    "hone.position_embedding %starts, %table offset 2");
  KernelCase adjoint(
      element(), {{"dy", "?x37xT"}, {"starts", "?xi32"}}, {"103x37xC"},
      "hone.position_embedding_parameter_adjoint %dy, %starts offset 2");
  Matrix table = random(103, 37);
  kernel.set("table", table);
  for (int64_t rows : kRowCounts) {
    Rows starts = sequenceStarts(rows);
    kernel.set("starts", starts);
    adjoint.set("starts", starts);
    Matrix dy = random(rows, 37);
    adjoint.set("dy", dy);
    expectClose(kernel.run(rows)[0], positionEmbedding(starts, table, 2),
                element(), 0, "position_embedding");
    expectClose(adjoint.run(rows)[0],
                positionEmbeddingParameterAdjoint(dy, starts, 103, 2),
                computed(), 3, "position_embedding_parameter_adjoint");
  }
}

TEST_P(KernelsGptTest, Columns) {
  for (int64_t from : {0, 5, 60}) {
    std::string at = " from " + std::to_string(from);
    KernelCase kernel(element(), {{"x", "?x75xT"}}, {"?x15xT"},
                      "\"hone.columns\"(%x) {from = " + std::to_string(from) +
                          " : i64}");
    KernelCase adjoint(element(), {{"dy", "?x15xT"}}, {"?x75xT"},
                       "\"hone.columns_adjoint\"(%dy) {from = " +
                           std::to_string(from) + " : i64}");
    for (int64_t rows : kRowCounts) {
      Matrix x = random(rows, 75), dy = random(rows, 15);
      kernel.set("x", x);
      adjoint.set("dy", dy);
      expectClose(kernel.run(rows)[0], columns(x, from, 15), element(), 0,
                  "columns" + at);
      expectClose(adjoint.run(rows)[0], columnsAdjoint(dy, from, 75), element(),
                  0, "columns_adjoint" + at);
    }
  }
}

//===----------------------------------------------------------------------===//
// The reference itself
//===----------------------------------------------------------------------===//

namespace {
class GptReferenceTest : public testing::Test {
protected:
  Matrix random(int64_t rows, int64_t columns) {
    return randomMatrix(rows, columns, ++seed, "f64");
  }
  /// `adjoint` is d<dy, f(x)>/dx.
  void expectAdjoint(const std::function<Matrix(const Matrix &)> &f,
                     const Matrix &x, const Matrix &dy, const Matrix &adjoint) {
    Matrix direction = random(x.rows, x.columns);
    EXPECT_NEAR(dot(adjoint, direction),
                directionalDerivative(f, x, direction, dy),
                1e-7 * (1 + std::sqrt(dot(adjoint, adjoint))));
  }

private:
  unsigned seed = 300;
};
} // namespace

TEST_F(GptReferenceTest, Activations) {
  for (std::string function : functions) {
    Matrix x = scale(random(5, 6), 3), dy = random(5, 6);
    expectAdjoint([&](const Matrix &x) { return activation(function, x); }, x,
                  dy, activationAdjoint(function, dy, x));
  }
}

TEST_F(GptReferenceTest, LayerNorm) {
  Matrix x = random(5, 6), dy = random(5, 6);
  LayerNorm norm{random(1, 6), random(1, 6), 1e-5};
  expectAdjoint([&](const Matrix &x) { return layerNorm(x, norm); }, x, dy,
                layerNormAdjoint(dy, x, norm));
  LayerNormGradients gradients = layerNormParameterAdjoint(dy, x, 1e-5);
  expectAdjoint(
      [&](const Matrix &w) { return layerNorm(x, {w, norm.bias, 1e-5}); },
      norm.weight, dy, gradients.dw);
  expectAdjoint(
      [&](const Matrix &b) { return layerNorm(x, {norm.weight, b, 1e-5}); },
      norm.bias, dy, gradients.db);
  Matrix tx = random(5, 6), tw = random(1, 6), tb = random(1, 6);
  double along = dot(dy, layerNormTangent(x, norm, {&tx, &tw, &tb}));
  EXPECT_NEAR(along,
              dot(layerNormAdjoint(dy, x, norm), tx) + dot(gradients.dw, tw) +
                  dot(gradients.db, tb),
              1e-12);
}

TEST_F(GptReferenceTest, PositionsAndColumns) {
  Matrix table = random(9, 4), dy = random(5, 4), x = random(5, 9);
  Rows starts = {0, 0, 2, 2, 2};
  expectAdjoint(
      [&](const Matrix &t) { return positionEmbedding(starts, t, 2); }, table,
      dy, positionEmbeddingParameterAdjoint(dy, starts, 9, 2));
  expectAdjoint([&](const Matrix &x) { return columns(x, 3, 4); }, x, dy,
                columnsAdjoint(dy, 3, 9));
}
