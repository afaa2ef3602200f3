//===- KernelsReferenceTest.cpp - The reference's derivatives themselves --===//
//
// Every adjoint and tangent of the reference against central finite differences
// of its forward function, along random directions.
//
//===----------------------------------------------------------------------===//

#include "test/numerics/KernelCase.h"

#include <cmath>

using namespace hone;
using namespace hone::reference;

namespace {
class KernelsReferenceTest : public testing::Test {
protected:
  Matrix random(int64_t rows, int64_t columns) {
    return randomMatrix(rows, columns, ++seed, "f64");
  }

  /// `adjoint` is d<dy, f(x)>/dx.
  void expectAdjoint(const std::function<Matrix(const Matrix &)> &f,
                     const Matrix &x, const Matrix &dy, const Matrix &adjoint) {
    for (int trial = 0; trial < 3; ++trial) {
      Matrix direction = random(x.rows, x.columns);
      double slope = directionalDerivative(f, x, direction, dy);
      double scale = std::sqrt(dot(adjoint, adjoint));
      EXPECT_NEAR(dot(adjoint, direction), slope, 1e-7 * (1 + scale));
    }
  }

  /// `tangent` is the derivative of f at x along `direction`.
  void expectTangent(const std::function<Matrix(const Matrix &)> &f,
                     const Matrix &x, const Matrix &direction,
                     const Matrix &tangent) {
    for (int trial = 0; trial < 3; ++trial) {
      Matrix u = random(tangent.rows, tangent.columns);
      double slope = directionalDerivative(f, x, direction, u);
      double scale = std::sqrt(dot(tangent, tangent));
      EXPECT_NEAR(dot(tangent, u), slope, 1e-7 * (1 + scale));
    }
  }

  void checkAttention(const Heads &heads);
  void checkAttentionTangent(const Heads &heads);

private:
  unsigned seed = 100;
};
} // namespace

TEST_F(KernelsReferenceTest, Linear) {
  Matrix x = random(5, 6), w = random(7, 6), dy = random(5, 7);
  expectAdjoint([&](const Matrix &x) { return linear(x, w, nullptr); }, x, dy,
                linearAdjoint(dy, w));
}

TEST_F(KernelsReferenceTest, LoraLinear) {
  Lora lora{random(7, 6), random(2, 6), random(7, 2), 1.5};
  Matrix x = random(5, 6), dy = random(5, 7);
  expectAdjoint([&](const Matrix &x) { return loraLinear(x, lora, nullptr); },
                x, dy, loraLinearAdjoint(dy, lora));
  LoraGradients gradients = loraParameterAdjoint(dy, x, lora);
  expectAdjoint(
      [&](const Matrix &a) {
        return loraLinear(x, {lora.w, a, lora.b, 1.5}, nullptr);
      },
      lora.a, dy, gradients.da);
  expectAdjoint(
      [&](const Matrix &b) {
        return loraLinear(x, {lora.w, lora.a, b, 1.5}, nullptr);
      },
      lora.b, dy, gradients.db);
}

// The lengths are held: they have no derivative.
TEST_F(KernelsReferenceTest, Dora) {
  Lora lora{random(7, 6), random(2, 6), random(7, 2), 1.5};
  Matrix x = random(5, 6), dy = random(5, 7), m = random(1, 7);
  Matrix lengths = rowLengths(lora);
  auto forward = [&](const Matrix &x, const Lora &lora, const Matrix &m) {
    return rescale(loraLinear(x, lora, nullptr), m, lengths, nullptr);
  };
  Matrix inner = rescale(dy, m, lengths, nullptr);
  expectAdjoint([&](const Matrix &x) { return forward(x, lora, m); }, x, dy,
                loraLinearAdjoint(inner, lora));
  expectAdjoint(
      [&](const Matrix &m) { return forward(x, lora, m); }, m, dy,
      rescaleParameterAdjoint(dy, loraLinear(x, lora, nullptr), lengths));
  LoraGradients gradients = loraParameterAdjoint(inner, x, lora);
  expectAdjoint(
      [&](const Matrix &a) { return forward(x, {lora.w, a, lora.b, 1.5}, m); },
      lora.a, dy, gradients.da);
  expectAdjoint(
      [&](const Matrix &b) { return forward(x, {lora.w, lora.a, b, 1.5}, m); },
      lora.b, dy, gradients.db);
}

