//===- KernelsMatmulTest.cpp - Products against the reference -------------===//
//
// Sizes cross every block: features beyond one dot block, columns that are no
// multiple of a panel, ranks narrower than a vector.
//
//===----------------------------------------------------------------------===//

#include "targets/gpu/TileShape.h"
#include "test/numerics/KernelCase.h"

using namespace hone;
using namespace hone::reference;

namespace {
class KernelsMatmulTest : public KernelTest {};
INSTANTIATE_TEST_SUITE_P(Elements, KernelsMatmulTest,
                         testing::Values("f32", "f64", kMedium, "bf16",
                                         kPairs));

/// Products of so many rows that tiles are large, or wide on sm_90a, and go by
/// bands, the last of which has one tile of rows.
class LargeTilesTest : public KernelTest {
protected:
  static constexpr int64_t rows = 4200, in = 1024, out = 1024, rank = 8;

  void SetUp() override {
    if (!addsOnMatrixUnits(element()))
      GTEST_SKIP() << "needs matrix units";
    ASSERT_TRUE(simt::isWorthWideTiles(rows, out, in));
    ASSERT_EQ((rows + simt::kMostPlaces - 1) / simt::kMostPlaces %
                  simt::bandTiles(rows),
              1);
    KernelTest::SetUp();
  }
  /// One row of each tile, and the last one.
  static Matrix someRows(const Matrix &of) {
    Matrix some(0, of.columns);
    auto take = [&](int64_t row) {
      auto first = of.values.begin() + row * of.columns;
      some.values.insert(some.values.end(), first, first + of.columns);
      ++some.rows;
    };
    for (int64_t row = 0; row < of.rows; row += simt::kMostPlaces - 1)
      take(row);
    take(of.rows - 1);
    return some;
  }
};
INSTANTIATE_TEST_SUITE_P(Elements, LargeTilesTest, testing::Values(kPairs));
} // namespace

TEST_P(LargeTilesTest, LoraLinear) {
  Lora lora{random(out, in), random(rank, in), random(out, rank), 1.5};
  Matrix bias = random(1, out), x = random(rows, in);
  KernelCase kernel(element(),
                    {{"x", "?x1024xT"},
                     {"w", "1024x1024xT"},
                     {"a", "8x1024xC"},
                     {"b", "1024x8xC"},
                     {"bias", "1024xC"}},
                    {"?x1024xT"},
                    "hone.lora_linear %x, %w, %a, %b bias %bias scale 1.5",
                    rows);
  kernel.set("w", lora.w);
  kernel.set("a", lora.a);
  kernel.set("b", lora.b);
  kernel.set("bias", bias);
  kernel.set("x", x);
  expectClose(someRows(kernel.run(rows)[0]),
              loraLinear(someRows(x), lora, &bias), element(), in,
              "lora_linear");
}

TEST_P(LargeTilesTest, LinearAdjoint) {
  Matrix w = random(in, out), dy = random(rows, in);
  KernelCase kernel(element(), {{"dy", "?x1024xT"}, {"w", "1024x1024xT"}},
                    {"?x1024xT"}, "hone.linear_adjoint %dy, %w", rows);
  kernel.set("w", w);
  kernel.set("dy", dy);
  expectClose(someRows(kernel.run(rows)[0]), linearAdjoint(someRows(dy), w),
              element(), in, "linear_adjoint");
}

TEST_P(KernelsMatmulTest, Linear) {
  for (auto [in, out] : {std::pair{48, 200}, {1500, 72}}) {
    std::string i = std::to_string(in), o = std::to_string(out);
    KernelCase kernel(
        element(),
        {{"x", "?x" + i + "xT"}, {"w", o + "x" + i + "xT"}, {"b", o + "xC"}},
        {"?x" + o + "xT"}, "hone.linear %x, %w bias %b");
    Matrix w = random(out, in), b = random(1, out);
    kernel.set("w", w);
    kernel.set("b", b);
    for (int64_t rows : kRowCounts) {
      Matrix x = random(rows, in);
      kernel.set("x", x);
      expectClose(kernel.run(rows)[0], linear(x, w, &b), element(), in,
                  "linear");
    }
  }
}

