//===- CostEstimateTest.cpp - How long an entry will take -----------------===//

#include "passes/plan/CostEstimate.h"
#include "dialects/Hone/SequenceTiles.h"
#include "passes/plan/StepFloor.h"
#include "test/unit/ParsedModule.h"

using namespace hone;

// One product of 64 rows, 4 to 8 features: 4096 operations, 64 * 12 floats of
// activations, 32 weights. In tiles of 32 rows the weights are filled twice.
static constexpr llvm::StringLiteral source = R"(
  module attributes {hone.max_rows = 64 : i64} {
    hone.block @make() -> tensor<?x4xf32> {
      %x = hone.input "hidden" : tensor<?x4xf32>
      %y = hone.add %x, %x : tensor<?x4xf32>
      hone.return %y : tensor<?x4xf32>
    }
    hone.block @whole(%x: tensor<?x4xf32>) -> tensor<?x8xf32> {
      %w = hone.parameter "w" : tensor<8x4xf32>
      %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
      hone.return %y : tensor<?x8xf32>
    }
    hone.block @tiled(%x: tensor<?x4xf32>) -> tensor<?x8xf32> {
      %w = hone.parameter "w" : tensor<8x4xf32>
      %y = hone.row_tiles 32 (%x) : (tensor<?x4xf32>) -> tensor<?x8xf32> {
      ^tile(%rows: tensor<?x4xf32>):
        %0 = hone.linear %rows, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
        hone.return %0 : tensor<?x8xf32>
      }
      hone.return %y : tensor<?x8xf32>
    }
    hone.entry @none() {
      %x = hone.call @make "" () : () -> tensor<?x4xf32>
    }
    hone.entry @once() {
      %x = hone.call @make "" () : () -> tensor<?x4xf32>
      %y = hone.call @whole "0." (%x) : (tensor<?x4xf32>) -> tensor<?x8xf32>
    }
    hone.entry @twice() {
      %x = hone.call @make "" () : () -> tensor<?x4xf32>
      %y = hone.call @whole "0." (%x) : (tensor<?x4xf32>) -> tensor<?x8xf32>
      %z = hone.call @whole "1." (%x) : (tensor<?x4xf32>) -> tensor<?x8xf32>
    }
    hone.entry @tiles() {
      %x = hone.call @make "" () : () -> tensor<?x4xf32>
      %y = hone.call @tiled "0." (%x) : (tensor<?x4xf32>) -> tensor<?x8xf32>
    }
  })";

/// Of a step that is the one entry called `name`.
static StepCounts countOf(mlir::ModuleOp module, llvm::StringRef name) {
  mlir::OwningOpRef<mlir::ModuleOp> copy(module.clone());
  for (EntryOp entry : llvm::make_early_inc_range(copy->getOps<EntryOp>()))
    if (entry.getSymName() != name)
      entry.erase();
  return sumOf(countFamilies(*copy));
}

TEST(CostEstimate, CountsOperationsBytesAndFills) {
  ParsedModule module(source);
  StepCounts none = countOf(module.get(), "none");
  StepCounts once = countOf(module.get(), "once");
  EXPECT_EQ(once.flops - none.flops, 4096);
  EXPECT_EQ(once.productFlops, 4096) << "the addition is no product";
  EXPECT_EQ(once.rowBytes - none.rowBytes, 64 * 12 * 4);
  EXPECT_EQ(once.fills - none.fills, 32);
  EXPECT_EQ(once.fillBytes - none.fillBytes, 32 * 4);
  StepCounts twice = countOf(module.get(), "twice");
  EXPECT_EQ(twice.flops - none.flops, 2 * 4096);
  StepCounts tiles = countOf(module.get(), "tiles");
  EXPECT_EQ(tiles.flops, once.flops);
  EXPECT_EQ(tiles.rowBytes, once.rowBytes);
  EXPECT_EQ(tiles.fills - none.fills, 2 * 32);
}

TEST(CostEstimate, ReadsWeightsAsTheyAreStored) {
  std::string stored = source.str();
  for (size_t at = 0;
       (at = stored.find("\"w\" : tensor", at)) != std::string::npos; at += 40)
    stored.insert(at + 4, "stored <bfloat16> ");
  ParsedModule module(stored);
  StepCounts once = countOf(module.get(), "once");
  EXPECT_EQ(once.fills, 32);
  EXPECT_EQ(once.fillBytes, 32 * 2);
}