static constexpr Norm norms[] = {{1e-5}, {1e-5, 3, 1}};

TEST_F(KernelsReferenceTest, RmsNorm) {
  for (const Norm &norm : norms) {
    Matrix x = random(5, 6), w = random(1, 6 / norm.heads), dy = random(5, 6);
    expectAdjoint([&](const Matrix &x) { return rmsNorm(x, w, norm); }, x, dy,
                  rmsNormAdjoint(dy, x, w, norm));
  }
}

TEST_F(KernelsReferenceTest, Rope) {
  Matrix x = random(7, 8), dy = random(7, 8);
  Rows starts = sequenceStarts(7);
  expectAdjoint([&](const Matrix &x) { return rope(x, starts, 2, 1e4, 1); }, x,
                dy, rope(dy, starts, 2, 1e4, -1));
}

TEST_F(KernelsReferenceTest, Attention) {
  for (int64_t window : {0, 1, 3})
    checkAttention({4, 2, 0.3, window});
}

void KernelsReferenceTest::checkAttention(const Heads &heads) {
  Matrix q = random(9, 12), k = random(9, 6), v = random(9, 6);
  Matrix dy = random(9, 12);
  Rows starts = sequenceStarts(9);
  AttentionGradients gradients = attentionAdjoint(dy, q, k, v, starts, heads);
  expectAdjoint(
      [&](const Matrix &q) { return attention(q, k, v, starts, heads).y; }, q,
      dy, gradients.dq);
  expectAdjoint(
      [&](const Matrix &k) { return attention(q, k, v, starts, heads).y; }, k,
      dy, gradients.dk);
  expectAdjoint(
      [&](const Matrix &v) { return attention(q, k, v, starts, heads).y; }, v,
      dy, gradients.dv);
}

TEST_F(KernelsReferenceTest, GatedActivation) {
  for (const reference::Activation &f : activations) {
    Matrix g = random(5, 6), u = random(5, 6), dy = random(5, 6);
    GatedGradients gradients = gatedActivationAdjoint(f, dy, g, u);
    expectAdjoint([&](const Matrix &g) { return gatedActivation(f, g, u); }, g,
                  dy, gradients.dgate);
    expectAdjoint([&](const Matrix &u) { return gatedActivation(f, g, u); }, u,
                  dy, gradients.dup);
  }
}

TEST_F(KernelsReferenceTest, LinearCrossEntropy) {
  Matrix x = random(5, 6), w = random(9, 6);
  Rows targets = {3, -100, 8, 0, -100};
  for (double smoothing : {0.0, 0.25}) {
    auto loss = [&](const Matrix &x) {
      return Matrix(1, 1, linearCrossEntropy(x, w, targets, smoothing).loss);
    };
    expectAdjoint(loss, x, Matrix(1, 1, 1),
                  linearCrossEntropy(x, w, targets, smoothing).dx);
  }
}

TEST_F(KernelsReferenceTest, LoraParameterTangent) {
  Lora lora{random(7, 6), random(2, 6), random(7, 2), 1.5};
  Matrix x = random(5, 6), ta = random(2, 6), tb = random(7, 2);
  auto along = [&](const Matrix *ta, const Matrix *tb) {
    return loraParameterTangent(x, lora, ta, tb);
  };
  expectTangent(
      [&](const Matrix &a) {
        return loraLinear(x, {lora.w, a, lora.b, 1.5}, nullptr);
      },
      lora.a, ta, along(&ta, nullptr));
  expectTangent(
      [&](const Matrix &b) {
        return loraLinear(x, {lora.w, lora.a, b, 1.5}, nullptr);
      },
      lora.b, tb, along(nullptr, &tb));
  expectClose(along(&ta, &tb), add(along(&ta, nullptr), along(nullptr, &tb)),
              "f64", 6, "lora_parameter_tangent");
}

