//===- SelectionFormulasTest.cpp - The compiled formulas of selections ----===//
//
// Against test/reference/ScalarFormulas.h and the runtime's random streams, to
// the bit, and against the promises of each selection.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/HoneOps.h"
#include "passes/derive/ScalarFunctions.h"
#include "passes/selection/SelectionRule.h"
#include "test/numerics/HoneProgram.h"
#include "test/reference/ScalarFormulas.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace hone;
using reference::Selection;

namespace {

/// One formula, compiled. `types` of operands and result: 'd' is an f64, 'l' an
/// i64; 'm', 'v' and 'r' are an i32, f32 and f64 for each of `layers` layers.
class Formula {
public:
  Formula(const std::string &name, const std::string &types, int64_t layers = 1)
      : types(types), layers(layers), program(ir(name, types, layers)) {}

  /// Runs it on numbers; a mask comes first.
  void run(const std::vector<double> &numbers, const Selection &mask = {}) {
    size_t next = 0;
    if (!mask.empty())
      program.write("argument." + std::to_string(next++), mask);
    for (double number : numbers)
      program.write("argument." + std::to_string(next++),
                    std::vector<double>{number});
    program.run(1, 1);
  }
  Selection mask(const std::vector<double> &numbers,
                 const Selection &before = {}) {
    run(numbers, before);
    return program.readIntegers("result.0", layers);
  }
  /// Runs it on the given operands; the result has `count` numbers.
  std::vector<double> reals(const std::vector<std::vector<double>> &given,
                            size_t count) {
    writeAll(given);
    return program.read("result.0", count);
  }
  Selection maskOf(const std::vector<std::vector<double>> &given) {
    writeAll(given);
    return program.readIntegers("result.0", layers);
  }
  double number(const std::vector<double> &numbers) {
    run(numbers);
    return program.read("result.0", 1)[0];
  }
  int64_t integer(const std::vector<double> &numbers) {
    run(numbers);
    return program.readIntegers("result.0", 1)[0];
  }

private:
  void writeAll(const std::vector<std::vector<double>> &given) {
    for (size_t i = 0; i < given.size(); ++i) {
      const std::string name = "argument." + std::to_string(i);
      if (types[i] == 'm')
        program.write(name, Selection(given[i].begin(), given[i].end()));
      else
        program.write(name, given[i]);
    }
    program.run(1, 1);
  }

  static std::string ir(const std::string &name, const std::string &types,
                        int64_t layers) {
    mlir::MLIRContext context;
    context.loadDialect<HoneDialect, mlir::arith::ArithDialect,
                        mlir::func::FuncDialect, mlir::math::MathDialect,
                        mlir::memref::MemRefDialect, mlir::scf::SCFDialect>();
    mlir::OwningOpRef<mlir::ModuleOp> module(
        mlir::ModuleOp::create(mlir::UnknownLoc::get(&context)));
    mlir::Builder builder(&context);
    std::string text = "module attributes {hone.max_rows = 1 : i64} {\n",
                settings, operands, operandTypes;
    llvm::raw_string_ostream os(text), settingsOs(settings);
    llvm::SmallVector<mlir::Type> all;
    for (auto [i, type] : llvm::enumerate(types)) {
      llvm::SmallVector<int64_t> shape;
      mlir::Type element = builder.getI64Type();
      if (type == 'd')
        element = builder.getF64Type();
      if (isVector(type)) {
        element = type == 'm'   ? mlir::Type(builder.getI32Type())
                  : type == 'v' ? mlir::Type(builder.getF32Type())
                                : mlir::Type(builder.getF64Type());
        shape = {layers};
      }
      all.push_back(mlir::RankedTensorType::get(shape, element));
      if (i + 1 == types.size())
        break;
      settingsOs << "%a" << i << " = ";
      if (isVector(type))
        settingsOs << "hone.scalar @given_" << type << "() : () -> ";
      else
        settingsOs << "hone.setting \"a" << i << "\" : ";
      settingsOs << all.back() << "\n";
      llvm::raw_string_ostream(operandTypes) << (i ? ", " : "") << all.back();
      operands += (i ? ", %a" : "%a") + std::to_string(i);
    }
    mlir::Type result = all.pop_back_val();
    EXPECT_TRUE(succeeded(getScalarFunction(*module, name, all, result)));
    for (auto [type, element] :
         {std::pair('m', "i32"), std::pair('v', "f32"), std::pair('r', "f64")})
      os << "func.func private @given_" << type << "(%m: memref<" << layers
         << "x" << element << ">) {\n  return\n}\n";
    for (mlir::Operation &op : *module->getBody())
      os << op << "\n";
    os << "hone.schedule train {\n"
       << settings << "%r = hone.scalar @scalar." << name << "(" << operands
       << ") : (" << operandTypes << ") -> " << result << "\n}\n}\n";
    return text;
  }

