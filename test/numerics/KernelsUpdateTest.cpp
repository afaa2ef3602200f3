//===- KernelsUpdateTest.cpp - Gradient sinks and optimizer steps ---------===//
//
// Whole entries: parameters are found by the calling layer's prefix, gradients
// add up over calls, and an update runs over all of theta in several chunks.
//
//===----------------------------------------------------------------------===//

#include "runtime/src/base/Philox.h"
#include "test/numerics/KernelCase.h"

#include <cmath>
#include <limits>
#include <map>

using namespace hone;
using namespace hone::reference;

namespace {
class KernelsUpdateTest : public KernelTest {
protected:
  /// `T` stands for the element type, as in "tensor<4xT>".
  std::string typed(std::string ir) const {
    for (size_t at; (at = ir.find("xT>")) != std::string::npos;)
      ir.replace(at, 3, "x" + element() + ">");
    return ir;
  }

  /// A module whose one parameter has more elements than a chunk and whose
  /// entry runs `update` on scalars of these names.
  std::string updateModule(const std::vector<std::string> &scalars,
                           const std::string &update) const {
    std::string arguments;
    for (const std::string &scalar : scalars)
      arguments += (arguments.empty() ? "%" : ", %") + scalar + ": tensor<f64>";
    return typed(R"(module attributes {hone.max_rows = 4 : i64} {
      hone.block @sink() {
        %a = hone.parameter "a" trainable init <zero> : tensor<150x131xT>
        %d = hone.input "d" : tensor<150x131xT>
        hone.gradient %d of "a" : tensor<150x131xT>
        hone.return
      }
      hone.entry update @test()" +
                 arguments + R"() {
        hone.call @sink "x." () : () -> ()
        )" + update +
                 "}}");
  }

  static constexpr int64_t length = 150 * 131;

  static void setScalars(HoneProgram &program,
                         const std::vector<double> &values) {
    for (size_t i = 0; i < values.size(); ++i)
      program.write("argument." + std::to_string(i),
                    std::vector<double>{values[i]});
  }
};
INSTANTIATE_TEST_SUITE_P(Elements, KernelsUpdateTest,
                         testing::Values("f32", "f64"));
} // namespace

TEST_P(KernelsUpdateTest, GradientsAddUpOverCallsOfALayer) {
  HoneProgram program(typed(R"(module attributes {hone.max_rows = 100 : i64} {
    hone.block @lora() {
      %dy = hone.input "dy" : tensor<?x40xT>
      %x = hone.input "x" : tensor<?x30xT>
      %a = hone.parameter "a" trainable init <zero> : tensor<4x30xT>
      %b = hone.parameter "b" trainable init <zero> : tensor<40x4xT>
      %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 1.5 : (tensor<?x40xT>, tensor<?x30xT>, tensor<4x30xT>, tensor<40x4xT>) -> (tensor<4x30xT>, tensor<40x4xT>)
      hone.gradient %da of "a" : tensor<4x30xT>
      hone.gradient %db of "b" : tensor<40x4xT>
      hone.return
    }
    hone.entry @test() {
      hone.call @lora "0." () : () -> ()
      hone.call @lora "1." () : () -> ()
      hone.call @lora "0." () : () -> ()
    }
  })"));
  Matrix x = random(27, 30), dy = random(27, 40);
  Lora layers[] = {{Matrix(), random(4, 30), random(40, 4), 1.5},
                   {Matrix(), random(4, 30), random(40, 4), 1.5}};
  std::vector<double> theta;
  Matrix want(1, 0);
  for (int layer : {0, 1}) {
    LoraGradients gradients = loraParameterAdjoint(dy, x, layers[layer]);
    for (const Matrix &part : {layers[layer].a, layers[layer].b})
      theta.insert(theta.end(), part.values.begin(), part.values.end());
    for (const Matrix &part : {gradients.da, gradients.db})
      for (double value : part.values)
        want.values.push_back(layer == 0 ? 2 * value : value);
  }
  program.write("theta", theta);
  program.write("input.x", x.values);
  program.write("input.dy", dy.values);
  program.run(27, 2);
  Matrix got;
  got.values = program.read("gradient", want.values.size());
  expectClose(got, want, element(), 100, "gradient");
}

