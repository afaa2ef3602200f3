//===- KernelsOptimizerTest.cpp - 200 steps of each optimizer -------------===//
//
// Beside the published formulas in double precision, here and in NumPy:
// golden/optimizers.safetensors has the results for the same gradients. The
// state between steps is compared too, since a resumed run goes on from its
// codes.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/Numerics.h"
#include "dialects/Hone/StateCodes.h"
#include "runtime/src/base/Philox.h"
#include "runtime/src/formats/Safetensors.h"
#include "test/numerics/KernelCase.h"
#include "test/numerics/tools/HashValues.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace hone;
using namespace hone::reference;

namespace {
constexpr int kSteps = 200;

/// Two matrices and a vector, none of which is a whole number of blocks.
class KernelsOptimizerTest : public KernelTest {
protected:
  static constexpr size_t inA = 40 * 131, inB = 15 * 40;
  static constexpr int64_t length = inA + inB + 150;
  const std::vector<size_t> starts = {0, inA, inA + inB, size_t(length)};

  static constexpr int64_t inRows = 40 + 15 + 1, inColumns = 131 + 40 + 150;

  /// The tensors of a vector of all, the vector as one row.
  std::vector<Matrix> tensorsOf(const Matrix &all) const {
    std::vector<Matrix> tensors;
    for (auto [tensor, rows] : {std::pair(0, 40), {1, 15}, {2, 1}}) {
      const size_t first = starts[tensor], end = starts[tensor + 1];
      Matrix own(rows, static_cast<int64_t>(end - first) / rows);
      own.values.assign(all.values.begin() + first, all.values.begin() + end);
      tensors.push_back(own);
    }
    return tensors;
  }
  static Matrix joined(const std::vector<Matrix> &tensors) {
    Matrix all;
    for (const Matrix &each : tensors)
      llvm::append_range(all.values, each.values);
    return all;
  }

