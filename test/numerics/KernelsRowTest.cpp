//===- KernelsRowTest.cpp - Row-wise ops against the reference ------------===//
//
// Widths are no multiple of a vector, so tails are always part of the test.
//
//===----------------------------------------------------------------------===//

#include "runtime/src/base/Dtype.h"
#include "test/numerics/KernelCase.h"

using namespace hone;
using namespace hone::reference;

namespace {
class KernelsRowTest : public KernelTest {};
INSTANTIATE_TEST_SUITE_P(Elements, KernelsRowTest,
                         testing::Values("f32", "f64", "bf16"));
} // namespace

TEST_P(KernelsRowTest, Embedding) {
  for (double factor : {1.0, 33.94}) {
    KernelCase kernel(element(), {{"ids", "?xi32"}, {"table", "50x37xT"}},
                      {"?x37xT"},
                      std::string("hone.embedding %ids, %table") +
                          (factor != 1 ? " scale 33.94" : ""));
    Matrix table = random(50, 37);
    kernel.set("table", table);
    for (int64_t rows : kRowCounts) {
      Rows ids(rows);
      for (int64_t i = 0; i < rows; ++i)
        ids[i] = (i * 13) % 50;
      kernel.set("ids", ids);
      expectClose(kernel.run(rows)[0], embedding(ids, table, factor), element(),
                  0, "embedding");
    }
  }
}

/// The whole row; heads of odd sizes.
static constexpr Norm norms[] = {{1e-5}, {1e-5, 5, 1}, {1e-5, 25, -0.5}};

static std::string textOf(const Norm &norm) {
  if (norm.heads == 1)
    return " eps 1.0e-5";
  return " heads " + std::to_string(norm.heads) + " offset " +
         std::to_string(norm.offset) + " eps 1.0e-5";
}

static std::string sizeOf(const Norm &norm) {
  return std::to_string(75 / norm.heads);
}

TEST_P(KernelsRowTest, RmsNorm) {
  for (const Norm &norm : norms) {
    KernelCase kernel(element(), {{"x", "?x75xT"}, {"w", sizeOf(norm) + "xC"}},
                      {"?x75xT", "?x" + std::to_string(norm.heads) + "xC"},
                      "hone.rms_norm %x, %w" + textOf(norm));
    Matrix w = random(1, 75 / norm.heads);
    kernel.set("w", w);
    for (int64_t rows : kRowCounts) {
      Matrix x = random(rows, 75);
      kernel.set("x", x);
      std::vector<Matrix> got = kernel.run(rows);
      expectClose(got[0], rmsNorm(x, w, norm), element(), 75, "rms_norm");
      expectClose(got[1], reciprocalRms(x, norm), element(), 75,
                  "rms_norm_rstd");
    }
  }
}

TEST_P(KernelsRowTest, RmsNormAdjoint) {
  for (const Norm &norm : norms)
    for (bool keptRstd : {false, true}) {
      std::vector<KernelCase::Operand> operands = {
          {"dy", "?x75xT"}, {"x", "?x75xT"}, {"w", sizeOf(norm) + "xC"}};
      if (keptRstd)
        operands.push_back({"rstd", "?x" + std::to_string(norm.heads) + "xC"});
      KernelCase kernel(element(), operands, {"?x75xT"},
                        std::string("hone.rms_norm_adjoint %dy, %x, %w") +
                            (keptRstd ? " rstd %rstd" : "") + textOf(norm));
      Matrix w = random(1, 75 / norm.heads);
      kernel.set("w", w);
      for (int64_t rows : kRowCounts) {
        Matrix x = random(rows, 75), dy = random(rows, 75);
        kernel.set("x", x);
        kernel.set("dy", dy);
        if (keptRstd)
          kernel.set("rstd", reciprocalRms(x, norm));
        expectClose(kernel.run(rows)[0], rmsNormAdjoint(dy, x, w, norm),
                    element(), 75, "rms_norm_adjoint");
      }
    }
}

TEST_P(KernelsRowTest, Rope) {
  for (int direction : {1, -1}) {
    KernelCase kernel(element(), {{"x", "?x72xT"}, {"starts", "?xi32"}},
                      {"?x72xT"},
                      std::string("hone.rope %x, %starts heads 3 theta "
                                  "1.0e4 ") +
                          (direction < 0 ? "inverse" : ""));
    for (int64_t rows : kRowCounts) {
      Matrix x = random(rows, 72);
      kernel.set("x", x);
      kernel.set("starts", sequenceStarts(rows));
      expectClose(kernel.run(rows)[0],
                  rope(x, sequenceStarts(rows), 3, 1e4, direction), element(),
                  0, "rope");
    }
  }
}