  static bool isVector(char type) {
    return type == 'm' || type == 'v' || type == 'r';
  }

  std::string types;
  int64_t layers;
  HoneProgram program;
};

} // namespace

static SelectionRule ruleOf(const char *kind, double ratio, int64_t groups = 1,
                            const char *schedule = "constant",
                            double lastRatio = 1) {
  rt::LcsbSettings settings;
  settings.selection = kind;
  settings.selection_ratio = ratio;
  settings.selection_schedule = schedule;
  settings.selection_ratio_end = lastRatio;
  settings.selection_groups = groups;
  return SelectionRule::of(settings);
}

static int64_t sizeOf(const Selection &mask) {
  return std::accumulate(mask.begin(), mask.end(), int64_t(0));
}

static rt::RandomStream streamOf(uint64_t seed, uint64_t step) {
  return {seed, step, rt::RandomPurpose::Select, "selection"};
}

TEST(SelectionFormulas, APartIsTheCompilersToo) {
  Formula part("part_of", "dll");
  for (int64_t layers : {1, 2, 7, 24, 30, 36, 100})
    for (double ratio : {0.001, 0.07, 0.1, 0.25, 1 / 3., 0.5, 0.6, 0.999, 1.0})
      EXPECT_EQ(part.integer({ratio, double(layers)}), partOf(layers, ratio))
          << layers << " x " << ratio;
}

TEST(SelectionFormulas, NumbersAreThoseOfTheRuntimesStream) {
  Formula uniform("selection_uniform", "llld");
  for (double seed : {0.0, 42.0, 0x1p40 + 3, 0x1p53 - 1})
    for (double step : {0.0, 1.0, 0x1p32 + 5, 0x1p52 + 9})
      for (double index : {0.0, 1.0, 35.0})
        EXPECT_EQ(uniform.number({seed, step, index}),
                  streamOf(uint64_t(seed), uint64_t(step)).uniform(index))
            << seed << " " << step << " " << index;
}

TEST(SelectionFormulas, UniformIsAlwaysAsManyAndAnyOfThem) {
  constexpr int64_t layers = 10, steps = 600;
  Formula select("select_uniform", "dllm", layers);
  Selection counts(layers, 0);
  for (int64_t step = 0; step < steps; ++step) {
    Selection mask = select.mask({0.25, double(step), 7});
    EXPECT_EQ(sizeOf(mask), 3);
    EXPECT_EQ(mask, reference::selectUniform(layers, 3, streamOf(7, step)));
    for (int64_t layer = 0; layer < layers; ++layer)
      counts[layer] += mask[layer];
  }
  // Each is expected 180 times, with a standard deviation of 11.
  for (int32_t count : counts)
    EXPECT_NEAR(count, 180, 56);
  EXPECT_EQ(select.mask({1.0, 0, 7}), Selection(layers, 1));
}

TEST(SelectionFormulas, BernoulliAsksForEachByItself) {
  constexpr int64_t layers = 24;
  Formula select("select_bernoulli", "dllm", layers);
  int64_t least = layers, most = 0;
  for (int64_t step = 0; step < 200; ++step) {
    Selection mask = select.mask({0.5, double(step), 3});
    EXPECT_EQ(mask, reference::selectBernoulli(layers, 0.5, streamOf(3, step)));
    least = std::min(least, sizeOf(mask));
    most = std::max(most, sizeOf(mask));
  }
  EXPECT_LT(least, 8);
  EXPECT_GT(most, 16);
  EXPECT_EQ(select.mask({1.0, 0, 3}), Selection(layers, 1));
}

