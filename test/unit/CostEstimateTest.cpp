//===- CostEstimateTest.cpp - How long an entry will take -----------------===//

#include "passes/CostEstimate.h"
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
    hone.entry @none {
      %x = hone.call @make "" () : () -> tensor<?x4xf32>
    }
    hone.entry @once {
      %x = hone.call @make "" () : () -> tensor<?x4xf32>
      %y = hone.call @whole "0." (%x) : (tensor<?x4xf32>) -> tensor<?x8xf32>
    }
    hone.entry @twice {
      %x = hone.call @make "" () : () -> tensor<?x4xf32>
      %y = hone.call @whole "0." (%x) : (tensor<?x4xf32>) -> tensor<?x8xf32>
      %z = hone.call @whole "1." (%x) : (tensor<?x4xf32>) -> tensor<?x8xf32>
    }
    hone.entry @tiles {
      %x = hone.call @make "" () : () -> tensor<?x4xf32>
      %y = hone.call @tiled "0." (%x) : (tensor<?x4xf32>) -> tensor<?x8xf32>
    }
  })";

TEST(CostEstimate, CountsOperationsBytesAndFills) {
  ParsedModule module(source);
  StepCounts none = countStep(module.get(), "none");
  StepCounts once = countStep(module.get(), "once");
  EXPECT_EQ(once.flops - none.flops, 4096);
  EXPECT_EQ(once.rowBytes - none.rowBytes, 64 * 12 * 4);
  EXPECT_EQ(once.fills - none.fills, 32);
  StepCounts twice = countStep(module.get(), "twice");
  EXPECT_EQ(twice.flops - none.flops, 2 * 4096);
  StepCounts tiles = countStep(module.get(), "tiles");
  EXPECT_EQ(tiles.flops, once.flops);
  EXPECT_EQ(tiles.rowBytes, once.rowBytes);
  EXPECT_EQ(tiles.fills - none.fills, 2 * 32);
}

TEST(CostEstimate, DividesCountsByRates) {
  StepCounts counts{4000, 300, 20};
  EXPECT_NEAR(counts.seconds({1e3, 1e2, 1e1}), 4 + 3 + 2, 1e-12);
}