TEST_P(KernelsUpdateTest, Sgd) {
  for (bool withMomentum : {false, true}) {
    HoneProgram program(updateModule(
        {"g", "l", "w", "m"}, withMomentum ? "hone.sgd %g, %l, %w momentum %m"
                                           : "hone.sgd %g, %l, %w"));
    SgdRates rates{0.5, 0.1, 0.01, 0.9};
    setScalars(program, {rates.gradientScale, rates.learningRate,
                         rates.weightDecay, rates.momentum});
    Matrix theta = random(1, length), gradient(1, length), buffer(1, length);
    program.write("theta", theta.values);
    if (withMomentum)
      program.write("state0", buffer.values);
    // Nothing zeroes the gradient between the steps: it grows.
    for (int step = 0; step < 3; ++step) {
      Matrix d = random(1, length);
      program.write("input.d", d.values);
      gradient = add(gradient, d);
      program.run(1, 2);
      sgdStep(theta, gradient, withMomentum ? &buffer : nullptr, rates);
    }
    Matrix got;
    got.values = program.read("theta", length);
    expectClose(got, theta, element(), 3, "sgd");
  }
}

TEST_P(KernelsUpdateTest, Adamw) {
  HoneProgram program(
      updateModule({"g", "l", "w", "b1", "b2", "e", "c1", "c2"},
                   "hone.adamw %g, %l, %w, %b1, %b2, %e, %c1, %c2"));
  AdamwRates rates{0.5, 0.1, 0.01, 0.9, 0.999, 1e-8, 0, 0};
  Matrix theta = random(1, length), gradient(1, length);
  Matrix first(1, length), second(1, length);
  program.write("theta", theta.values);
  program.write("state0", first.values);
  program.write("state1", second.values);
  for (int step = 1; step <= 3; ++step) {
    rates.biasCorrection1 = 1 - std::pow(rates.beta1, step);
    rates.biasCorrection2 = 1 - std::pow(rates.beta2, step);
    setScalars(program,
               {rates.gradientScale, rates.learningRate, rates.weightDecay,
                rates.beta1, rates.beta2, rates.epsilon, rates.biasCorrection1,
                rates.biasCorrection2});
    Matrix d = random(1, length);
    program.write("input.d", d.values);
    gradient = add(gradient, d);
    program.run(1, 2);
    adamwStep(theta, gradient, first, second, rates);
  }
  Matrix got;
  got.values = program.read("theta", length);
  expectClose(got, theta, element(), 3, "adamw");
  got.values = program.read("state1", length);
  expectClose(got, second, element(), 3, "adamw_state");
}

/// A, B and a vector, with their gradients in this order.
static const char *const kGroups =
    R"(module attributes {hone.max_rows = 4 : i64} {
  hone.block @sink() {
    %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<40x131xT>
    %b = hone.parameter "b" trainable init <zero> : tensor<150x40xT>
    %v = hone.parameter "v" trainable init <pretrained> : tensor<150xT>
    %da = hone.input "da" : tensor<40x131xT>
    %db = hone.input "db" : tensor<150x40xT>
    %dv = hone.input "dv" : tensor<150xT>
    hone.gradient %da of "a" : tensor<40x131xT>
    hone.gradient %db of "b" : tensor<150x40xT>
    hone.gradient %dv of "v" : tensor<150xT>
    hone.return
  }
  hone.entry update @test(%g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>, %m: tensor<f64>, %r: tensor<f64>, %b2: tensor<f64>, %e: tensor<f64>, %c1: tensor<f64>, %c2: tensor<f64>) {
    hone.call @sink "x." () : () -> ()
    UPDATE
  }
})";

