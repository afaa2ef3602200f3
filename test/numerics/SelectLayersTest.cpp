//===- SelectLayersTest.cpp - Gradients of some of the layers -------------===//
//
// A derived gradient in which test-select-layers made the backward of each
// layer conditional, run with masks and slots, against the gradient without
// conditions and against one in which calls were exchanged by hand: to the bit.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "test/lib/TestPasses.h"
#include "test/numerics/HoneProgram.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace hone;

namespace {

/// Rows of a batch; the most there may be. Slots of 9 x 8 floats are no whole
/// cache lines.
constexpr int64_t kRows = 7, kMaxRows = 9;
constexpr int64_t kLayers = 4, kVocabulary = 11, kWidth = 8, kRank = 2;
/// Trainable elements of a layer.
constexpr int64_t kLayerElements = 2 * kRank * kWidth;

using Numbers = std::vector<int32_t>;

/// A loss and, one layer after another, the gradient.
struct Outcome {
  double loss;
  std::vector<double> gradient;

  bool operator==(const Outcome &other) const {
    return loss == other.loss && gradient == other.gradient;
  }
  std::vector<double> ofLayer(int64_t layer) const {
    auto first = gradient.begin() + layer * kLayerElements;
    return {first, first + kLayerElements};
  }
};

/// The gradient of a model of `kLayers` layers. The first of them, a block of
/// its own, gives no cotangent, so its backward has no results.
class Gradient {
public:
  /// Without conditions; the backward of a layer that `isReplaced` gives its
  /// cotangent instead.
  explicit Gradient(const std::vector<bool> &isReplaced);
  /// With conditions and a pool of `slots` slots; 0: with exact cotangents.
  explicit Gradient(int64_t slots);

  /// `more`: the slots, or which layers no cotangent goes through.
  Outcome operator()(const Numbers &mask = {}, const Numbers &more = {});

private:
  using Change = llvm::function_ref<void(mlir::ModuleOp, mlir::PassManager &)>;
  static std::string ir(Change change);

  HoneProgram program;
};

} // namespace

/// The block of a layer.
static std::string layerIR(const std::string &name) {
  return "hone.block @" + name + R"((%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
      %n = hone.parameter "norm.weight" : tensor<8xf32>
      %w = hone.parameter "proj.weight" : tensor<8x8xf32>
      %a = hone.parameter "proj.lora_A.weight" trainable init <kaiming_uniform> : tensor<2x8xf32>
      %b = hone.parameter "proj.lora_B.weight" trainable init <zero> : tensor<8x2xf32>
      %0 = hone.rms_norm %x, %n eps 1.0e-5 : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
      %1 = hone.lora_linear %0, %w, %a, %b scale 2.0 : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<2x8xf32>, tensor<8x2xf32>) -> tensor<?x8xf32>
      %2 = hone.gated_activation silu %1, %0 : tensor<?x8xf32>
      %y = hone.add %x, %2 : tensor<?x8xf32>
      hone.return %y : tensor<?x8xf32>
    }
)";
}

static std::string lossIR() {
  std::string text =
      "module attributes {hone.max_rows = " + std::to_string(kMaxRows) +
      " : i64} {\n" + layerIR("first") + layerIR("layer") + R"(
    hone.block @start() -> tensor<?x8xf32> {
      %x = hone.input "hidden" : tensor<?x8xf32>
      %y = hone.add %x, %x : tensor<?x8xf32>
      hone.return %y : tensor<?x8xf32>
    }
    hone.block @head(%x: tensor<?x8xf32>) -> tensor<f64> {
      %t = hone.input "targets" : tensor<?xi32>
      %w = hone.parameter "lm_head.weight" : tensor<11x8xf32>
      %l = hone.linear_cross_entropy %x, %w, %t : (tensor<?x8xf32>, tensor<11x8xf32>, tensor<?xi32>) -> tensor<f64>
      hone.return %l : tensor<f64>
    }
    // What a backward that is replaced leaves.
    hone.block @same(%x: tensor<?x8xf32>, %dy: tensor<?x8xf32>) -> tensor<?x8xf32> {
      %dx = hone.convert %dy : tensor<?x8xf32> to tensor<?x8xf32>
      hone.return %dx : tensor<?x8xf32>
    }
    hone.entry @loss() -> tensor<f64> {
      %0 = hone.call @start "" () : () -> tensor<?x8xf32>
)";
  llvm::raw_string_ostream os(text);
  for (int64_t i = 0; i < kLayers; ++i)
    os << "%" << i + 1 << " = hone.call @" << (i ? "layer" : "first")
       << " \"layers." << i << ".\" (%" << i
       << ") : (tensor<?x8xf32>) -> tensor<?x8xf32>\n";
  os << "%l = hone.call @head \"\" (%" << kLayers
     << ") : (tensor<?x8xf32>) -> tensor<f64>\n"
        "hone.return %l : tensor<f64>\n}\n}\n";
  return text;
}

std::string Gradient::ir(Change change) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<HoneDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(lossIR(), &context);
  mlir::PassManager derive(&context), after(&context);
  derive.addPass(createDeriveBackward());
  EXPECT_TRUE(succeeded(derive.run(*module)));
  // The program under test runs the first entry.
  module->lookupSymbol("loss")->erase();
  change(*module, after);
  EXPECT_TRUE(succeeded(after.run(*module)));
  std::string text;
  llvm::raw_string_ostream(text) << **module;
  return text;
}