  /// A module whose entry runs `update` on so many numbers, %0 and further.
  std::string updateModule(size_t numbers, const std::string &update) const {
    std::string arguments;
    for (size_t i = 0; i < numbers; ++i)
      arguments += "%n" + std::to_string(i) + ": tensor<f64>, ";
    std::string ir = R"(module attributes {hone.max_rows = 4 : i64} {
      hone.block @sink() {
        %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<40x131xT>
        %b = hone.parameter "b" trainable init <zero> : tensor<15x40xT>
        %v = hone.parameter "v" trainable init <pretrained> : tensor<150xT>
        %da = hone.input "da" : tensor<40x131xT>
        %db = hone.input "db" : tensor<15x40xT>
        %dv = hone.input "dv" : tensor<150xT>
        hone.gradient %da of "a" : tensor<40x131xT>
        hone.gradient %db of "b" : tensor<15x40xT>
        hone.gradient %dv of "v" : tensor<150xT>
        hone.return
      }
      hone.entry update @test()" +
                     arguments + R"(%key: tensor<4xi32>) {
        hone.call @sink "x." () : () -> ()
        )" + update + "}}";
    for (size_t at; (at = ir.find("xT>")) != std::string::npos;)
      ir.replace(at, 3, "x" + element() + ">");
    return ir;
  }

  /// The input of a step.
  void give(HoneProgram &program, const Matrix &gradient,
            const std::vector<double> &numbers) {
    for (size_t i = 0; i < numbers.size(); ++i)
      program.write("argument." + std::to_string(i),
                    std::vector<double>{numbers[i]});
    // The sinks add to it.
    program.write("gradient", std::vector<double>(length));
    auto begin = gradient.values.begin();
    for (auto [name, tensor] : {std::pair("da", 0), {"db", 1}, {"dv", 2}})
      program.write(std::string("input.") + name,
                    std::vector<double>(begin + starts[tensor],
                                        begin + starts[tensor + 1]));
  }

  /// The numbers that test/reference/optimizers begins with.
  static Matrix firstTheta() {
    Matrix theta(1, length);
    for (size_t i = 0; i < theta.values.size(); ++i)
      theta.values[i] =
          static_cast<float>(test::uniform("optimizers/theta", i));
    return theta;
  }

  /// Gradients of six orders of magnitude, some of them zero; steps count from
  /// 0.
  static Matrix wideGradient(int step) {
    Matrix gradient(1, length);
    const std::string name = "optimizers/gradient/" + std::to_string(step);
    for (size_t i = 0; i < gradient.values.size(); ++i)
      if (i % 37 != 0)
        gradient.values[i] = static_cast<float>(
            std::ldexp(test::uniform(name, i), -3 * static_cast<int>(i % 8)));
    return gradient;
  }

  /// NumPy's results; of all elements every seventh.
  static std::vector<double> golden(const std::string &name) {
    const char *folder = std::getenv("HONE_GOLDEN");
    rt::Result<rt::SafetensorsFile> file = rt::SafetensorsFile::open(
        std::string(folder == nullptr ? "test/reference/golden" : folder) +
        "/optimizers.safetensors");
    EXPECT_TRUE(file.isOk()) << file.status().render();
    const rt::TensorInfo *tensor =
        file.isOk() ? file.value().find(name) : nullptr;
    if (tensor == nullptr) {
      ADD_FAILURE() << "the golden file lacks " << name;
      return {};
    }
    std::vector<double> values(tensor->elements());
    std::memcpy(values.data(), file.value().data(*tensor), tensor->bytes());
    return values;
  }
  static Matrix goldenMatrix(const std::string &name) {
    Matrix values;
    values.values = golden(name);
    return values;
  }
  static Matrix everySeventh(const Matrix &all) {
    Matrix some;
    for (size_t i = 0; i < all.values.size(); i += 7)
      some.values.push_back(all.values[i]);
    return some;
  }

  std::string codedModule() const {
    return updateModule(
        8, "hone.adamw_coded %n0, %n1, %n2, %n3, %n4, %n5, %n6, %n7");
  }

  static std::vector<double> numbersOf(const AdamwRates &rates) {
    return {rates.gradientScale,   rates.learningRate,   rates.weightDecay,
            rates.beta1,           rates.beta2,          rates.epsilon,
            rates.biasCorrection1, rates.biasCorrection2};
  }

  static void clearCoded(HoneProgram &program, size_t blocks) {
    for (const char *codes : {"state0.codes", "state1.codes"})
      program.write(codes, std::vector<double>(length));
    for (const char *largest : {"state0.largest", "state1.largest"})
      program.write(largest, std::vector<double>(blocks));
  }

  Matrix readAll(const HoneProgram &program, const char *region) const {
    Matrix values;
    values.values = program.read(region, length);
    return values;
  }
};
INSTANTIATE_TEST_SUITE_P(Elements, KernelsOptimizerTest,
                         testing::Values("f32", "f64"));
} // namespace

TEST_P(KernelsOptimizerTest, Lion) {
  HoneProgram program(updateModule(5, "hone.lion %n0, %n1, %n2, %n3, %n4"));
  LionRates rates{0.5, 1e-3, 0.1, 0.9, 0.99};
  Matrix theta = firstTheta(), momentum(1, length);
  program.write("theta", theta.values);
  program.write("state0", momentum.values);
  for (int step = 0; step < kSteps; ++step) {
    Matrix gradient = wideGradient(step);
    give(program, gradient,
         {rates.gradientScale, rates.learningRate, rates.weightDecay,
          rates.beta1, rates.beta2});
    program.run(1, 1 + step % 3);
    lionStep(theta, gradient, momentum, rates);
  }
  // A decay that is rounded is as wrong in each step: errors add up.
  const int64_t terms = kSteps * kSteps / 4;
  Matrix gotTheta = readAll(program, "theta"),
         gotMomentum = readAll(program, "state0");
  expectClose(gotTheta, theta, element(), terms, "theta");
  expectClose(gotMomentum, momentum, element(), kSteps, "momentum");
  expectClose(everySeventh(gotTheta), goldenMatrix("lion.theta"), element(),
              terms, "theta of NumPy");
  expectClose(everySeventh(gotMomentum), goldenMatrix("lion.momentum"),
              element(), kSteps, "momentum of NumPy");
}

