//===- KernelsPerturbedTest.cpp - Parameters along random directions ------===//
//
// An op that reads theta + scale z must have the bits of the same op with
// parameters that were moved beforehand, by the numbers of RandomStream.
//
//===----------------------------------------------------------------------===//

#include "runtime/src/base/Dtype.h"
#include "runtime/src/base/Philox.h"
#include "test/numerics/HoneProgram.h"

#include "gtest/gtest.h"

using namespace hone;

namespace {

struct Case {
  const char *name, *element, *stored, *op;
};

constexpr const char *kForward =
    "%y = hone.lora_linear %x, %w, %az, %bz scale 2.0 : (tensor<?x24xT>, "
    "tensor<72x24xT>, tensor<4x24xT>, tensor<72x4xT>) -> tensor<?x72xT>";
constexpr const char *kAdjoint =
    "%y = hone.lora_linear_adjoint %dy, %w, %az, %bz scale 2.0 : "
    "(tensor<?x72xT>, tensor<72x24xT>, tensor<4x24xT>, tensor<72x4xT>) -> "
    "tensor<?x24xT>";

constexpr const char *kLengths =
    "%n = hone.row_lengths %w, %az, %bz scale 2.0 : (tensor<72x24xT>, "
    "tensor<4x24xT>, tensor<72x4xT>) -> tensor<72xT>\n"
    "%y = hone.rescale %dy, %n, %one : (tensor<?x72xT>, tensor<72xT>, "
    "tensor<72xT>) -> tensor<?x72xT>";

class PerturbedTest : public testing::TestWithParam<Case> {
protected:
  static constexpr int64_t rows = 37;
  static constexpr size_t aSize = 4 * 24, bSize = 72 * 4;
  static constexpr uint64_t seed = 0x123456789abcdef0, step = 70000;
  static constexpr uint32_t probe = 3;
  static constexpr double scale = 1e-3;

  static std::string replaced(std::string text, const std::string &from,
                              const std::string &to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
         at += to.size())
      text.replace(at, from.size(), to);
    return text;
  }

  /// The op with perturbed parameters, or as they are.
  static std::string ir(bool isPerturbed) {
    const Case &c = GetParam();
    std::string op = c.op;
    if (!isPerturbed)
      op = replaced(replaced(op, "%az", "%a"), "%bz", "%b");
    std::string result = op.substr(op.rfind("-> ") + 3);
    std::string stored = isPerturbed ? c.stored : "";
    std::string text = R"(
module attributes {hone.max_rows = 100 : i64} {
  hone.block @probe(%key: tensor<4xi32>, %e: tensor<f64>) -> RESULT {
    %x = hone.input "x" : tensor<?x24xT>
    %dy = hone.input "dy" : tensor<?x72xT>
    %w = hone.parameter "w" : tensor<72x24xT>
    %one = hone.input "one" : tensor<72xT>
    %a = hone.parameter "a" trainable init <zero> STORED : tensor<4x24xT>
    %b = hone.parameter "b" trainable init <zero> STORED : tensor<72x4xT>
    %az = hone.perturbed %a by %key scale %e : tensor<4x24xT>
    %bz = hone.perturbed %b by %key scale %e : tensor<72x4xT>
    OP
    hone.return %y : RESULT
  }
  hone.entry @run(%key: tensor<4xi32>, %e: tensor<f64>) -> RESULT {
    %y = hone.call @probe "layers.5." (%key, %e) : (tensor<4xi32>, tensor<f64>) -> RESULT
    hone.return %y : RESULT
  }
})";
    text = replaced(replaced(text, "RESULT", result), "OP", op);
    text = replaced(replaced(text, "STORED", stored), "xT>",
                    std::string("x") + c.element + ">");
    return text;
  }

  /// A number that every storage can hold.
  static double value(size_t i) {
    return (static_cast<double>(i * 37 % 97) - 48) / 64;
  }
  static std::vector<double> values(size_t count, size_t from) {
    std::vector<double> list(count);
    for (size_t i = 0; i < count; ++i)
      list[i] = value(i + from);
    return list;
  }

  static std::vector<double>
  run(bool isPerturbed, const std::vector<double> &theta, unsigned threads) {
    HoneProgram program(ir(isPerturbed));
    program.write("input.x", values(rows * 24, 1));
    program.write("input.dy", values(rows * 72, 2));
    program.write("input.one", std::vector<double>(72, 1.0));
    program.setWeights({values(72 * 24, 3)});
    program.write("theta", theta);
    program.write(
        "argument.0",
        std::vector<int32_t>{
            static_cast<int32_t>(seed), int32_t(seed >> 32),
            static_cast<int32_t>(step),
            static_cast<int32_t>(probe << rt::RandomStream::probeShift)});
    program.write("argument.1", std::vector<double>{scale});
    program.run(rows, threads);
    EXPECT_EQ(program.read("theta", theta.size()), theta)
        << "a probe writes nothing";
    bool isAdjoint = std::string(GetParam().op) == kAdjoint;
    return program.read("result.0", rows * (isAdjoint ? 24 : 72));
  }
};

TEST_P(PerturbedTest, HasTheBitsOfMovedParameters) {
  std::vector<double> theta = values(aSize + bSize, 4), moved = theta;
  auto move = [&](const char *name, size_t first, size_t count) {
    rt::RandomStream z(seed, step, rt::RandomPurpose::Perturb,
                       std::string("layers.5.") + name, probe);
    for (size_t i = 0; i < count; ++i) {
      double by = scale * z.normal(i);
      bool isDouble = std::string(GetParam().element) == "f64";
      moved[first + i] = isDouble ? theta[first + i] + by
                                  : float(theta[first + i]) + float(by);
    }
  };
  move("a", 0, aSize);
  move("b", aSize, bSize);
  std::vector<double> expected = run(/*isPerturbed=*/false, moved, 1);
  EXPECT_NE(run(/*isPerturbed=*/false, theta, 1), expected);
  for (unsigned threads : {1, 3})
    EXPECT_EQ(run(/*isPerturbed=*/true, theta, threads), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, PerturbedTest,
    testing::Values(
        Case{"Forward", "f32", "", kForward},
        Case{"ForwardOfDoubles", "f64", "", kForward},
        Case{"ForwardOfBfloat16", "f32", "stored <bfloat16>", kForward},
        Case{"Lengths", "f32", "", kLengths},
        Case{"LengthsOfBfloat16", "f32", "stored <bfloat16>", kLengths},
        Case{"Adjoint", "f32", "", kAdjoint},
        Case{"AdjointOfDoubles", "f64", "", kAdjoint}),
    [](const auto &info) { return info.param.name; });

} // namespace