TEST_P(KernelsMatmulTest, LinearAdjoint) {
  for (auto [in, out] : {std::pair{72, 48}, {40, 2100}}) {
    std::string i = std::to_string(in), o = std::to_string(out);
    KernelCase kernel(element(),
                      {{"dy", "?x" + o + "xT"}, {"w", o + "x" + i + "xT"}},
                      {"?x" + i + "xT"}, "hone.linear_adjoint %dy, %w");
    Matrix w = random(out, in);
    kernel.set("w", w);
    for (int64_t rows : kRowCounts) {
      Matrix dy = random(rows, out);
      kernel.set("dy", dy);
      expectClose(kernel.run(rows)[0], linearAdjoint(dy, w), element(), out,
                  "linear_adjoint");
    }
  }
}

// Few rows go through the panel in pieces.
TEST_P(KernelsMatmulTest, RowsBesideChangeNoBitOfALinearAdjoint) {
  for (int64_t in : {72, 40}) {
    std::string i = std::to_string(in);
    KernelCase kernel(element(),
                      {{"dy", "?x2100xT"}, {"w", "2100x" + i + "xT"}},
                      {"?x" + i + "xT"}, "hone.linear_adjoint %dy, %w");
    kernel.set("w", random(2100, in));
    kernel.set("dy", random(100, 2100));
    Matrix many = kernel.run(100)[0];
    for (int64_t rows : {1, 7, 32}) {
      Matrix few = kernel.run(rows)[0];
      for (size_t at = 0; at < few.values.size(); ++at)
        ASSERT_EQ(few.values[at], many.values[at]) << rows << ", " << at;
    }
  }
}

/// [in, out, rank]; the first without a kept h, the second with one, the others
/// both ways. The last is a GPU's in parts, which end within a stage.
static constexpr int64_t kLoraShapes[][3] = {
    {48, 72, 4}, {72, 200, 8}, {1100, 40, 20}, {4136, 72, 12}};

static bool isRun(int64_t rank, bool withH) {
  return rank != (withH ? kLoraShapes[0] : kLoraShapes[1])[2];
}

TEST_P(KernelsMatmulTest, LoraLinear) {
  for (auto [in, out, rank] : kLoraShapes) {
    std::string i = std::to_string(in), o = std::to_string(out);
    std::string r = std::to_string(rank);
    Lora lora{random(out, in), random(rank, in), random(out, rank), 1.5};
    Matrix bias = random(1, out);
    for (bool keepH : {false, true}) {
      if (!isRun(rank, keepH))
        continue;
      std::vector<std::string> results = {"?x" + o + "xT"};
      if (keepH)
        results.push_back("?x" + r + "xC");
      KernelCase kernel(element(),
                        {{"x", "?x" + i + "xT"},
                         {"w", o + "x" + i + "xT"},
                         {"a", r + "x" + i + "xC"},
                         {"b", o + "x" + r + "xC"},
                         {"bias", o + "xC"}},
                        results,
                        "hone.lora_linear %x, %w, %a, %b bias %bias scale 1.5");
      kernel.set("w", lora.w);
      kernel.set("a", lora.a);
      kernel.set("b", lora.b);
      kernel.set("bias", bias);
      for (int64_t rows : kRowCounts) {
        Matrix x = random(rows, in);
        kernel.set("x", x);
        std::vector<Matrix> got = kernel.run(rows);
        expectClose(got[0], loraLinear(x, lora, &bias), element(), in,
                    "lora_linear");
        if (keepH)
          expectClose(got[1], scale(product(x, transpose(lora.a)), lora.scale),
                      computed(), in, "lora_linear_h");
      }
    }
  }
}