/// Of an op in generic form.
static std::string attributes(const reference::Activation &f) {
  return std::string(" {activation = #hone<activation ") + f.name + ">}";
}

/// Where the pieces of erf meet, and far out.
constexpr double kGateScales[] = {4, 16};

TEST_P(KernelsRowTest, GatedActivation) {
  for (const reference::Activation &f : activations) {
    KernelCase kernel(element(), {{"g", "?x75xT"}, {"u", "?x75xT"}}, {"?x75xT"},
                      "\"hone.gated_activation\"(%g, %u)" + attributes(f));
    for (int64_t rows : kRowCounts)
      for (double size : kGateScales) {
        Matrix g = scale(random(rows, 75), size), u = random(rows, 75);
        // The tails, where exp overflows in single precision.
        if (size == 16) {
          g(0, 0) = -100;
          g(0, 1) = 100;
        }
        kernel.set("g", g);
        kernel.set("u", u);
        expectClose(kernel.run(rows)[0], gatedActivation(f, g, u), element(), 0,
                    f.name);
      }
  }
}

TEST_P(KernelsRowTest, GatedActivationAdjoint) {
  for (const reference::Activation &f : activations) {
    KernelCase kernel(
        element(), {{"dy", "?x75xT"}, {"g", "?x75xT"}, {"u", "?x75xT"}},
        {"?x75xT", "?x75xT"},
        "\"hone.gated_activation_adjoint\"(%dy, %g, %u)" + attributes(f));
    for (int64_t rows : kRowCounts)
      for (double size : kGateScales) {
        Matrix dy = random(rows, 75), g = scale(random(rows, 75), size);
        Matrix u = random(rows, 75);
        if (size == 16) {
          g(0, 0) = -100;
          g(0, 1) = 100;
        }
        g(0, 2) = 0;
        kernel.set("dy", dy);
        kernel.set("g", g);
        kernel.set("u", u);
        std::vector<Matrix> got = kernel.run(rows);
        GatedGradients want = gatedActivationAdjoint(f, dy, g, u);
        expectClose(got[0], want.dgate, element(), 0, f.name);
        expectClose(got[1], want.dup, element(), 0, f.name);
      }
  }
}

// Cubes overflow in single precision; the slope is zero or one.
TEST_P(KernelsRowTest, GatedActivationOfHugeGates) {
  for (const reference::Activation &f : activations) {
    KernelCase kernel(
        element(), {{"dy", "?x2xT"}, {"g", "?x2xT"}, {"u", "?x2xT"}},
        {"?x2xT", "?x2xT"},
        "\"hone.gated_activation_adjoint\"(%dy, %g, %u)" + attributes(f));
    Matrix g(1, 2, 0x1p43), ones(1, 2, 1);
    g(0, 0) = -0x1p43;
    kernel.set("dy", ones);
    kernel.set("g", g);
    kernel.set("u", ones);
    std::vector<Matrix> got = kernel.run(1);
    EXPECT_EQ(got[0].values, (std::vector<double>{0, 1})) << f.name;
    EXPECT_EQ(got[1].values, (std::vector<double>{0, 0x1p43})) << f.name;
  }
}

// To bfloat16 each element is rounded to nearest even; else nothing changes.
TEST_P(KernelsRowTest, Convert) {
  KernelCase test(element(), {{"x", "?x75xC"}}, {"?x75xT"},
                  "\"hone.convert\"(%x)");
  const bool isRounded = element().rfind("bf16", 0) == 0;
  for (int64_t rows : kRowCounts) {
    Matrix x = random(rows, 75), expected = x;
    for (size_t i = 0; i < x.values.size(); ++i) {
      auto third = static_cast<float>(x.values[i] / 3);
      x.values[i] = third;
      expected.values[i] =
          isRounded ? rt::bfloat16ToFloat(rt::floatToBfloat16(third)) : third;
    }
    test.set("x", x);
    EXPECT_EQ(test.run(rows)[0].values, expected.values);
  }
}

TEST_P(KernelsRowTest, AddAndScale) {
  KernelCase sum(element(), {{"a", "?x75xT"}, {"b", "?x75xT"}}, {"?x75xT"},
                 "\"hone.add\"(%a, %b)");
  KernelCase multiple(element(), {{"x", "?x75xT"}, {"f", "f64"}}, {"?x75xT"},
                      "hone.scale %x, %f");
  for (int64_t rows : kRowCounts) {
    Matrix a = random(rows, 75), b = random(rows, 75);
    sum.set("a", a);
    sum.set("b", b);
    expectClose(sum.run(rows)[0], add(a, b), element(), 0, "add");
    multiple.set("x", a);
    multiple.set("f", Matrix(1, 1, 0.3));
    expectClose(multiple.run(rows)[0], scale(a, 0.3), element(), 0, "scale");
  }
}