// B and vectors have the bits of an update with their rate, A those of one with
// the other.
TEST_P(KernelsUpdateTest, RateOfB) {
  constexpr size_t inA = 40 * 131, all = inA + 150 * 40 + 150;
  std::vector<double> theta = random(1, all).values;
  std::vector<double> gradient = random(1, all).values;
  auto run = [&](std::string update, double rate, double rateOfB,
                 unsigned threads) {
    std::string text = kGroups;
    text.replace(text.find("UPDATE"), 6, update);
    HoneProgram program(typed(text));
    setScalars(program, {0.5, rate, 0.01, 0.9, rateOfB, 0.999, 1e-8, 0.1, 0.2});
    program.write("theta", theta);
    bool isAdam = update.find("adamw") != std::string::npos;
    if (isAdam || update.find("momentum") != std::string::npos)
      program.write("state0", std::vector<double>(all));
    if (isAdam)
      program.write("state1", std::vector<double>(all));
    for (auto [name, first, last] : {std::tuple("da", size_t(0), inA),
                                     {"db", inA, inA + 150 * 40},
                                     {"dv", inA + 150 * 40, all}})
      program.write(std::string("input.") + name,
                    std::vector<double>(gradient.begin() + first,
                                        gradient.begin() + last));
    program.run(1, threads);
    return program.read("theta", all);
  };
  for (std::string update :
       {"hone.sgd %g, %l, %w", "hone.sgd %g, %l, %w momentum %m",
        "hone.adamw %g, %l, %w, %m, %b2, %e, %c1, %c2"}) {
    std::vector<double> want = run(update, 0.1, 0, 1);
    std::vector<double> fast = run(update, 0.4, 0, 1);
    std::copy(fast.begin() + inA, fast.end(), want.begin() + inA);
    for (unsigned threads : {1, 3})
      EXPECT_EQ(run(update + " rate_of_b %r", 0.1, 0.4, threads), want)
          << update;
  }
}

//===----------------------------------------------------------------------===//
// Parameters stored as bfloat16
//===----------------------------------------------------------------------===//

namespace {
/// One SGD step on parameters that are bfloat16, in the order in which `layers`
/// names them; layer by layer if `inBackward`. Layers "0." and "1." have
/// `layerElements` each, "odd." has 15.
class RoundedStep {
public:
  static constexpr size_t layerElements = 150 * 131;

  RoundedStep(const std::vector<std::string> &layers, bool inBackward)
      : layers(layers), program(ir(layers, inBackward)) {}

  static size_t elementsOf(const std::string &layer) {
    return layer == "odd." ? 15 : layerElements;
  }

  /// Returns the parameters of each layer.
  std::map<std::string, std::vector<double>>
  run(const std::vector<double> &theta, const std::vector<double> &gradient,
      double rate, unsigned threads) {
    program.reset();
    std::vector<double> all;
    for (const std::string &layer : layers)
      all.insert(all.end(), theta.begin(),
                 theta.begin() + static_cast<ptrdiff_t>(elementsOf(layer)));
    program.write("theta", all);
    program.write("input.d", gradient);
    program.write("input.odd", std::vector<double>(15, 0.0));
    program.write("argument.0", std::vector<double>{1});
    program.write("argument.1", std::vector<double>{rate});
    program.write("argument.2", std::vector<double>{0});
    std::vector<int32_t> key;
    for (uint64_t word : {seed, step}) {
      key.push_back(static_cast<int32_t>(word));
      key.push_back(static_cast<int32_t>(word >> 32));
    }
    program.write("argument.3", key);
    program.run(1, threads);
    all = program.read("theta", all.size());
    std::map<std::string, std::vector<double>> found;
    auto at = all.begin();
    for (const std::string &layer : layers) {
      auto end = at + static_cast<ptrdiff_t>(elementsOf(layer));
      found[layer] = {at, end};
      at = end;
    }
    return found;
  }

