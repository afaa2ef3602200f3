//===- KernelsRowTest.cpp - Row-wise ops against the reference ------------===//
//
// Widths are no multiple of a vector, so tails are always part of the test.
//
//===----------------------------------------------------------------------===//

#include "test/numerics/KernelCase.h"

using namespace hone;
using namespace hone::reference;

namespace {
class KernelsRowTest : public KernelTest {};
INSTANTIATE_TEST_SUITE_P(Elements, KernelsRowTest,
                         testing::Values("f32", "f64", "bf16"));
} // namespace

TEST_P(KernelsRowTest, Embedding) {
  KernelCase kernel(element(), {{"ids", "?xi32"}, {"table", "50x37xT"}},
                    {"?x37xT"}, "hone.embedding %ids, %table");
  Matrix table = random(50, 37);
  kernel.set("table", table);
  for (int64_t rows : kRowCounts) {
    Rows ids(rows);
    for (int64_t i = 0; i < rows; ++i)
      ids[i] = (i * 13) % 50;
    kernel.set("ids", ids);
    expectClose(kernel.run(rows)[0], embedding(ids, table), element(), 0,
                "embedding");
  }
}

TEST_P(KernelsRowTest, RmsNorm) {
  KernelCase kernel(element(), {{"x", "?x75xT"}, {"w", "75xC"}},
                    {"?x75xT", "?xC"}, "hone.rms_norm %x, %w eps 1.0e-5");
  Matrix w = random(1, 75);
  kernel.set("w", w);
  for (int64_t rows : kRowCounts) {
    Matrix x = random(rows, 75);
    kernel.set("x", x);
    std::vector<Matrix> got = kernel.run(rows);
    expectClose(got[0], rmsNorm(x, w, 1e-5), element(), 75, "rms_norm");
    expectClose(got[1], reciprocalRms(x, 1e-5), element(), 75, "rms_norm_rstd");
  }
}

TEST_P(KernelsRowTest, RmsNormAdjoint) {
  for (bool keptRstd : {false, true}) {
    std::vector<KernelCase::Operand> operands = {
        {"dy", "?x75xT"}, {"x", "?x75xT"}, {"w", "75xC"}};
    if (keptRstd)
      operands.push_back({"rstd", "?xC"});
    KernelCase kernel(element(), operands, {"?x75xT"},
                      std::string("hone.rms_norm_adjoint %dy, %x, %w ") +
                          (keptRstd ? "rstd %rstd " : "") + "eps 1.0e-5");
    Matrix w = random(1, 75);
    kernel.set("w", w);
    for (int64_t rows : kRowCounts) {
      Matrix x = random(rows, 75), dy = random(rows, 75);
      kernel.set("x", x);
      kernel.set("dy", dy);
      if (keptRstd)
        kernel.set("rstd", reciprocalRms(x, 1e-5));
      expectClose(kernel.run(rows)[0], rmsNormAdjoint(dy, x, w, 1e-5),
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

TEST_P(KernelsRowTest, Swiglu) {
  KernelCase kernel(element(), {{"g", "?x75xT"}, {"u", "?x75xT"}}, {"?x75xT"},
                    "\"hone.swiglu\"(%g, %u)");
  for (int64_t rows : kRowCounts) {
    Matrix g = scale(random(rows, 75), 16), u = random(rows, 75);
    // The tails, where exp overflows in single precision.
    g(0, 0) = -100;
    g(0, 1) = 100;
    kernel.set("g", g);
    kernel.set("u", u);
    expectClose(kernel.run(rows)[0], swiglu(g, u), element(), 0, "swiglu");
  }
}

TEST_P(KernelsRowTest, SwigluAdjoint) {
  KernelCase kernel(
      element(), {{"dy", "?x75xT"}, {"g", "?x75xT"}, {"u", "?x75xT"}},
      {"?x75xT", "?x75xT"}, "\"hone.swiglu_adjoint\"(%dy, %g, %u)");
  for (int64_t rows : kRowCounts) {
    Matrix dy = random(rows, 75), g = scale(random(rows, 75), 16);
    Matrix u = random(rows, 75);
    g(0, 0) = -100;
    g(0, 1) = 100;
    kernel.set("dy", dy);
    kernel.set("g", g);
    kernel.set("u", u);
    std::vector<Matrix> got = kernel.run(rows);
    SwigluGradients want = swigluAdjoint(dy, g, u);
    expectClose(got[0], want.dgate, element(), 0, "swiglu_adjoint_gate");
    expectClose(got[1], want.dup, element(), 0, "swiglu_adjoint_up");
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
