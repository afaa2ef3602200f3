//===- KernelsDropoutTest.cpp - Masks and noise against the reference -----===//
//
// The factors of an adapter's input and the noise of embeddings are
// RandomStream's; the rest is the reference's. Widths are whole groups of 64
// columns, less than one, and more than a block of a sum.
//
//===----------------------------------------------------------------------===//

#include "runtime/src/base/Philox.h"
#include "test/numerics/KernelCase.h"

#include <cmath>

using namespace hone;
using namespace hone::reference;
using rt::RandomPurpose;
using rt::RandomStream;

namespace {
class KernelsDropoutTest : public KernelTest {
protected:
  static constexpr uint64_t seed = 0x123456789abcdef0, step = 70000;
  static constexpr uint32_t batch = 3;
  static constexpr double p = 0.25;

  static Rows key() {
    Rows words;
    for (uint32_t word : RandomStream::keyOf(seed, step, batch))
      words.push_back(static_cast<int32_t>(word));
    return words;
  }
  /// Of the rows from `first` on.
  static Matrix mask(int64_t rows, int64_t columns, int64_t first = 0) {
    RandomStream stream(seed, step, RandomPurpose::Dropout, "q_proj", batch);
    Matrix result(rows, columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        if (stream.word(first + i, j, columns) >= p * 0x1p32)
          result(i, j) = 1 / (1 - p);
    return result;
  }
  static std::string dropped(const std::string &text) {
    return text + " scale 1.5 dropout 0.25 of \"q_proj\" by %key";
  }
  Lora randomLora(int64_t in, int64_t out, int64_t rank) {
    return {random(out, in), random(rank, in), random(out, rank), 1.5};
  }
};
INSTANTIATE_TEST_SUITE_P(Elements, KernelsDropoutTest,
                         testing::Values("f32", "f64", kMedium, "bf16",
                                         kPairs));

/// The numbers of a shape as the types of operands have them.
struct Shape {
  int64_t in, out, rank;