  static rt::RandomStream stream(const std::string &layer) {
    return {seed, step, rt::RandomPurpose::Round, layer + "a"};
  }

private:
  static constexpr uint64_t seed = 0x123456789abcdef0, step = 0x700000005;

  static std::string ir(const std::vector<std::string> &layers,
                        bool inBackward) {
    std::string text = R"(module attributes {hone.max_rows = 4 : i64} {
      hone.block @layer() {
        %a = hone.parameter "a" trainable init <zero> stored <bfloat16> : tensor<150x131xf32>
        %d = hone.input "d" : tensor<150x131xf32>
        hone.gradient %d of "a" : tensor<150x131xf32>
        hone.return
      }
      hone.block @odd() {
        %a = hone.parameter "a" trainable init <zero> stored <bfloat16> : tensor<3x5xf32>
        %d = hone.input "odd" : tensor<3x5xf32>
        hone.gradient %d of "a" : tensor<3x5xf32>
        hone.return
      }
      hone.entry update @test(%g: tensor<f64>, %l: tensor<f64>, %w: tensor<f64>,
                              %k: tensor<4xi32>) {)";
    for (size_t i = 0; i < layers.size(); ++i) {
      std::string value = "%d" + std::to_string(i),
                  quoted = "\"" + layers[i] + "\"";
      std::string type =
          " : tensor<" + std::to_string(elementsOf(layers[i])) + "xf32>\n";
      if (inBackward)
        text += "\n" + value + " = hone.layer_gradient " + quoted + type;
      text += layers[i] == "odd." ? "\nhone.call @odd " : "\nhone.call @layer ";
      text += quoted + " () : () -> ()\n";
      if (inBackward)
        text += "hone.sgd %g, %l, %w round %k from " + value + type;
    }
    return text + (inBackward ? "}}" : "hone.sgd %g, %l, %w round %k\n}}");
  }

  std::vector<std::string> layers;
  HoneProgram program;
};
} // namespace

// Each result is the neighbour that its tensor's stream selects at its place in
// the tensor: for any number of threads, at any place of the tensor, and with
// layers updated one by one or not.
TEST(KernelsRoundedUpdateTest, RoundsAsTheReference) {
  constexpr size_t length = RoundedStep::layerElements;
  std::vector<double> theta(length), gradient(length);
  for (size_t i = 0; i < length; ++i) { // exact in bfloat16
    theta[i] = (128 + static_cast<double>(i % 128)) / 256 * (i % 3 ? 1 : -1);
    gradient[i] = (static_cast<double>(i * 37 % 255) - 127) / 256.0;
  }
  const double rate = 1.0 / 1024; // so that float32 is exact too
  std::vector<std::vector<std::string>> layouts = {
      {"0.", "1."}, {"1.", "0."}, {"0.", "odd.", "1."}};
  for (const std::vector<std::string> &layers : layouts)
    for (bool inBackward : {false, true}) {
      RoundedStep step(layers, inBackward);
      for (unsigned threads : {1, 3}) {
        auto found = step.run(theta, gradient, rate, threads);
        for (const std::string layer : {"0.", "1."}) {
          rt::RandomStream stream = RoundedStep::stream(layer);
          std::vector<double> want(length);
          for (size_t i = 0; i < length; ++i)
            want[i] =
                roundToBfloat16(theta[i] - rate * gradient[i],
                                static_cast<uint32_t>(stream.bits(i) >> 48));
          EXPECT_EQ(found[layer], want);
        }
      }
    }
}