TEST_P(KernelsMatmulTest, LoraLinearAdjoint) {
  for (auto [out, in, rank] : kLoraShapes) {
    std::string i = std::to_string(in), o = std::to_string(out);
    std::string r = std::to_string(rank);
    KernelCase kernel(element(),
                      {{"dy", "?x" + o + "xT"},
                       {"w", o + "x" + i + "xT"},
                       {"a", r + "x" + i + "xC"},
                       {"b", o + "x" + r + "xC"}},
                      {"?x" + i + "xT"},
                      "hone.lora_linear_adjoint %dy, %w, %a, %b scale 1.5");
    Lora lora{random(out, in), random(rank, in), random(out, rank), 1.5};
    kernel.set("w", lora.w);
    kernel.set("a", lora.a);
    kernel.set("b", lora.b);
    for (int64_t rows : kRowCounts) {
      Matrix dy = random(rows, out);
      kernel.set("dy", dy);
      expectClose(kernel.run(rows)[0], loraLinearAdjoint(dy, lora), element(),
                  out, "lora_linear_adjoint");
    }
  }
}

TEST_P(KernelsMatmulTest, LoraInnerAdjoint) {
  for (auto [in, out, rank] : kLoraShapes) {
    std::string o = std::to_string(out), r = std::to_string(rank);
    KernelCase kernel(
        element(), {{"dy", "?x" + o + "xT"}, {"b", o + "x" + r + "xC"}},
        {"?x" + r + "xC"}, "hone.lora_inner_adjoint %dy, %b scale 1.5");
    Matrix b = random(out, rank);
    kernel.set("b", b);
    for (int64_t rows : kRowCounts) {
      Matrix dy = random(rows, out);
      kernel.set("dy", dy);
      expectClose(kernel.run(rows)[0], scale(product(dy, b), 1.5), computed(),
                  out, "lora_inner_adjoint");
    }
  }
}

// A common operand of both adjoints may be computed once for both: every bit is
// the same.
TEST_P(KernelsMatmulTest, LoraAdjointsThatAreGivenUHaveTheBitsOfTheirOwn) {
  constexpr int64_t in = 72, out = 200, rank = 8;
  const std::vector<KernelCase::Operand> own = {{"dy", "?x200xT"},
                                                {"x", "?x72xT"},
                                                {"w", "200x72xT"},
                                                {"a", "8x72xC"},
                                                {"b", "200x8xC"}};
  std::vector<KernelCase::Operand> shared = own;
  shared.push_back({"u", "?x8xC"});
  KernelCase inner(element(), {own[0], own[4]}, {"?x8xC"},
                   "hone.lora_inner_adjoint %dy, %b scale 1.5");
  Matrix w = random(out, in), a = random(rank, in), b = random(out, rank);
  struct Adjoint {
    std::string op, operands;
    std::vector<std::string> results;
    std::vector<unsigned> reads;
  };
  for (const Adjoint &adjoint : {Adjoint{"hone.lora_linear_adjoint",
                                         " %dy, %w, %a, %b",
                                         {"?x72xT"},
                                         {0, 2, 3, 4}},
                                 Adjoint{"hone.lora_parameter_adjoint",
                                         " %dy, %x, %a, %b",
                                         {"8x72xC", "200x8xC"},
                                         {0, 1, 3, 4}}}) {
    std::vector<KernelCase::Operand> alone, given;
    for (unsigned at : adjoint.reads)
      alone.push_back(own[at]);
    given = alone;
    given.push_back(shared.back());
    std::string text = adjoint.op + adjoint.operands;
    KernelCase without(element(), alone, adjoint.results, text + " scale 1.5");
    KernelCase with(element(), given, adjoint.results,
                    text + " u %u scale 1.5");
    for (int64_t rows : {5, 100}) {
      Matrix dy = random(rows, out), x = random(rows, in);
      for (KernelCase *kernel : {&inner, &without, &with}) {
        kernel->set("dy", dy);
        kernel->set("b", b);
      }
      for (KernelCase *kernel : {&without, &with}) {
        kernel->set("a", a);
        if (adjoint.reads[1] == 1)
          kernel->set("x", x);
        else
          kernel->set("w", w);
      }
      with.set("u", inner.run(rows)[0]);
      std::vector<Matrix> got = with.run(rows), want = without.run(rows);
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_EQ(got[i].values, want[i].values) << adjoint.op << ", " << rows;
    }
  }
}

