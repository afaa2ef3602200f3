//===- BlockDerivationTest.cpp - The backward of one block ----------------===//
//
// The interface of the derived blocks: which values go in, which come out and
// in which order. Tests on IR cover their contents.
//
//===----------------------------------------------------------------------===//

#include "passes/derive/BlockDerivation.h"
#include "test/unit/ParsedModule.h"

using namespace hone;

static constexpr llvm::StringLiteral source = R"(
  hone.block @layer(%x: tensor<?x4xf32>, %unread: tensor<?x8xf32>)
      -> (tensor<?x4xf32>, tensor<?x8xf32>) {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    %h = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %y = hone.lora_linear %h, %w, %a, %b scale 1.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    %z = hone.add %unread, %unread : tensor<?x8xf32>
    hone.return %y, %z : tensor<?x4xf32>, tensor<?x8xf32>
  })";

static llvm::BitVector firstOf(unsigned count) {
  llvm::BitVector bits(count);
  bits.set(0);
  return bits;
}

TEST(BlockDerivation, MespUsesTheBlockItselfAsForward) {
  ParsedModule module(source);
  BlockOp block = module.block("layer");
  auto split = deriveSplit(block, {firstOf(2)},
                           ResidualPolicy(ResidualPolicy::Kind::Mesp));
  ASSERT_TRUE(mlir::succeeded(split));
  EXPECT_EQ(split->forward, block);
  EXPECT_EQ(split->numKept, 0u);
  EXPECT_EQ(split->backward.getName(), "layer.backward");
}

TEST(BlockDerivation, BackwardReadsOnlyTheArgumentsItNeeds) {
  ParsedModule module(source);
  auto split = deriveSplit(module.block("layer"), {firstOf(2)},
                           ResidualPolicy(ResidualPolicy::Kind::Mesp));
  ASSERT_TRUE(mlir::succeeded(split));
  EXPECT_EQ(split->arguments, (llvm::SmallVector<unsigned>{0}));
  EXPECT_EQ(split->activeResults, (llvm::SmallVector<unsigned>{0}));
  EXPECT_EQ(split->activeArguments, (llvm::SmallVector<unsigned>{0}));
  // x and the cotangent of y to the cotangent of x.
  EXPECT_EQ(split->backward.getArgumentTypes().size(), 2u);
  EXPECT_EQ(split->backward.getResultTypes().size(), 1u);
}

TEST(BlockDerivation, FullKeepsWhatTheBackwardReads) {
  ParsedModule module(source);
  auto split = deriveSplit(module.block("layer"), {firstOf(2)},
                           ResidualPolicy(ResidualPolicy::Kind::Full));
  ASSERT_TRUE(mlir::succeeded(split));
  // The input of the projection and its h = x A^T.
  EXPECT_EQ(split->numKept, 2u);
  EXPECT_EQ(split->forward.getName(), "layer.forward");
  EXPECT_EQ(split->forward.getResultTypes().size(), 4u);
  EXPECT_TRUE(split->arguments.empty());
  EXPECT_TRUE(split->backward.getBody().getOps<LinearOp>().empty());
}

TEST(BlockDerivation, WithoutActiveArgumentsReturnsNothing) {
  ParsedModule module(source);
  auto split = deriveSplit(module.block("layer"), {llvm::BitVector(2)},
                           ResidualPolicy(ResidualPolicy::Kind::Mesp));
  ASSERT_TRUE(mlir::succeeded(split));
  EXPECT_TRUE(split->backward.getResultTypes().empty());
  auto sinks = split->backward.getBody().getOps<GradientOp>();
  EXPECT_EQ(std::distance(sinks.begin(), sinks.end()), 2);
}

TEST(BlockDerivation, FusedReturnsResultsThenCotangents) {
  ParsedModule module(source);
  BlockOp block = module.block("layer");
  auto fused = deriveFused(block, {firstOf(2)});
  ASSERT_TRUE(mlir::succeeded(fused));
  EXPECT_EQ(fused->gradient.getName(), "layer.gradient");
  // Both arguments and one cotangent to both results and one cotangent.
  EXPECT_EQ(fused->gradient.getArgumentTypes().size(), 3u);
  ASSERT_EQ(fused->gradient.getResultTypes().size(), 3u);
  EXPECT_EQ(fused->gradient.getResultTypes().take_front(2),
            block.getResultTypes());
}

TEST(BlockDerivation, LeavesTheBlockAsItIs) {
  ParsedModule module(source);
  BlockOp block = module.block("layer");
  std::string before, after;
  llvm::raw_string_ostream(before) << block;
  ASSERT_TRUE(mlir::succeeded(deriveSplit(
      block, {firstOf(2)}, ResidualPolicy(ResidualPolicy::Kind::Full))));
  llvm::raw_string_ostream(after) << block;
  EXPECT_EQ(before, after);
}