  std::string x() const { return "?x" + std::to_string(in) + "xT"; }
  std::string y() const { return "?x" + std::to_string(out) + "xT"; }
  std::string w() const { return of(out, in, "T"); }
  std::string a() const { return of(rank, in, "C"); }
  std::string b() const { return of(out, rank, "C"); }
  std::string h() const { return "?x" + std::to_string(rank) + "xC"; }
  static std::string of(int64_t rows, int64_t columns, const char *element) {
    return std::to_string(rows) + "x" + std::to_string(columns) + "x" + element;
  }
};
constexpr Shape shapes[] = {{48, 72, 4}, {192, 200, 8}, {1100, 40, 20}};
} // namespace

TEST_P(KernelsDropoutTest, LoraLinear) {
  // The first shape without h, the second with it, the last both ways.
  for (const Shape &s : shapes)
    for (bool keepH : {false, true}) {
      if (s.rank == (keepH ? shapes[0] : shapes[1]).rank)
        continue;
      Lora lora = randomLora(s.in, s.out, s.rank);
      Matrix bias = random(1, s.out);
      std::vector<std::string> results = {s.y()};
      if (keepH)
        results.push_back(s.h());
      KernelCase kernel(element(),
                        {{"x", s.x()},
                         {"w", s.w()},
                         {"a", s.a()},
                         {"b", s.b()},
                         {"bias", std::to_string(s.out) + "xC"},
                         {"key", "4xi32"}},
                        results,
                        dropped("hone.lora_linear %x, %w, %a, %b bias %bias"));
      kernel.set("w", lora.w);
      kernel.set("a", lora.a);
      kernel.set("b", lora.b);
      kernel.set("bias", bias);
      kernel.set("key", key());
      for (int64_t rows : kRowCounts) {
        Matrix x = random(rows, s.in);
        lora.mask = mask(rows, s.in);
        kernel.set("x", x);
        std::vector<Matrix> got = kernel.run(rows);
        expectClose(got[0], loraLinear(x, lora, &bias), element(), s.in,
                    "lora_linear");
        if (!keepH)
          continue;
        Matrix kept = x;
        for (size_t i = 0; i < kept.values.size(); ++i)
          kept.values[i] *= lora.mask.values[i];
        expectClose(got[1], scale(product(kept, transpose(lora.a)), lora.scale),
                    computed(), s.in, "lora_linear_h");
      }
    }
}

TEST_P(KernelsDropoutTest, LoraLinearAdjoint) {
  for (const Shape &s : shapes) {
    Lora lora = randomLora(s.in, s.out, s.rank);
    KernelCase kernel(element(),
                      {{"dy", s.y()},
                       {"w", s.w()},
                       {"a", s.a()},
                       {"b", s.b()},
                       {"key", "4xi32"}},
                      {s.x()},
                      dropped("hone.lora_linear_adjoint %dy, %w, %a, %b"));
    kernel.set("w", lora.w);
    kernel.set("a", lora.a);
    kernel.set("b", lora.b);
    kernel.set("key", key());
    for (int64_t rows : kRowCounts) {
      Matrix dy = random(rows, s.out);
      lora.mask = mask(rows, s.in);
      kernel.set("dy", dy);
      expectClose(kernel.run(rows)[0], loraLinearAdjoint(dy, lora), element(),
                  s.out, "lora_linear_adjoint");
    }
  }
}

TEST_P(KernelsDropoutTest, LoraParameterAdjoint) {
  for (const Shape &s : shapes) {
    Lora lora = randomLora(s.in, s.out, s.rank);
    KernelCase kernel(element(),
                      {{"dy", s.y()},
                       {"x", s.x()},
                       {"a", s.a()},
                       {"b", s.b()},
                       {"key", "4xi32"}},
                      {s.a(), s.b()},
                      dropped("hone.lora_parameter_adjoint %dy, %x, %a, %b"));
    kernel.set("a", lora.a);
    kernel.set("b", lora.b);
    kernel.set("key", key());
    for (int64_t rows : kRowCounts) {
      Matrix dy = random(rows, s.out), x = random(rows, s.in);
      lora.mask = mask(rows, s.in);
      kernel.set("dy", dy);
      kernel.set("x", x);
      std::vector<Matrix> got = kernel.run(rows);
      LoraGradients want = loraParameterAdjoint(dy, x, lora);
      expectClose(got[0], want.da, computed(), s.out + rows, "da");
      expectClose(got[1], want.db, computed(), s.in + rows, "db");
    }
  }
}

TEST_P(KernelsDropoutTest, LoraParameterTangent) {
  const Shape s = {192, 72, 8};
  Lora lora = randomLora(s.in, s.out, s.rank);
  Matrix ta = random(s.rank, s.in), tb = random(s.out, s.rank);
  KernelCase kernel(
      element(),
      {{"x", s.x()},
       {"a", s.a()},
       {"b", s.b()},
       {"ta", s.a()},
       {"tb", s.b()},
       {"key", "4xi32"}},
      {s.y()}, dropped("hone.lora_parameter_tangent %x, %a, %b ta %ta tb %tb"));
  kernel.set("a", lora.a);
  kernel.set("b", lora.b);
  kernel.set("ta", ta);
  kernel.set("tb", tb);
  kernel.set("key", key());
  for (int64_t rows : kRowCounts) {
    Matrix x = random(rows, s.in);
    lora.mask = mask(rows, s.in);
    kernel.set("x", x);
    expectClose(kernel.run(rows)[0], loraParameterTangent(x, lora, &ta, &tb),
                element(), s.in, "lora_parameter_tangent");
  }
}

// Rows of a tile are those of the batch: tiles change no bit.
TEST_P(KernelsDropoutTest, TilesOfRowsChangeNoBit) {
  const std::string op =
      "hone.lora_linear %x, %w, %a, %b scale 2.0 dropout 0.25 of \"q_proj\" by "
      "%key : (tensor<?x96xT>, tensor<72x96xT>, tensor<4x96xC>, "
      "tensor<72x4xC>, tensor<4xi32>) -> tensor<?x72xT>\n";
  auto run = [&](bool tiled) {
    std::string text = R"(
module attributes {hone.max_rows = 100 : i64} {
  hone.block @op() -> tensor<?x72xT> {
    %in = hone.input "x" : tensor<?x96xT>
    %w = hone.input "w" : tensor<72x96xT>
    %a = hone.input "a" : tensor<4x96xC>
    %b = hone.input "b" : tensor<72x4xC>
    %key = hone.input "random_key" : tensor<4xi32>
)";
    text += tiled ? "%y = hone.row_tiles 32 (%in) : (tensor<?x96xT>) -> "
                    "tensor<?x72xT> {\n^tile(%x: tensor<?x96xT>):\n%t = " +
                        op + "hone.return %t : tensor<?x72xT>\n}\n"
                  : "%x = hone.input \"x\" : tensor<?x96xT>\n%y = " + op;
    text += R"(hone.return %y : tensor<?x72xT>
  }
  hone.entry @run() -> tensor<?x72xT> {
    %y = hone.call @op "" () : () -> tensor<?x72xT>
    hone.return %y : tensor<?x72xT>
  }
})";
    std::string type = element().substr(0, element().find('-'));
    for (auto [letter, name] :
         {std::pair("xT>", type), {"xC>", type == "bf16" ? "f32" : type}})
      for (size_t at; (at = text.find(letter)) != std::string::npos;)
        text.replace(at, 3, "x" + name + ">");
    HoneProgram program(text, element() == kMedium || element() == kPairs);
    program.write("input.x", randomMatrix(100, 96, 1, element()).values);
    program.write("input.w", randomMatrix(72, 96, 2, element()).values);
    program.write("input.a", randomMatrix(4, 96, 3, element()).values);
    program.write("input.b", randomMatrix(72, 4, 4, element()).values);
    program.write("input.random_key", key());
    program.run(100, 2);
    return program.read("result.0", 100 * 72);
  };
  EXPECT_EQ(run(/*tiled=*/true), run(/*tiled=*/false));
}

TEST_P(KernelsDropoutTest, EmbeddingNoise) {
  for (int64_t columns : {24, 128}) {
    std::string type = "?x" + std::to_string(columns) + "xT";
    KernelCase kernel(
        element(), {{"x", type}, {"starts", "?xi32"}, {"key", "4xi32"}}, {type},
        "\"hone.embedding_noise\"(%x, %starts, %key) {alpha = 5.0 "
        ": f64, of = \"embed_tokens\"}");
    kernel.set("key", key());
    RandomStream stream(seed, step, RandomPurpose::Noise, "embed_tokens",
                        batch);
    for (int64_t rows : kRowCounts) {
      Matrix x = random(rows, columns), want = x;
      Rows starts = sequenceStarts(rows);
      for (int64_t i = 0; i < rows; ++i) {
        auto length = std::count(starts.begin(), starts.end(), starts[i]);
        for (int64_t j = 0; j < columns; ++j) {
          double u = (stream.word(i, j, columns) >> 8) * 0x1p-23 - 1;
          want(i, j) += 5.0 / std::sqrt(double(length * columns)) * u;
        }
      }
      kernel.set("x", x);
      kernel.set("starts", starts);
      expectClose(kernel.run(rows)[0], want, element(), 1, "embedding_noise");
    }
  }
}