TEST(CostEstimate, TrainableParametersAreNoFills) {
  ParsedModule module(R"(
    module attributes {hone.max_rows = 64 : i64} {
      hone.block @lora() -> tensor<?x4xf32> {
        %x = hone.input "hidden" : tensor<?x4xf32>
        %w = hone.parameter "w" : tensor<4x4xf32>
        %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
        %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
        %y = hone.lora_linear %x, %w, %a, %b scale 1.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
        hone.return %y : tensor<?x4xf32>
      }
      hone.entry gradient @step() {
        %y = hone.call @lora "" () : () -> tensor<?x4xf32>
      }
    })");
  StepCounts counts = countOf(module.get(), "step");
  EXPECT_EQ(counts.fills, 16);
  EXPECT_EQ(counts.productFlops, counts.flops);
}

// 64 rows are two sequences of 32. Attention is two products, each a
// multiply-add for half of the pairs of a sequence's rows and each of 32
// features.
TEST(CostEstimate, AttentionIsAProductOfTheRowsOfASequence) {
  ParsedModule module(R"(
    module attributes {hone.max_rows = 64 : i64, hone.max_positions = 32 : i64} {
      hone.block @make() -> tensor<?x32xf32> {
        %x = hone.input "hidden" : tensor<?x32xf32>
        %s = hone.input "sequence_starts" : tensor<?xi32>
        %a = hone.attention %x, %x, %x, %s heads 1 kv_heads 1 scale 0.5 : (tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>, tensor<?xi32>) -> tensor<?x32xf32>
        %y = hone.add %a, %x : tensor<?x32xf32>
        hone.return %y : tensor<?x32xf32>
      }
      hone.entry @step() {
        %y = hone.call @make "" () : () -> tensor<?x32xf32>
      }
    })");
  const StepCounts counts = countOf(module.get(), "step");
  EXPECT_EQ(counts.productFlops, 0) << "no weight is multiplied";
  EXPECT_EQ(counts.rowProductFlops, 2 * (2 * 32 * 32) * 32);
  EXPECT_EQ(counts.flops - counts.rowProductFlops, 64 * 32) << "the addition";
}

// Of 384 rows of a tile 64 are expected before its first sequence, and 64 after
// its last. So three tiles take 256 rows each, and compute 320.
TEST(CostEstimate, TilesOfSequencesComputeRowsInVain) {
  ParsedModule module(R"(
    module attributes {hone.max_rows = 768 : i64, hone.max_positions = 128 : i64} {
      hone.block @layer() -> tensor<?x32xf32> {
        %w = hone.parameter "w" : tensor<32x32xf32>
        %starts = hone.input "sequence_starts" : tensor<?xi32>
        %x = hone.input "hidden" : tensor<?x32xf32>
        %y = hone.row_tiles 384 (%starts, %x) {hone.longest_sequence = 128 : i64} : (tensor<?xi32>, tensor<?x32xf32>) -> tensor<?x32xf32> {
        ^tile(%s: tensor<?xi32>, %rows: tensor<?x32xf32>):
          %p = hone.linear %rows, %w : (tensor<?x32xf32>, tensor<32x32xf32>) -> tensor<?x32xf32>
          %a = hone.attention %p, %p, %p, %s heads 1 kv_heads 1 scale 0.5 : (tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>, tensor<?xi32>) -> tensor<?x32xf32>
          hone.return %a : tensor<?x32xf32>
        }
        hone.return %y : tensor<?x32xf32>
      }
      hone.entry @step() {
        %y = hone.call @layer "" () : () -> tensor<?x32xf32>
      }
    })");
  const FamilyCounts tiled = countFamilies(module.get());
  module.get().walk([](RowTilesOp tiles) {
    tiles->removeAttr(kLongestSequenceAttrName);
    tiles.setTileRows(768);
  });
  const FamilyCounts whole = countFamilies(module.get());
  for (const char *family : {"linear f32", "attention f32"}) {
    ASSERT_TRUE(tiled.count(family) && whole.count(family)) << family;
    const StepCounts &found = tiled.at(family), &batch = whole.at(family);
    auto expectMore = [&](int64_t counted, int64_t ofBatch) {
      EXPECT_NEAR(double(counted), double(ofBatch) * 320 / 256, 3) << family;
    };
    EXPECT_EQ(batch.launches, 1) << family;
    EXPECT_EQ(found.launches, 3) << family;
    EXPECT_EQ(found.fills, 3 * batch.fills) << family;
    EXPECT_GT(batch.productFlops + batch.rowProductFlops, 0) << family;
    expectMore(found.flops, batch.flops);
    expectMore(found.productFlops, batch.productFlops);
    expectMore(found.rowProductFlops, batch.rowProductFlops);
    expectMore(found.rowBytes, batch.rowBytes);
  }
}

