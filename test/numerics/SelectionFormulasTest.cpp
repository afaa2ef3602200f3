//===- SelectionFormulasTest.cpp - The compiled formulas of selections ----===//
//
// Against test/reference/ScalarFormulas.h and the runtime's random streams, to
// the bit, and against what each selection promises.
//
//===----------------------------------------------------------------------===//

#include "passes/derive/ScalarFunctions.h"
#include "passes/derive/SelectLayers.h"
#include "test/numerics/HoneProgram.h"
#include "test/reference/ScalarFormulas.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace hone;
using reference::Selection;

namespace {

/// One formula, compiled. `types` of operands and result: 'd' is an f64, 'l' an
/// i64, 'm' an i32 for each of `layers` layers.
class Formula {
public:
  Formula(const std::string &name, const std::string &types, int64_t layers = 1)
      : layers(layers), program(ir(name, types, layers)) {}

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
  double number(const std::vector<double> &numbers) {
    run(numbers);
    return program.read("result.0", 1)[0];
  }
  int64_t integer(const std::vector<double> &numbers) {
    run(numbers);
    return program.readIntegers("result.0", 1)[0];
  }

private:
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
      if (type == 'm') {
        element = builder.getI32Type();
        shape = {layers};
      }
      all.push_back(mlir::RankedTensorType::get(shape, element));
      if (i + 1 == types.size())
        break;
      settingsOs << "%a" << i << " = ";
      if (type == 'm')
        settingsOs << "hone.scalar @given() : () -> ";
      else
        settingsOs << "hone.setting \"a" << i << "\" : ";
      settingsOs << all.back() << "\n";
      llvm::raw_string_ostream(operandTypes) << (i ? ", " : "") << all.back();
      operands += (i ? ", %a" : "%a") + std::to_string(i);
    }
    mlir::Type result = all.pop_back_val();
    EXPECT_TRUE(succeeded(getScalarFunction(*module, name, all, result)));
    os << "func.func private @given(%m: memref<" << layers
       << "xi32>) {\n  return\n}\n";
    for (mlir::Operation &op : *module->getBody())
      os << op << "\n";
    os << "hone.schedule train {\n"
       << settings << "%r = hone.scalar @scalar." << name << "(" << operands
       << ") : (" << operandTypes << ") -> " << result << "\n}\n}\n";
    return text;
  }

  int64_t layers;
  HoneProgram program;
};

} // namespace

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
    int64_t most =
        SelectionRule{SelectionRule::Kind::Cyclic, 1, groups, 0}.mostOf(10);
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