TEST(SelectionFormulas, CyclicTakesContiguousGroupsInTurn) {
  Formula ten("select_cyclic", "llm", 10);
  EXPECT_EQ(ten.mask({3, 0}), (Selection{1, 1, 1, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(ten.mask({3, 1}), (Selection{0, 0, 0, 0, 1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(ten.mask({3, 2}), (Selection{0, 0, 0, 0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(ten.mask({3, 3}), ten.mask({3, 0}));
  EXPECT_EQ(ten.mask({1, 5}), Selection(10, 1));
  // Never more than the compiler has slots for, and each layer once in a turn.
  for (int64_t groups = 1; groups <= 10; ++groups) {
    int64_t most = ruleOf("cyclic", 1, groups).mostOf(10);
    Selection all(10, 0);
    for (int64_t step = 0; step < groups; ++step) {
      Selection mask = ten.mask({double(groups), double(step)});
      EXPECT_LE(sizeOf(mask), most);
      EXPECT_GE(sizeOf(mask), most - 1);
      for (int64_t layer = 0; layer < 10; ++layer)
        all[layer] += mask[layer];
    }
    EXPECT_EQ(all, Selection(10, 1)) << groups;
  }
}

TEST(SelectionFormulas, RoundRobinGoesAround) {
  Formula five("select_round_robin", "dlm", 5);
  EXPECT_EQ(five.mask({0.4, 0}), (Selection{1, 1, 0, 0, 0}));
  EXPECT_EQ(five.mask({0.4, 1}), (Selection{0, 0, 1, 1, 0}));
  EXPECT_EQ(five.mask({0.4, 2}), (Selection{1, 0, 0, 0, 1}));
  EXPECT_EQ(five.mask({0.4, 3}), (Selection{0, 1, 1, 0, 0}));
  EXPECT_EQ(five.mask({0.4, 0x1p53 - 2}), five.mask({0.4, 0}))
      << "2^53 - 2 is a multiple of 5";
  EXPECT_EQ(five.mask({1.0, 3}), Selection(5, 1));
}

TEST(SelectionFormulas, AWarmUpHasAsManySteps) {
  Formula warm("is_warm", "lll");
  EXPECT_EQ(warm.integer({0, 2}), 0);
  EXPECT_EQ(warm.integer({1, 2}), 0);
  EXPECT_EQ(warm.integer({2, 2}), 1);
  EXPECT_EQ(warm.integer({0, 0}), 1);
}

TEST(SelectionFormulas, SelectedLayersHaveSlotsInOrder) {
  Formula slots("slots", "mm", 6);
  EXPECT_EQ(slots.mask({}, {0, 1, 1, 0, 0, 1}), (Selection{0, 0, 1, 2, 2, 2}));
}

TEST(SelectionFormulas, FreezeTakesTheLast) {
  Formula ten("select_freeze", "dlm", 10);
  EXPECT_EQ(ten.mask({0.25, 0}), (Selection{0, 0, 0, 0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(ten.mask({0.25, 9}), ten.mask({0.25, 0}));
  EXPECT_EQ(ten.mask({1, 0}), Selection(10, 1));
  EXPECT_EQ(ruleOf("freeze", 0.25).mostOf(10), 3);
}

TEST(SelectionFormulas, OneInTurn) {
  Formula three("select_one", "lm", 3);
  EXPECT_EQ(three.mask({0}), (Selection{1, 0, 0}));
  EXPECT_EQ(three.mask({2}), (Selection{0, 0, 1}));
  EXPECT_EQ(three.mask({3}), three.mask({0}));
  EXPECT_EQ(ruleOf("badam", 1).mostOf(3), 1);
}

TEST(SelectionFormulas, DepthDecidesHowOftenALayerIsSkipped) {
  constexpr int64_t layers = 4, steps = 2000;
  Formula select("select_stochastic_depth", "dllm", layers);
  Formula weights("depth_weights", "dr", layers),
      rests("depth_rests", "dr", layers);
  Selection counts(layers, 0);
  for (int64_t step = 0; step < steps; ++step)
    for (auto [layer, taken] :
         llvm::enumerate(select.mask({0.2, double(step), 5})))
      counts[layer] += taken;
  std::vector<double> kept = weights.reals({{0.2}}, layers);
  std::vector<double> skipped = rests.reals({{0.2}}, layers);
  for (int64_t layer = 0; layer < layers; ++layer) {
    // Huang et al. 2016, eq. 4.
    EXPECT_NEAR(kept[layer], 1 - (layer + 1) / 4.0 * 0.8, 1e-15);
    EXPECT_NEAR(kept[layer] + skipped[layer], 1, 1e-15);
    // A standard deviation is at most 22.
    EXPECT_NEAR(counts[layer], steps * kept[layer], 110);
  }
  EXPECT_EQ(select.mask({1, 0, 5}), Selection(layers, 1));
}

TEST(SelectionFormulas, ExponentialOfNegativeNumbers) {
  Formula exponential("exp_of_negative", "dd");
  EXPECT_EQ(exponential.number({0}), 1);
  EXPECT_EQ(exponential.number({-701}), 0);
  for (double x = -1e-9; x > -700; x *= 1.37)
    EXPECT_NEAR(exponential.number({x}) / std::exp(x), 1, 1e-15) << x;
}

/// The documented formula of select_importance, with the mathematics library's
/// exp.
static Selection selectByImportance(const std::vector<double> &importance,
                                    int64_t wanted, double temperature,
                                    const rt::RandomStream &random) {
  const size_t layers = importance.size();
  double mean = std::accumulate(importance.begin(), importance.end(), 0.0) /
                double(layers);
  Selection mask(layers, 0);
  for (int64_t draw = 0; draw < wanted; ++draw) {
    std::vector<double> sums;
    double sum = 0;
    for (size_t layer = 0; layer < layers; ++layer)
      sums.push_back(
          sum +=
          mask[layer] ? 0 : std::exp(importance[layer] / (temperature * mean)));
    double target = random.uniform(draw) * sum;
    size_t own = 0;
    while (own + 1 < layers && (mask[own] || sums[own] <= target))
      ++own;
    mask[own] = 1;
  }
  return mask;
}

TEST(SelectionFormulas, ImportancePrefersLongGradients) {
  constexpr int64_t layers = 5, steps = 500;
  Formula select("select_importance", "dllvdm", layers);
  const std::vector<double> importance = {0.5, 4, 0.25, 1, 0.25};
  Selection counts(layers, 0);
  for (double step = 0; step < steps; ++step) {
    Selection mask = select.maskOf({{0.4}, {step}, {11}, importance, {0.5}});
    EXPECT_EQ(sizeOf(mask), 2);
    EXPECT_EQ(mask, selectByImportance(importance, 2, 0.5,
                                       streamOf(11, uint64_t(step))));
    for (int64_t layer = 0; layer < layers; ++layer)
      counts[layer] += mask[layer];
  }
  EXPECT_GT(counts[1], 490);
  EXPECT_GT(counts[3], counts[0]);
  EXPECT_GT(counts[0], counts[2]);
  // Nothing known, and something that is not finite in one place.
  EXPECT_EQ(sizeOf(select.maskOf(
                {{0.4}, {0}, {1}, std::vector<double>(layers, 0), {2}})),
            2);
  EXPECT_EQ(
      sizeOf(select.maskOf({{0.4}, {0}, {1}, {1e38, 0, 0, 0, 0}, {1e-3}})), 2);
}

TEST(SelectionFormulas, ImportanceIsAnAverageOfTheSelected) {
  Formula before("importance_before", "vlv", 3);
  EXPECT_EQ(before.reals({{5, 6, 7}, {0}}, 3), std::vector<double>(3, 1));
  EXPECT_EQ(before.reals({{5, 6, 7}, {1}}, 3), (std::vector<double>{5, 6, 7}));
  Formula after("importance_after", "vmrdv", 3);
  EXPECT_EQ(after.reals({{1, 2, 3}, {1, 0, 1}, {3, 9, 5}, {0.5}}, 3),
            (std::vector<double>{2, 2, 4}));
}

TEST(SelectionFormulas, UpdatesAreCountedByLayer) {
  Formula count("count_updates", "vmlv", 3);
  EXPECT_EQ(count.reals({{4, 0, 2}, {1, 0, 0}, {0}}, 3),
            (std::vector<double>{5, 0, 2}));
  EXPECT_EQ(count.reals({{4, 0, 2}, {1, 0, 0}, {1}}, 3),
            (std::vector<double>{1, 0, 0}));
  Formula corrections("bias_corrections", "dvr", 3);
  std::vector<double> found = corrections.reals({{0.9}, {0, 1, 3}}, 3);
  EXPECT_EQ(found[0], 1);
  EXPECT_NEAR(found[1], 0.1, 1e-15);
  EXPECT_NEAR(found[2], 1 - 0.729, 1e-15);
  Formula powers("step_powers", "dvr", 3);
  found = powers.reals({{-0.5}, {0, 1, 4}}, 3);
  EXPECT_EQ(found[0], 1);
  EXPECT_EQ(found[1], 1);
  EXPECT_NEAR(found[2], 0.5, 1e-15);
  Formula selected("selected_now", "mlm", 3);
  EXPECT_EQ(selected.maskOf({{0, 1, 0}, {0}}), Selection(3, 1));
  EXPECT_EQ(selected.maskOf({{0, 1, 0}, {1}}), (Selection{0, 1, 0}));
}

TEST(SelectionFormulas, ASelectionIsHeld) {
  Formula turn("turn", "llll"), begins("begins_turn", "llll");
  EXPECT_EQ(turn.integer({5, 3, 0}), 1);
  EXPECT_EQ(turn.integer({6, 3, 0}), 2);
  EXPECT_EQ(begins.integer({6, 3, 0}), 1);
  EXPECT_EQ(begins.integer({7, 3, 0}), 0);
  // After a warm-up each is held for a whole period, the first one too, and
  // begins where the selection becomes another; in the warm-up none begins.
  for (int64_t period : {1, 2, 3, 5})
    for (int64_t warmup : {0, 1, 3, 4, 7, 10})
      for (int64_t step = 0; step < 40; ++step) {
        auto at = [&](int64_t step) {
          return std::vector<double>{double(step), double(period),
                                     double(warmup)};
        };
        bool isPast = step >= warmup,
             isFirst = isPast && (step - warmup) % period == 0;
        EXPECT_EQ(begins.integer(at(step)), isFirst)
            << step << " " << period << " " << warmup;
        if (isPast && step > warmup)
          EXPECT_EQ(turn.integer(at(step)) - turn.integer(at(step - 1)),
                    isFirst)
              << step << " " << period << " " << warmup;
        // Where no selection was cut short it is the one of before.
        if (warmup % period == 0)
          EXPECT_EQ(turn.integer(at(step)), step / period);
      }
}

TEST(SelectionFormulas, ABackwardEndsAtTheLowestThatIsSelected) {
  Formula reaches("reaches", "mm", 5), skips("skips", "mmm", 5);
  const std::vector<double> mask = {0, 1, 0, 0, 1}, from = {0, 1, 1, 1, 1};
  EXPECT_EQ(reaches.maskOf({mask}), (Selection{0, 1, 1, 1, 1}));
  EXPECT_EQ(skips.maskOf({mask, from}), (Selection{1, 1, 0, 0, 1}));
  EXPECT_EQ(reaches.maskOf({{0, 0, 0, 0, 0}}), Selection(5, 0));
}

TEST(SelectionFormulas, SelectedLayersHaveTheirNumbers) {
  Formula selected("selected_layers", "mrv", 4);
  EXPECT_EQ(selected.reals({{1, 0, 0, 1}, {0, 2, 3, 23}}, 4),
            (std::vector<double>{0, -1, -1, 23}));
}

TEST(SelectionFormulas, RatiosGoFromTheFirstToTheLastStep) {
  // Steps 2 to 12 of 13 come after the warm-up.
  auto at = [](Formula &ratio, double step) {
    return ratio.number({0.8, 0.3, 2, 13, step});
  };
  Formula step("ratio_step", "ddllld"), linear("ratio_linear", "ddllld"),
      cosine("ratio_cosine", "ddllld");
  for (Formula *ratio : {&step, &linear, &cosine}) {
    EXPECT_EQ(at(*ratio, 0), 0.8);
    EXPECT_EQ(at(*ratio, 2), 0.8);
    EXPECT_NEAR(at(*ratio, 12), 0.3, 1e-15);
    EXPECT_NEAR(at(*ratio, 99), 0.3, 1e-15);
  }
  EXPECT_EQ(at(step, 6), 0.8);
  EXPECT_EQ(at(step, 7), 0.3);
  EXPECT_NEAR(at(linear, 7), 0.55, 1e-15);
  EXPECT_NEAR(at(cosine, 7), 0.55, 1e-15);
  EXPECT_NEAR(at(cosine, 4), 0.3 + 0.25 * (1 + std::cos(0.2 * std::acos(-1))),
              1e-15);
  // A run of one step, or of none after the warm-up.
  EXPECT_EQ(linear.number({0.8, 0.3, 0, 1, 0}), 0.8);
  EXPECT_EQ(linear.number({0.8, 0.3, 5, 3, 2}), 0.8);
  // Slots are for the larger end.
  EXPECT_EQ(ruleOf("uniform", 0.3, 1, "linear", 0.8).mostOf(10), 8);
  EXPECT_EQ(ruleOf("uniform", 0.8, 1, "step", 0.3).mostOf(10), 8);
}

TEST(DirectionFormulas, ScalesRiseEvenly) {
  Formula rise("rise", "lld"), risen("risen_scales", "rrdr", 3);
  EXPECT_EQ(rise.number({0, 4}), 0);
  EXPECT_EQ(rise.number({1, 4}), 0.25);
  EXPECT_EQ(rise.number({9, 4}), 1);
  EXPECT_EQ(rise.number({0, 0}), 1);
  EXPECT_EQ(risen.reals({{0.5, 1, 1}, {1, 0, 1}, {0.25}}, 3),
            (std::vector<double>{0.125, 1, 0.25}));
}
