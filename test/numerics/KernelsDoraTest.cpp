//===- KernelsDoraTest.cpp - Lengths and magnitudes of rows ---------------===//

#include "test/numerics/KernelCase.h"

using namespace hone;
using namespace hone::reference;

namespace {
class KernelsDoraTest : public KernelTest {
protected:
  /// Lengths that a quotient may have.
  Matrix positive(int64_t columns) {
    Matrix lengths = random(1, columns);
    for (double &value : lengths.values)
      value = value * value + 0.25; // exact enough in f32
    return rounded(lengths);
  }

private:
  static Matrix rounded(Matrix matrix) {
    for (double &value : matrix.values)
      value = static_cast<float>(value);
    return matrix;
  }
};
INSTANTIATE_TEST_SUITE_P(Elements, KernelsDoraTest,
                         testing::Values("f32", "f64", "bf16"));
} // namespace

// More inputs than a register has, ranks of one and of more than inputs.
TEST_P(KernelsDoraTest, RowLengths) {
  for (auto [in, out, rank] :
       {std::tuple{48, 72, 4}, {7, 5, 1}, {1100, 9, 33}, {3, 300, 8}}) {
    const std::string i = std::to_string(in), o = std::to_string(out),
                      r = std::to_string(rank);
    KernelCase kernel(element(),
                      {{"w", o + "x" + i + "xC"},
                       {"a", r + "x" + i + "xC"},
                       {"b", o + "x" + r + "xC"}},
                      {o + "xC"}, "hone.row_lengths %w, %a, %b scale 1.5");
    Lora lora{random(out, in), random(rank, in), random(out, rank), 1.5};
    kernel.set("w", lora.w);
    kernel.set("a", lora.a);
    kernel.set("b", lora.b);
    expectClose(kernel.run(1)[0], rowLengths(lora), computed(), in + rank,
                "row_lengths");
  }
}

TEST_P(KernelsDoraTest, Rescale) {
  for (int64_t out : {5, 72, 200})
    for (bool hasBias : {false, true}) {
      const std::string o = std::to_string(out);
      std::vector<KernelCase::Operand> operands = {
          {"x", "?x" + o + "xT"}, {"m", o + "xC"}, {"n", o + "xC"}};
      if (hasBias)
        operands.push_back({"b", o + "xC"});
      KernelCase kernel(element(), operands, {"?x" + o + "xT"},
                        std::string("hone.rescale %x, %m, %n") +
                            (hasBias ? " bias %b" : ""));
      Matrix m = random(1, out), n = positive(out), b = random(1, out);
      kernel.set("m", m);
      kernel.set("n", n);
      if (hasBias)
        kernel.set("b", b);
      for (int64_t rows : kRowCounts) {
        Matrix x = random(rows, out);
        kernel.set("x", x);
        expectClose(kernel.run(rows)[0],
                    rescale(x, m, n, hasBias ? &b : nullptr), element(), 4,
                    "rescale");
      }
    }
}

TEST_P(KernelsDoraTest, RescaleParameterAdjoint) {
  for (int64_t out : {5, 72, 200}) {
    const std::string o = std::to_string(out);
    KernelCase kernel(
        element(),
        {{"dy", "?x" + o + "xT"}, {"x", "?x" + o + "xT"}, {"n", o + "xC"}},
        {o + "xC"}, "hone.rescale_parameter_adjoint %dy, %x, %n");
    Matrix n = positive(out);
    kernel.set("n", n);
    for (int64_t rows : kRowCounts) {
      Matrix dy = random(rows, out), x = random(rows, out);
      kernel.set("dy", dy);
      kernel.set("x", x);
      expectClose(kernel.run(rows)[0], rescaleParameterAdjoint(dy, x, n),
                  computed(), rows + 2, "rescale_parameter_adjoint");
    }
  }
}