Gradient::Gradient(const std::vector<bool> &isReplaced)
    : program(ir([&](mlir::ModuleOp module, mlir::PassManager &) {
        module.walk([&](CallOp call) {
          llvm::StringRef prefix = call.getPrefix();
          int64_t layer;
          if (!call.getBlock().ends_with(".backward") ||
              !prefix.consume_front("layers.") ||
              prefix.consumeInteger(10, layer) || !isReplaced[layer])
            return;
          if (call.getNumResults() == 0)
            call.erase();
          else
            call.setBlock("same");
        });
      })) {}

Gradient::Gradient(int64_t slots)
    : program(ir([&](mlir::ModuleOp, mlir::PassManager &after) {
        after.addPass(createSelectLayers(slots));
        after.addPass(createEraseUnused());
        after.addPass(createVerifyStep());
      })) {}

/// Numbers of no special kind, different for each `seed`.
static std::vector<double> numbers(int64_t count, double seed) {
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = std::sin(1.7 * double(i) + seed);
  return values;
}

Outcome Gradient::operator()(const Numbers &mask, const Numbers &more) {
  program.reset();
  program.write("input.hidden", numbers(kRows * kWidth, 0.1));
  program.write("input.targets", Numbers{3, 0, 10, -100, 7, 7, 1});
  program.write("theta", numbers(kLayers * kLayerElements, 0.2));
  std::vector<std::vector<double>> weights;
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    weights.push_back(numbers(kWidth, 0.3 + double(layer)));
    weights.push_back(numbers(kWidth * kWidth, 0.4 + double(layer)));
  }
  weights.push_back(numbers(kVocabulary * kWidth, 0.5));
  program.setWeights(weights);
  program.write("argument.0", std::vector<double>{0.25});
  if (!mask.empty()) {
    program.write("argument.1", mask);
    program.write("argument.2", more);
  }
  program.run(kRows, /*threads=*/2);
  return {program.read("result.0", 1)[0],
          program.read("gradient", kLayers * kLayerElements)};
}

static bool isZero(const std::vector<double> &values) {
  return llvm::all_of(values, [](double value) { return value == 0; });
}

TEST(SelectLayers, AllOfThemGiveThePlainGradient) {
  Outcome plain = Gradient(std::vector<bool>(kLayers, false))();
  ASSERT_TRUE(std::isfinite(plain.loss));
  for (int64_t layer = 0; layer < kLayers; ++layer)
    EXPECT_FALSE(isZero(plain.ofLayer(layer))) << layer;
  Gradient selected(kLayers);
  EXPECT_EQ(selected({1, 1, 1, 1}, {0, 1, 2, 3}), plain);
  EXPECT_EQ(selected({1, -7, 1, 1}, {2, 0, 3, 1}), plain)
      << "any order will do, and anything but zero selects";
}

TEST(SelectLayers, OthersLetTheCotangentThrough) {
  // As many slots as two layers need; the numbers of the others mean nothing.
  Gradient selected(int64_t(2));
  for (auto [first, second] : {std::pair(0, 2), {1, 3}, {2, 3}}) {
    SCOPED_TRACE(testing::Message() << first << " and " << second);
    Numbers mask(kLayers, 0), slots(kLayers, 77);
    std::vector<bool> isReplaced(kLayers, true);
    mask[first] = mask[second] = 1;
    isReplaced[first] = isReplaced[second] = false;
    slots[first] = 0;
    slots[second] = 1;
    Outcome outcome = selected(mask, slots);
    EXPECT_EQ(outcome, Gradient(isReplaced)());
    for (int64_t layer = 0; layer < kLayers; ++layer)
      EXPECT_EQ(isZero(outcome.ofLayer(layer)), !mask[layer]) << layer;
  }
}

// Any selected layer has the plain gradient, though the backward ends at the
// lowest one.
TEST(SelectLayers, ExactCotangentsEndWhereNothingReadsThem) {
  Outcome plain = Gradient(std::vector<bool>(kLayers, false))();
  Gradient selected(int64_t(0));
  for (unsigned chosen = 0; chosen < 1u << kLayers; ++chosen) {
    SCOPED_TRACE(testing::Message() << "layers " << chosen);
    Numbers mask, skips;
    for (int64_t layer = 0; layer < kLayers; ++layer) {
      mask.push_back(chosen >> layer & 1);
      bool reaches = chosen & ((2u << layer) - 1);
      skips.push_back(mask.back() || !reaches);
    }
    Outcome outcome = selected(mask, skips);
    EXPECT_EQ(outcome.loss, plain.loss);
    for (int64_t layer = 0; layer < kLayers; ++layer)
      EXPECT_EQ(outcome.ofLayer(layer),
                mask[layer] ? plain.ofLayer(layer)
                            : std::vector<double>(kLayerElements, 0))
          << layer;
  }
}

TEST(SelectLayers, NoneGiveNoGradient) {
  Outcome outcome =
      Gradient(int64_t(1))(Numbers(kLayers, 0), Numbers(kLayers, 0));
  EXPECT_TRUE(isZero(outcome.gradient));
  EXPECT_EQ(outcome.loss, Gradient(std::vector<bool>(kLayers, false))().loss);
}

TEST(SelectLayers, ANumberThatIsNoSlotIsTheLastOne) {
  Gradient selected(int64_t(2));
  const Numbers mask = {0, 1, 0, 1};
  Outcome inside = selected(mask, {0, 0, 0, 1});
  for (int32_t outside : {2, 3, 1 << 30, -1, INT32_MIN})
    EXPECT_EQ(selected(mask, {0, 0, 0, outside}), inside) << outside;
}