TEST_F(KernelsReferenceTest, RmsNormTangent) {
  for (const Norm &norm : norms) {
    Matrix x = random(5, 6), w = random(1, 6 / norm.heads), tx = random(5, 6);
    expectTangent([&](const Matrix &x) { return rmsNorm(x, w, norm); }, x, tx,
                  rmsNormTangent(tx, x, w, norm));
  }
}

TEST_F(KernelsReferenceTest, AttentionTangent) {
  for (int64_t window : {0, 1, 3})
    checkAttentionTangent({4, 2, 0.3, window});
}

void KernelsReferenceTest::checkAttentionTangent(const Heads &heads) {
  Matrix q = random(9, 12), k = random(9, 6), v = random(9, 6);
  Matrix tq = random(9, 12), tk = random(9, 6), tv = random(9, 6);
  Rows starts = sequenceStarts(9);
  auto along = [&](const Matrix *tq, const Matrix *tk, const Matrix *tv) {
    return attentionTangent(q, k, v, starts, {tq, tk, tv}, heads);
  };
  expectTangent(
      [&](const Matrix &q) { return attention(q, k, v, starts, heads).y; }, q,
      tq, along(&tq, nullptr, nullptr));
  expectTangent(
      [&](const Matrix &k) { return attention(q, k, v, starts, heads).y; }, k,
      tk, along(nullptr, &tk, nullptr));
  expectTangent(
      [&](const Matrix &v) { return attention(q, k, v, starts, heads).y; }, v,
      tv, along(nullptr, nullptr, &tv));
}

TEST_F(KernelsReferenceTest, GatedActivationTangent) {
  for (const reference::Activation &f : activations) {
    Matrix g = random(5, 6), u = random(5, 6);
    Matrix tg = random(5, 6), tu = random(5, 6);
    expectTangent([&](const Matrix &g) { return gatedActivation(f, g, u); }, g,
                  tg, gatedActivationTangent(f, g, u, &tg, nullptr));
    expectTangent([&](const Matrix &u) { return gatedActivation(f, g, u); }, u,
                  tu, gatedActivationTangent(f, g, u, nullptr, &tu));
  }
}

TEST_F(KernelsReferenceTest, LinearCrossEntropyTangent) {
  Matrix x = random(5, 6), w = random(9, 6), tx = random(5, 6);
  Rows targets = {3, -100, 8, 0, -100};
  for (double smoothing : {0.0, 0.25}) {
    auto loss = [&](const Matrix &x) {
      return Matrix(1, 1, linearCrossEntropy(x, w, targets, smoothing).loss);
    };
    double want = linearCrossEntropyTangent(tx, x, w, targets, smoothing);
    expectTangent(loss, x, tx, Matrix(1, 1, want));
  }
}

TEST_F(KernelsReferenceTest, GradientsOfParameters) {
  Matrix x = random(5, 6), w = random(7, 6), dy = random(5, 7);
  Matrix table = random(9, 6), dx = random(5, 6);
  Rows targets = {3, -100, 8, 0, -100}, ids = {3, 1, 8, 3, 3};
  expectAdjoint([&](const Matrix &w) { return linear(x, w, nullptr); }, w, dy,
                linearParameterAdjoint(dy, x));
  expectAdjoint([&](const Matrix &b) { return linear(x, w, &b); }, random(1, 7),
                dy, biasAdjoint(dy));
  for (int64_t heads : {1, 3}) {
    Norm norm{1e-5, heads, /*offset=*/0.5};
    expectAdjoint([&](const Matrix &n) { return rmsNorm(x, n, norm); },
                  random(1, 6 / heads), dx,
                  rmsNormParameterAdjoint(dx, x, norm));
  }
  expectAdjoint([&](const Matrix &t) { return embedding(ids, t); }, table, dx,
                embeddingParameterAdjoint(dx, ids, 9));
  for (double smoothing : {0.0, 0.25})
    expectAdjoint(
        [&](const Matrix &w) {
          return Matrix(1, 1,
                        linearCrossEntropy(x, w, targets, smoothing).loss);
        },
        table, Matrix(1, 1, 1.0),
        linearCrossEntropyParameterAdjoint(x, table, targets, smoothing));
}
