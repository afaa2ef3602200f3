//===- ActivityAnalysisTest.cpp - Which values carry a cotangent ----------===//

#include "passes/derive/ActivityAnalysis.h"
#include "test/unit/ParsedModule.h"

using namespace hone;

static constexpr llvm::StringLiteral source = R"(
  hone.block @layer(%x: tensor<?x4xf32>, %z: tensor<?x4xf32>)
      -> (tensor<?x4xf32>, tensor<?x4xf32>) {
    %w = hone.parameter "w" : tensor<4x4xf32>
    %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
    %b = hone.parameter "b" : tensor<4x2xf32>
    %frozen = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %trained = hone.lora_linear %z, %w, %a, %b scale 1.0 : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<?x4xf32>
    hone.return %frozen, %trained : tensor<?x4xf32>, tensor<?x4xf32>
  })";

TEST(ActivityAnalysis, BeginsAtTrainableParameters) {
  ParsedModule module(source);
  BlockOp block = module.block("layer");
  ActivityAnalysis activity(block, {llvm::BitVector(2)});
  auto lora = module.only<LoraLinearOp>(block);
  EXPECT_TRUE(activity.isActive(lora.getA()));
  EXPECT_FALSE(activity.isActive(lora.getB()));
  EXPECT_FALSE(activity.isActive(lora.getWeight()));
  EXPECT_TRUE(activity.isActive(lora.getY()));
}

TEST(ActivityAnalysis, LeavesWhatDependsOnNothingTrainable) {
  ParsedModule module(source);
  BlockOp block = module.block("layer");
  ActivityAnalysis activity(block, {llvm::BitVector(2)});
  EXPECT_FALSE(activity.isActive(module.only<LinearOp>(block).getY()));
  llvm::BitVector results = activity.activeResults();
  EXPECT_FALSE(results.test(0));
  EXPECT_TRUE(results.test(1));
}

TEST(ActivityAnalysis, FollowsActiveArguments) {
  ParsedModule module(source);
  BlockOp block = module.block("layer");
  llvm::BitVector first(2);
  first.set(0);
  ActivityAnalysis activity(block, {first});
  EXPECT_TRUE(activity.isActive(module.only<LinearOp>(block).getY()));
  EXPECT_FALSE(activity.isActive(block.getBody().getArgument(1)));
  EXPECT_TRUE(activity.activeResults().all());
}

TEST(ActivityAnalysis, NamesTheActiveOperandsOfAnOp) {
  ParsedModule module(source);
  BlockOp block = module.block("layer");
  llvm::BitVector second(2);
  second.set(1);
  ActivityAnalysis activity(block, {second});
  llvm::BitVector operands =
      activity.activeOperands(module.only<LoraLinearOp>(block));
  EXPECT_EQ(operands.count(), 2u);
  EXPECT_TRUE(operands.test(0)) << "x";
  EXPECT_TRUE(operands.test(2)) << "a";
}