TEST_P(KernelsOptimizerTest, Adafactor) {
  HoneProgram program(
      updateModule(6, "hone.adafactor %n0, %n1, %n2, %n3, %n4, %n5"));
  AdafactorRates rates{0.5, 1e-3, 0.1, 1e-30, 0.9, -0.8};
  std::vector<Matrix> theta = tensorsOf(firstTheta());
  std::vector<AdafactorMoments> moments(theta.size());
  program.write("theta", joined(theta).values);
  program.write("state1.rows", std::vector<double>(inRows));
  program.write("state1.columns", std::vector<double>(inColumns));
  for (int step = 1; step <= kSteps; ++step) {
    Matrix gradient = wideGradient(step - 1);
    give(program, gradient,
         {rates.gradientScale, rates.learningRate, rates.weightDecay,
          rates.epsilon, rates.clipThreshold,
          std::pow(double(step), rates.decayRate)});
    program.run(1, 1 + step % 3);
    const std::vector<Matrix> gradients = tensorsOf(gradient);
    for (size_t i = 0; i < theta.size(); ++i)
      adafactorStep(theta[i], gradients[i], moments[i], rates, step);
  }
  const int64_t terms = kSteps * kSteps / 4;
  Matrix gotTheta = readAll(program, "theta");
  expectClose(gotTheta, joined(theta), element(), terms, "theta");
  expectClose(everySeventh(gotTheta), goldenMatrix("adafactor.theta"),
              element(), terms, "theta of NumPy");
  Matrix rows, columns, wantRows, wantColumns;
  rows.values = program.read("state1.rows", inRows);
  columns.values = program.read("state1.columns", inColumns);
  for (const AdafactorMoments &each : moments) {
    llvm::append_range(wantRows.values, each.rows);
    llvm::append_range(wantColumns.values, each.columns);
  }
  expectClose(rows, wantRows, element(), kSteps, "rows");
  expectClose(columns, wantColumns, element(), kSteps, "columns");
  expectClose(rows, goldenMatrix("adafactor.rows"), element(), kSteps,
              "rows of NumPy");
  expectClose(columns, goldenMatrix("adafactor.columns"), element(), kSteps,
              "columns of NumPy");
}

TEST_P(KernelsOptimizerTest, Sinkgd) {
  HoneProgram program(updateModule(3, "hone.sinkgd %n0, %n1, %n2"));
  const double rate = 1e-3, decay = 0.1;
  std::vector<Matrix> theta = tensorsOf(firstTheta());
  program.write("theta", joined(theta).values);
  for (int step = 0; step < kSteps; ++step) {
    Matrix gradient = wideGradient(step);
    // A token that the batch lacks, a feature that nothing reads, no gradient.
    for (size_t j = 0; j < 131; ++j)
      gradient.values[7 * 131 + j] = 0;
    for (size_t i = 0; i < 15; ++i)
      gradient.values[inA + i * 40 + 9] = 0;
    if (step % 50 == 0)
      std::fill(gradient.values.begin() + inA + inB, gradient.values.end(), 0);
    give(program, gradient, {0.5, rate, decay});
    program.run(1, 1 + step % 3);
    const std::vector<Matrix> gradients = tensorsOf(gradient);
    for (size_t i = 0; i < theta.size(); ++i)
      sinkgdStep(theta[i], gradients[i], rate, decay, numerics::kSinkhornRounds,
                 theta[i].rows == 1);
  }
  const int64_t terms = kSteps * kSteps / 4;
  Matrix gotTheta = readAll(program, "theta");
  expectClose(gotTheta, joined(theta), element(), terms, "theta");
  expectClose(everySeventh(gotTheta), goldenMatrix("sinkgd.theta"), element(),
              terms, "theta of NumPy");
}

