//===- KernelsDirectionsTest.cpp - Gradients that are random directions ---===//
//
// An update along directions must make the bits that the same update makes of
// the sum in memory, and that is the sum of RandomStream's numbers.
//
//===----------------------------------------------------------------------===//

#include "runtime/src/base/Philox.h"
#include "test/numerics/HoneProgram.h"

#include "gtest/gtest.h"

using namespace hone;

namespace {

struct Case {
  const char *name, *element, *stored, *update;
  unsigned states;
};

class DirectionsTest : public testing::TestWithParam<Case> {
protected:
  // More elements than a chunk, and fewer.
  static constexpr size_t sizes[] = {150 * 31, 3 * 5};
  static constexpr size_t length = sizes[0] + sizes[1];
  static constexpr uint64_t seed = 0x123456789abcdef0, step = 0x700000005;

  /// An entry on a key and coefficients, whose vectors are those of two
  /// parameters, and which runs `op` on them.
  static std::string ir(const std::string &op) {
    const Case &c = GetParam();
    std::string text = R"(module attributes {hone.max_rows = 4 : i64} {
      hone.block @read() {
        %a = hone.parameter "a" trainable init <zero> STORED : tensor<150x31xT>
        %b = hone.parameter "b" trainable init <zero> STORED : tensor<3x5xT>
        %d = hone.input "d" : tensor<150x31xT>
        hone.gradient %d of "a" : tensor<150x31xT>
        hone.return
      }
      hone.entry @test(%k: tensor<4xi32>, %c: tensor<3xf32>, %g: tensor<f64>,
                       %l: tensor<f64>, %w: tensor<f64>) {
        OP
      }
      hone.entry @other() {
        hone.call @read "x." () : () -> ()
        hone.return
      }
    })";
    auto replace = [&](const std::string &from, const std::string &to) {
      for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
           at += to.size())
        text.replace(at, from.size(), to);
    };
    replace("OP", op);
    replace("STORED", c.stored);
    replace("xT>", std::string("x") + c.element + ">");
    return text;
  }

  static void setArguments(HoneProgram &program) {
    program.write("argument.0",
                  std::vector<int32_t>{static_cast<int32_t>(seed),
                                       int32_t(seed >> 32), int32_t(step),
                                       int32_t(step >> 32)});
    program.write("argument.1", coefficients());
    program.write("argument.2", std::vector<double>{0.5});
    program.write("argument.3", std::vector<double>{1.0 / 1024});
    program.write("argument.4", std::vector<double>{0.25});
  }
  static std::vector<double> coefficients() { return {0.75, -1.5, 0.125}; }

  /// The result of every implementation, to the bit.
  static std::vector<double> estimate() {
    std::vector<double> all;
    for (size_t tensor : {0, 1}) {
      std::vector<double> sums(sizes[tensor]);
      for (uint32_t probe = 0; probe < 3; ++probe) {
        rt::RandomStream z(seed, step, rt::RandomPurpose::Perturb,
                           tensor ? "x.b" : "x.a", probe);
        for (size_t i = 0; i < sums.size(); ++i) {
          volatile double term = coefficients()[probe] * z.normal(i);
          sums[i] += term;
        }
      }
      all.insert(all.end(), sums.begin(), sums.end());
    }
    if (std::string(GetParam().element) == "f32")
      for (double &value : all)
        value = float(value);
    return all;
  }

  static std::vector<double> theta() {
    std::vector<double> values(length);
    for (size_t i = 0; i < length; ++i) // exact in bfloat16
      values[i] = (128 + static_cast<double>(i % 128)) / 256 * (i % 3 ? 1 : -1);
    return values;
  }

  static std::vector<double> update(const std::string &op,
                                    const std::vector<double> &gradient,
                                    unsigned threads) {
    HoneProgram program(ir(op));
    program.write("theta", theta());
    for (unsigned i = 0; i < GetParam().states; ++i)
      program.write("state" + std::to_string(i), std::vector<double>(length));
    if (!gradient.empty())
      program.write("gradient", gradient);
    setArguments(program);
    program.run(1, threads);
    return program.read("theta", length);
  }
};

TEST_P(DirectionsTest, EstimateIsTheSumOfStreams) {
  HoneProgram program(
      ir("hone.estimate_gradient along %k, %c : tensor<3xf32>"));
  setArguments(program);
  for (unsigned threads : {1, 3}) {
    program.run(1, threads);
    EXPECT_EQ(program.read("gradient", length), estimate());
  }
}

TEST_P(DirectionsTest, UpdateHasTheBitsOfTheSumInMemory) {
  const std::string op = GetParam().update;
  std::vector<double> expected = update(op, estimate(), 1);
  EXPECT_NE(expected, theta());
  for (unsigned threads : {1, 3})
    EXPECT_EQ(update(op + " along %k, %c : tensor<3xf32>", {}, threads),
              expected);
}

constexpr const char *kSgd = "hone.sgd %g, %l, %w";
INSTANTIATE_TEST_SUITE_P(
    Kernels, DirectionsTest,
    testing::Values(Case{"Sgd", "f32", "", kSgd, 0},
                    Case{"SgdOfDoubles", "f64", "", kSgd, 0},
                    Case{"Momentum", "f32", "",
                         "hone.sgd %g, %l, %w momentum %g", 1},
                    Case{"Rounded", "f32", "stored <bfloat16>",
                         "hone.sgd %g, %l, %w round %k", 0},
                    Case{"Adamw", "f32", "",
                         "hone.adamw %g, %l, %w, %g, %g, %g, %g, %g", 2}),
    [](const auto &info) { return info.param.name; });

} // namespace