TEST(CostEstimate, AnAdaptersGradientIsAProductOfRows) {
  ParsedModule module(R"(
    module attributes {hone.max_rows = 64 : i64} {
      hone.block @lora() -> (tensor<8x32xf32>, tensor<32x8xf32>, tensor<32xf32>) {
        %x = hone.input "hidden" : tensor<?x32xf32>
        %a = hone.parameter "a" trainable init <zero> : tensor<8x32xf32>
        %b = hone.parameter "b" trainable init <zero> : tensor<32x8xf32>
        %da, %db = hone.lora_parameter_adjoint %x, %x, %a, %b scale 1.0 : (tensor<?x32xf32>, tensor<?x32xf32>, tensor<8x32xf32>, tensor<32x8xf32>) -> (tensor<8x32xf32>, tensor<32x8xf32>)
        %bias = hone.bias_adjoint %x : (tensor<?x32xf32>) -> tensor<32xf32>
        hone.return %da, %db, %bias : tensor<8x32xf32>, tensor<32x8xf32>, tensor<32xf32>
      }
      hone.entry @step() {
        %y:3 = hone.call @lora "" () : () -> (tensor<8x32xf32>, tensor<32x8xf32>, tensor<32xf32>)
      }
    })");
  const StepCounts counts = countOf(module.get(), "step");
  EXPECT_EQ(counts.rowProductFlops, 4 * (2 * 64 * 8 * 32));
  EXPECT_EQ(counts.flops - counts.rowProductFlops, 64 * 32) << "the bias";
}

// A random number takes more operations than any other of an element.
TEST(CostEstimate, NoiseIsNoProduct) {
  ParsedModule module(R"(
    module attributes {hone.max_rows = 64 : i64} {
      hone.block @embed() -> tensor<?x32xf32> {
        %x = hone.input "hidden" : tensor<?x32xf32>
        %s = hone.input "sequence_starts" : tensor<?xi32>
        %key = hone.input "random_key" : tensor<4xi32>
        %y = hone.embedding_noise %x, %s alpha 5.0 of "embed_tokens" by %key : tensor<?x32xf32>, tensor<?xi32>
        hone.return %y : tensor<?x32xf32>
      }
      hone.entry @step() {
        %y = hone.call @embed "" () : () -> tensor<?x32xf32>
      }
    })");
  const StepCounts counts = countOf(module.get(), "step");
  EXPECT_GT(counts.flops, 64 * 32 * 16) << "more than for two numbers";
  EXPECT_EQ(counts.rowProductFlops, 0);
}

TEST(CostEstimate, ProductsOfRowsHaveTheRatesOfOthersWhereTheyAreAlike) {
  StepCounts counts{/*flops=*/6000, /*productFlops=*/1000};
  counts.rowProductFlops = 3000;
  MachineProfile profile{1e3, 2e3, 5e2, 1e2, 1e1};
  EXPECT_NEAR(counts.seconds(profile, true), 0.5 + 10, 1e-12);
  profile.rowProductsAlike = true;
  EXPECT_NEAR(counts.seconds(profile, true), 2 + 4, 1e-12);
  EXPECT_NEAR(counts.seconds(profile, false), 4 + 4, 1e-12);
}

TEST(CostEstimate, DividesCountsByRates) {
  StepCounts counts{6000, 4000, 200, 20, 100};
  MachineProfile profile{1e3, 2e3, 5e2, 1e2, 1e1};
  EXPECT_NEAR(counts.seconds(profile, false), 4 + 4 + 3 + 2, 1e-12);
  EXPECT_NEAR(counts.seconds(profile, true), 2 + 4 + 3 + 2, 1e-12);
}

TEST(CostEstimate, FamiliesAreOfOneOpOneElementTypeAndOneStorage) {
  std::string stored = source.str();
  const size_t at = stored.find("\"w\" : tensor");
  stored.insert(at + 4, "stored <bfloat16> "); // the first block's alone
  ParsedModule module(stored);
  const FamilyCounts families = countFamilies(module.get());
  EXPECT_TRUE(families.count("linear f32 bfloat16"));
  EXPECT_TRUE(families.count("linear f32"));
  EXPECT_TRUE(families.count("add f32"));
  module.get()->setAttr(HoneDialect::getRoundedProductsAttrName(),
                        mlir::UnitAttr::get(module.get()->getContext()));
  const FamilyCounts rounded = countFamilies(module.get());
  EXPECT_TRUE(rounded.count("linear f32 bfloat16 rounded"));
  EXPECT_TRUE(rounded.count("add f32")) << "an addition is no product";
}

TEST(CostEstimate, AFamilyHasItsCostsAndAnotherTheRates) {
  MachineCosts costs;
  costs.rates = {1e3, 2e3, 5e2, 1e2, 1e1};
  const StepCounts counts{6000, 4000, 200, 20, 100, 3};
  const FamilyCounts step = {{"linear f32", counts}, {"add f32", counts}};
  EXPECT_NEAR(costs.seconds(step, false), 2 * 13, 1e-9);
  costs.families["linear f32"] = {1e-3, 1e-2, 1e-1, 1};
  costs.stepSeconds = 0.5;
  EXPECT_NEAR(costs.seconds("linear f32", counts, false), 6 + 3 + 2 + 3, 1e-9);
  EXPECT_NEAR(costs.seconds(step, false), 0.5 + 14 + 13, 1e-9);
}