// Numbers that are not finite must be seen.
TEST_P(KernelsOptimizerTest, TensorsKeepWhatIsNotFinite) {
  for (bool isSinkgd : {false, true}) {
    HoneProgram program(
        isSinkgd
            ? updateModule(3, "hone.sinkgd %n0, %n1, %n2")
            : updateModule(6, "hone.adafactor %n0, %n1, %n2, %n3, %n4, %n5"));
    for (double bad : {HUGE_VAL, std::nan("")}) {
      Matrix gradient = random(1, length);
      gradient.values[5] = bad;
      program.write("theta", std::vector<double>(length));
      if (!isSinkgd) {
        program.write("state1.rows", std::vector<double>(inRows));
        program.write("state1.columns", std::vector<double>(inColumns));
      }
      give(program, gradient,
           isSinkgd ? std::vector<double>{1, 1, 0}
                    : std::vector<double>{1, 1, 0, 1e-30, 1, 1});
      program.run(1, 2);
      const std::vector<double> theta = program.read("theta", length);
      EXPECT_FALSE(std::isfinite(theta[5])) << isSinkgd << " " << bad;
      EXPECT_TRUE(std::isfinite(theta[inA])) << "another tensor";
    }
  }
}

TEST_P(KernelsOptimizerTest, AdamwCoded) {
  HoneProgram program(codedModule());
  AdamwRates rates{0.5, 1e-3, 0.1, 0.9, 0.999, 1e-8, 0, 0};
  Matrix theta = firstTheta();
  constexpr size_t block = numerics::kStateBlock;
  CodedMoment first(dynamicCode(true), false, starts, block),
      second(dynamicCode(false), true, starts, block);
  const size_t blocks = first.largest.size();
  ASSERT_EQ(blocks, 21u + 3 + 1);
  program.write("theta", theta.values);
  clearCoded(program, blocks);
  size_t others = 0, codes = 0;
  for (int step = 1; step <= kSteps; ++step) {
    rates.biasCorrection1 = 1 - std::pow(rates.beta1, step);
    rates.biasCorrection2 = 1 - std::pow(rates.beta2, step);
    Matrix gradient = wideGradient(step - 1);
    give(program, gradient, numbersOf(rates));
    program.run(1, 1 + step % 3);
    Matrix m = first.decoded(), v = second.decoded();
    adamwStep(theta, gradient, m, v, rates);
    first.encode(m);
    second.encode(v);
    if (step % 40 != 0)
      continue;
    for (auto [name, want] : {std::pair("state0.codes", &first.codes),
                              {"state1.codes", &second.codes}}) {
      Matrix got = readAll(program, name);
      for (size_t i = 0; i < got.values.size(); ++i)
        others += got.values[i] != (*want)[i];
      codes += got.values.size();
    }
  }
  // Half way between two codes float32 may be on the other side; such an
  // element then differs by a code's distance.
  const bool isExact = element() == "f64";
  RecordProperty("codes_that_differ", static_cast<int>(others));
  EXPECT_LE(double(others), isExact ? 0 : 1e-3 * double(codes));
  Matrix got = readAll(program, "theta"), largest;
  largest.values = program.read("state1.largest", blocks);
  auto expectTheta = [&](const Matrix &got, const Matrix &want,
                         const char *what) {
    expectClose(got, want, element(), isExact ? kSteps : 1000000, what);
    double most = 0;
    for (size_t i = 0; i < got.values.size(); ++i)
      most = std::max(most, std::abs(got.values[i] - want.values[i]));
    // A step moves each by about the learning rate.
    EXPECT_LE(most, 0.1 * rates.learningRate * kSteps) << what;
  };
  auto expectLargest = [&](const std::vector<double> &values,
                           const char *what) {
    Matrix want;
    want.values = values;
    expectClose(largest, want, element(), isExact ? kSteps : 1000000, what);
  };
  expectTheta(got, theta, "theta");
  expectTheta(everySeventh(got), goldenMatrix("adamw-8bit.theta"),
              "theta of NumPy");
  expectLargest(second.largest, "largest");
  expectLargest(golden("adamw-8bit.second.largest"), "largest of NumPy");
  for (auto [region, name] : {std::pair("state0.codes", "first.codes"),
                              {"state1.codes", "second.codes"}}) {
    Matrix own = everySeventh(readAll(program, region));
    const std::vector<double> want = golden(std::string("adamw-8bit.") + name);
    ASSERT_EQ(own.values.size(), want.size());
    size_t differ = 0;
    for (size_t i = 0; i < want.size(); ++i)
      differ += own.values[i] != want[i];
    EXPECT_LE(double(differ), isExact ? 0 : 0.01 * double(want.size())) << name;
  }
}