// A quarter of the way to the neighbour below: a quarter of the results.
TEST(KernelsRoundedUpdateTest, IsUnbiased) {
  std::vector<double> theta(RoundedStep::layerElements, 1.0);
  std::vector<double> gradient(RoundedStep::layerElements, 1.0);
  const double unit = 1.0 / 256, change = unit / 4;
  double sum = 0;
  RoundedStep step({"0."}, /*inBackward=*/false);
  auto found = step.run(theta, gradient, change, 2);
  for (double value : found["0."]) {
    EXPECT_TRUE(value == 1 || value == 1 - unit) << value;
    sum += 1 - value;
  }
  double deviation =
      unit * std::sqrt(0.25 * 0.75 / static_cast<double>(theta.size()));
  EXPECT_NEAR(sum / static_cast<double>(theta.size()), change, 4 * deviation);
}

// Divergence must be seen: neither NaN nor infinity becomes a number.
TEST(KernelsRoundedUpdateTest, KeepsWhatIsNotFinite) {
  std::vector<double> theta(RoundedStep::layerElements, 1.0);
  std::vector<double> gradient(RoundedStep::layerElements, -HUGE_VAL);
  gradient[5] = std::nan("");
  RoundedStep step({"0."}, /*inBackward=*/false);
  std::vector<double> got = step.run(theta, gradient, 1, 2)["0."];
  EXPECT_TRUE(std::isnan(got[5]));
  EXPECT_EQ(got[6], HUGE_VAL);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

/// An op of squares and the vector that it reads.
struct SquaresCase {
  const char *op, *vector;
};
class KernelsSquaresTest : public testing::TestWithParam<SquaresCase> {};

TEST_P(KernelsSquaresTest, SumsEachParameterByItself) {
  // More elements than a block, fewer, and a layer that is met again.
  std::string text = R"(module attributes {hone.max_rows = 4 : i64} {
    hone.block @sink() {
      %a = hone.parameter "a" trainable init <zero> : tensor<150x131xf32>
      %b = hone.parameter "b" trainable init <zero> : tensor<3x5xf32>
      hone.gradient %a of "a" : tensor<150x131xf32>
      hone.gradient %b of "b" : tensor<3x5xf32>
      hone.return
    }
    hone.entry vector @test() -> tensor<4xf64> {
      %s = OP : tensor<4xf64>
      hone.return %s : tensor<4xf64>
    }
    hone.entry @loss() {
      hone.call @sink "0." () : () -> ()
      hone.call @sink "1." () : () -> ()
    }
  })";
  text.replace(text.find("OP"), 2, GetParam().op);
  HoneProgram program(text);
  constexpr size_t lengths[] = {150 * 131, 15, 150 * 131, 15};
  std::vector<double> gradient, want;
  unsigned seed = 0;
  for (size_t length : lengths) {
    Matrix part = randomMatrix(1, static_cast<int64_t>(length), ++seed, "f32");
    double sum = 0;
    for (double value : part.values)
      sum += value * value;
    want.push_back(sum);
    gradient.insert(gradient.end(), part.values.begin(), part.values.end());
  }
  program.write(GetParam().vector, gradient);
  std::vector<double> bits;
  for (unsigned threads : {1, 3}) {
    program.run(1, threads);
    std::vector<double> got = program.read("result.0", 4);
    for (int i = 0; i < 4; ++i)
      EXPECT_NEAR(got[i], want[i], 1e-12 * want[i]);
    if (threads > 1)
      EXPECT_EQ(got, bits);
    bits = got;
  }
  // A number that stops a schedule's check.
  gradient[150 * 131 + 3] = std::numeric_limits<double>::infinity();
  program.write(GetParam().vector, gradient);
  program.run(1, 2);
  std::vector<double> got = program.read("result.0", 4);
  EXPECT_EQ(got[0], bits[0]);
  EXPECT_FALSE(std::isfinite(got[1]));
}

INSTANTIATE_TEST_SUITE_P(
    Vectors, KernelsSquaresTest,
    testing::Values(SquaresCase{"hone.gradient_squares", "gradient"},
                    SquaresCase{"hone.parameter_squares", "theta"}),
    [](const auto &info) { return info.param.vector; });