/// The kernel's da and db are those of `lora`, as sums of so many terms.
static void expectLoraGradients(KernelCase &kernel, const Lora &lora,
                                const Matrix &dy, const Matrix &x,
                                const std::string &element, int64_t aTerms,
                                int64_t bTerms) {
  kernel.set("dy", dy);
  kernel.set("x", x);
  std::vector<Matrix> got = kernel.run(x.rows);
  LoraGradients want = loraParameterAdjoint(dy, x, lora);
  expectClose(got[0], want.da, element, aTerms, "lora_parameter_adjoint_a");
  expectClose(got[1], want.db, element, bTerms, "lora_parameter_adjoint_b");
}

TEST_P(KernelsMatmulTest, LoraParameterAdjoint) {
  for (auto [in, out, rank] : kLoraShapes) {
    std::string i = std::to_string(in), o = std::to_string(out);
    std::string r = std::to_string(rank);
    Lora lora{random(out, in), random(rank, in), random(out, rank), 1.5};
    for (bool keptH : {false, true}) {
      if (!isRun(rank, keptH))
        continue;
      std::vector<KernelCase::Operand> operands = {{"dy", "?x" + o + "xT"},
                                                   {"x", "?x" + i + "xT"},
                                                   {"a", r + "x" + i + "xC"},
                                                   {"b", o + "x" + r + "xC"}};
      if (keptH)
        operands.push_back({"h", "?x" + r + "xC"});
      KernelCase kernel(element(), operands,
                        {r + "x" + i + "xC", o + "x" + r + "xC"},
                        std::string("hone.lora_parameter_adjoint %dy, %x, %a, "
                                    "%b ") +
                            (keptH ? "h %h " : "") + "scale 1.5");
      kernel.set("a", lora.a);
      kernel.set("b", lora.b);
      for (int64_t rows : kRowCounts) {
        Matrix dy = random(rows, out), x = random(rows, in);
        if (keptH)
          kernel.set("h", scale(product(x, transpose(lora.a)), lora.scale));
        expectLoraGradients(kernel, lora, dy, x, computed(), out + rows,
                            in + rows);
      }
    }
  }
}

// A rank that is no power of two, and more than a GPU's tile has columns.
TEST_P(KernelsMatmulTest, LoraParameterAdjointOfRanks) {
  constexpr int64_t rows = 40, in = 136, out = 72;
  for (int64_t rank : {12, 128}) {
    std::string r = std::to_string(rank);
    KernelCase kernel(element(),
                      {{"dy", "?x72xT"},
                       {"x", "?x136xT"},
                       {"a", r + "x136xC"},
                       {"b", "72x" + r + "xC"}},
                      {r + "x136xC", "72x" + r + "xC"},
                      "hone.lora_parameter_adjoint %dy, %x, %a, %b scale 1.5");
    Lora lora{Matrix(), random(rank, in), random(out, rank), 1.5};
    Matrix dy = random(rows, out), x = random(rows, in);
    kernel.set("a", lora.a);
    kernel.set("b", lora.b);
    expectLoraGradients(kernel, lora, dy, x, computed(), out + rows, in + rows);
  }
}

// More rows than one partial sum takes.
TEST_P(KernelsMatmulTest, LoraParameterAdjointOfManyRows) {
  constexpr int64_t rows = 600;
  KernelCase kernel(
      element(),
      {{"dy", "?x72xT"}, {"x", "?x48xT"}, {"a", "4x48xC"}, {"b", "72x4xC"}},
      {"4x48xC", "72x4xC"},
      "hone.lora_parameter_adjoint %dy, %x, %a, %b scale 1.5",
      /*maxRows=*/700);
  Lora lora{Matrix(), random(4, 48), random(72, 4), 1.5};
  Matrix dy = random(rows, 72), x = random(rows, 48);
  kernel.set("a", lora.a);
  kernel.set("b", lora.b);
  expectLoraGradients(kernel, lora, dy, x, computed(), rows, rows);
}