// The momentum takes the 16 bits below those that a parameter takes.
TEST_P(KernelsOptimizerTest, MomentumInBfloat16) {
  for (bool isLion : {false, true}) {
    HoneProgram program(updateModule(
        5, isLion ? "hone.lion %n0, %n1, %n2, %n3, %n4 in_bfloat16 round %key"
                  : "hone.sgd %n0, %n1, %n2 momentum %n3 in_bfloat16 "
                    "round %key"));
    // All but the products with rates is exact in float32.
    SgdRates sgd{1, 1.0 / 1024, 0, 0.5};
    LionRates lion{1, 1.0 / 1024, 0, 0.5, 0.75};
    Matrix theta(1, length), momentum(1, length);
    program.write("theta", theta.values);
    program.write("state0.bfloat16", momentum.values);
    for (uint64_t step = 0; step < kSteps; ++step) {
      Matrix gradient(1, length);
      for (size_t i = 0; i < gradient.values.size(); ++i)
        gradient.values[i] =
            (static_cast<double>((i * 37 + step * 11) % 255) - 127) / 256;
      give(program, gradient,
           isLion ? std::vector<double>{1, lion.learningRate, 0, lion.beta1,
                                        lion.beta2}
                  : std::vector<double>{1, sgd.learningRate, 0, sgd.momentum});
      constexpr uint64_t seed = 0x123456789abcdef0;
      std::vector<int32_t> key;
      for (uint64_t word : {seed, step}) {
        key.push_back(static_cast<int32_t>(word));
        key.push_back(static_cast<int32_t>(word >> 32));
      }
      program.write("argument.5", key);
      program.run(1, 1 + step % 3);
      if (isLion)
        lionStep(theta, gradient, momentum, lion);
      else
        sgdStep(theta, gradient, &momentum, sgd);
      const char *names[] = {"x.a", "x.b", "x.v"};
      for (size_t tensor = 0; tensor < 3; ++tensor) {
        rt::RandomStream stream(seed, step, rt::RandomPurpose::Round,
                                names[tensor]);
        for (size_t i = starts[tensor]; i < starts[tensor + 1]; ++i)
          if (momentum.values[i] != 0)
            momentum.values[i] = roundToBfloat16(
                momentum.values[i],
                (stream.bits(i - starts[tensor]) >> 32) & 0xffff);
      }
    }
    // Every momentum is exact; the sum of all steps is not.
    const std::string name = isLion ? "lion-bfloat16" : "sgd-bfloat16";
    Matrix gotTheta = readAll(program, "theta"),
           gotMomentum = readAll(program, "state0.bfloat16");
    EXPECT_EQ(gotMomentum.values, momentum.values) << name;
    EXPECT_EQ(everySeventh(gotMomentum).values, golden(name + ".momentum"));
    expectClose(gotTheta, theta, element(), kSteps, name);
    expectClose(everySeventh(gotTheta), goldenMatrix(name + ".theta"),
                element(), kSteps, name + " of NumPy");
  }
}