TEST(CostEstimate, KernelsAreThePartsOfAStep) {
  ParsedModule module(source);
  StepCounts sum;
  for (const KernelCounts &kernel : countKernels(module.get()))
    sum += kernel.counts;
  const StepCounts step = sumOf(countFamilies(module.get()));
  EXPECT_EQ(sum.flops, step.flops);
  EXPECT_EQ(sum.rowBytes, step.rowBytes);
  EXPECT_EQ(sum.fills, step.fills);
  EXPECT_EQ(sum.launches, step.launches);
}

// A third of 3 s each way overlaps with computation, at a byte in 1 ns.
TEST(MachineCosts, AStepWaitsForWhatADiskDoesNotReach) {
  MachineCosts costs;
  costs.diskBytesPerSecond = 1e9;
  const double copies = 2e9 / MachineCosts::copiedBytesPerSecond;
  EXPECT_NEAR(costs.secondsWithFile(3, 0), 3, 1e-9);
  EXPECT_NEAR(costs.secondsWithFile(3, 1000000000), 3 + copies, 1e-9);
  EXPECT_NEAR(costs.secondsWithFile(3, 2000000000), 3 + 2 * copies + 2, 1e-9);
}

TEST(MachineCosts, AStepIsEstimatedWithItsFile) {
  MachineCosts costs;
  costs.stepSeconds = 1;
  costs.families["fill"] = {/*flop=*/0.5};
  const FamilyCounts step = {{"fill", {/*flops=*/4}}};
  EXPECT_DOUBLE_EQ(costs.seconds(step, false, /*bytesInFile=*/0), 3);
  EXPECT_DOUBLE_EQ(costs.seconds(step, false, 1500000000),
                   costs.secondsWithFile(3, 1500000000));
}

// Products take 4 s here, the bytes of an addition 8 s, while which its
// operations are done.
TEST(StepFloor, SaysWhichKernelIsLongestAndWhatBoundsIt) {
  MachineCosts costs;
  costs.rates = {/*flopsPerSecond=*/1e3, 2e3, 1e3, /*bytesPerSecond=*/1e2, 1e9};
  std::vector<KernelCounts> kernels = {
      {"layer", "linear up", {4000, 4000, 0, 0, 0, 1}},
      {"layer", "add", {10, 0, 800, 0, 0, 1}}};
  StepFloor floor = StepFloor::of(kernels, costs, false);
  ASSERT_EQ(floor.rows().size(), 2u);
  EXPECT_EQ(floor.rows()[0].counted.kernel, "add");
  EXPECT_STREQ(floor.rows()[0].boundBy, "bytes");
  EXPECT_STREQ(floor.rows()[1].boundBy, "products");
  EXPECT_NEAR(floor.seconds(), 4 + 8, 1e-9);
  EXPECT_NE(floor.table(1).find("1 others"), std::string::npos);
}

// 2,000 operations of attention at 1e3 each second, or at 4e3 on matrix units.
TEST(StepFloor, AttentionIsBoundByProducts) {
  MachineCosts costs;
  costs.rates = {1e3, /*bfloat16FlopsPerSecond=*/4e3, 1e3, 1e9, 1e9};
  const std::vector<KernelCounts> kernels = {
      {"layer",
       "attention",
       {2000, 0, 800, 0, 0, 1, /*rowProductFlops=*/2000}}};
  EXPECT_NEAR(StepFloor::of(kernels, costs, true).seconds(), 2, 1e-9);
  costs.rates.rowProductsAlike = true;
  const StepFloor floor = StepFloor::of(kernels, costs, true);
  EXPECT_NEAR(floor.seconds(), 0.5, 1e-9);
  EXPECT_STREQ(floor.rows()[0].boundBy, "products");
}

TEST(CostEstimate, AttentionIsNotCheapThoughOneRowOfItIs) {
  ParsedModule module(R"(
    module attributes {hone.max_rows = 64 : i64} {
      hone.block @b(%q: tensor<?x4xf32>) -> tensor<?x4xf32> {
        %s = hone.input "sequence_starts" : tensor<?xi32>
        %a = hone.attention %q, %q, %q, %s heads 1 kv_heads 1 scale 0.5 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>) -> tensor<?x4xf32>
        %y = hone.add %a, %q : tensor<?x4xf32>
        hone.return %y : tensor<?x4xf32>
      }
    })");
  module.get().walk([](AttentionOp op) { EXPECT_FALSE(isCheap(op)); });
  module.get().walk([](AddOp op) { EXPECT_TRUE(isCheap(op)); });
}