TEST_P(KernelsOptimizerTest, CodesAreThePublishedOnes) {
  for (bool isSigned : {true, false}) {
    StateCode code = dynamicStateCode(isSigned);
    std::vector<double> want = dynamicCode(isSigned);
    ASSERT_EQ(want.size(), 256u);
    EXPECT_EQ(want, golden(isSigned ? "code.signed" : "code.positive"));
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_EQ(code.values[i], want[i]) << i;
  }
  // Middles of the outermost of 64 parts of [0.1, 1], and of the one of 1e-6.
  StateCode code = dynamicStateCode(true);
  EXPECT_FLOAT_EQ(code.values[0], -0.99296875f);
  EXPECT_FLOAT_EQ(code.values[128], 5.5e-7f);
  EXPECT_EQ(code.values[127], 0);
  EXPECT_EQ(code.values[255], 1);
}

//===----------------------------------------------------------------------===//
// Why the code is not linear
//===----------------------------------------------------------------------===//

/// A quadratic whose curvatures are of three orders of magnitude in each block,
/// with noise in its gradients, of which one in eight is zero as those of rows
/// that a batch does not use: the loss after kSteps of `update`.
static double
lossAfter(int64_t length,
          const std::function<void(Matrix &theta, const Matrix &gradient,
                                   const AdamwRates &rates)> &update) {
  Matrix theta(1, length);
  auto curvature = [](size_t i) { return i % 2 ? 1.0 : 1e-3; };
  for (double &value : theta.values)
    value = 1;
  for (int step = 1; step <= kSteps; ++step) {
    Matrix gradient = randomMatrix(1, length, step, "f32");
    for (size_t i = 0; i < theta.values.size(); ++i)
      gradient.values[i] =
          (7 * i + step) % 8 == 0
              ? 0
              : static_cast<float>(curvature(i) * (theta.values[i] +
                                                   0.5 * gradient.values[i]));
    update(theta, gradient,
           {1, 0.01, 0, 0.9, 0.999, 1e-8, 1 - std::pow(0.9, step),
            1 - std::pow(0.999, step)});
  }
  double loss = 0;
  for (size_t i = 0; i < theta.values.size(); ++i)
    loss += curvature(i) * theta.values[i] * theta.values[i] / 2;
  return loss;
}

// In 256 equal steps the second moment of an element that is small beside its
// block's largest becomes zero, and the next step divides by epsilon. That code
// alone differs from the op's.
TEST_P(KernelsOptimizerTest, ALinearSecondMomentDiverges) {
  const double before =
      lossAfter(length, [](Matrix &, const Matrix &, const AdamwRates &) {});
  Matrix m(1, length), v(1, length);
  const double exact =
      lossAfter(length, [&](Matrix &theta, const Matrix &gradient,
                            const AdamwRates &rates) {
        adamwStep(theta, gradient, m, v, rates);
      });
  std::vector<double> steps;
  for (int i = 0; i < 256; ++i)
    steps.push_back(i / 255.0);
  CodedMoment first(dynamicCode(true), false, starts, numerics::kStateBlock),
      second(steps, false, starts, numerics::kStateBlock);
  const double linear =
      lossAfter(length, [&](Matrix &theta, const Matrix &gradient,
                            const AdamwRates &rates) {
        Matrix m = first.decoded(), v = second.decoded();
        adamwStep(theta, gradient, m, v, rates);
        first.encode(m);
        second.encode(v);
      });
  HoneProgram program(codedModule());
  clearCoded(program, first.largest.size());
  const double own =
      lossAfter(length, [&](Matrix &theta, const Matrix &gradient,
                            const AdamwRates &rates) {
        program.write("theta", theta.values);
        give(program, gradient, numbersOf(rates));
        program.run(1, 2);
        theta = readAll(program, "theta");
      });
  RecordProperty("losses",
                 std::to_string(before) + " " + std::to_string(exact) + " " +
                     std::to_string(own) + " " + std::to_string(linear));
  EXPECT_LT(exact, 0.1 * before);
  EXPECT_LT(own, 1.2 * exact);
  EXPECT_GT(linear, 10 * before);
}
