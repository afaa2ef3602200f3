//===- LifetimesTest.cpp - Which values share memory ----------------------===//

#include "passes/place/Lifetimes.h"
#include "test/unit/ParsedModule.h"

using namespace hone;

/// The results of the ops of `block`, parameters and inputs left out.
static std::vector<mlir::OpResult> valuesOf(BlockOp block) {
  std::vector<mlir::OpResult> values;
  for (mlir::Operation &op : block.getBody().front())
    if (!op.hasTrait<Ambient>())
      for (mlir::OpResult result : op.getResults())
        values.push_back(result);
  return values;
}

TEST(SharedMemory, ChainsValuesThatAreWrittenOneOverTheOther) {
  ParsedModule module(R"(
    hone.block @b(%x: tensor<?x4xf32>) {
      %w = hone.parameter "w" : tensor<4x4xf32>
      %0 = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
      %1 = hone.add %0, %x : tensor<?x4xf32>
      %2 = hone.add %1, %x : tensor<?x4xf32>
      %3 = hone.linear %2, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
      hone.return
    })");
  BlockOp block = module.block("b");
  Lifetimes lifetimes(block.getBody().front());
  SharedMemory shared(block.getBody().front(), lifetimes);
  auto values = valuesOf(block);
  EXPECT_EQ(shared.first(values[2]), values[0]);
  EXPECT_EQ(shared.last(values[0]), values[2]);
  EXPECT_EQ(shared.first(values[3]), values[3]);
}

TEST(SharedMemory, LeavesAResultToTheCallersArgument) {
  ParsedModule module(R"(
    hone.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %w = hone.parameter "w" : tensor<4x4xf32>
      %0 = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
      %1 = hone.add %0, %x : tensor<?x4xf32>
      hone.return %1 : tensor<?x4xf32>
    })");
  BlockOp block = module.block("b");
  Lifetimes lifetimes(block.getBody().front());
  SharedMemory shared(block.getBody().front(), lifetimes);
  auto values = valuesOf(block);
  EXPECT_EQ(shared.first(values[1]), values[1]);
}

TEST(Lifetimes, SumOverRowsThatIsOnlyAddedNeedsNoMemory) {
  ParsedModule module(R"(
    hone.block @b(%x: tensor<?x4xf32>, %dy: tensor<?x4xf32>) {
      %a = hone.parameter "a" trainable init <zero> : tensor<2x4xf32>
      %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
      %da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0 : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
      hone.gradient %da of "a" : tensor<2x4xf32>
      hone.return
    })");
  BlockOp block = module.block("b");
  Lifetimes lifetimes(block.getBody().front());
  auto values = valuesOf(block);
  EXPECT_FALSE(lifetimes.needsMemory(values[0]));
  EXPECT_TRUE(lifetimes.needsMemory(values[1]));
}

TEST(SharedMemory, ALaterValueIsWrittenEarlyOverMemoryInUse) {
  ParsedModule module(R"(
    hone.block @b(%x: tensor<?x4xf32>) {
      %w = hone.parameter "w" : tensor<4x4xf32>
      %0 = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
      %1 = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
      %2 = hone.add %0, %1 : tensor<?x4xf32>
      %3 = hone.linear %2, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
      %4 = hone.add %2, %3 : tensor<?x4xf32>
      hone.return
    })");
  BlockOp block = module.block("b");
  Lifetimes lifetimes(block.getBody().front());
  SharedMemory shared(block.getBody().front(), lifetimes);
  auto values = valuesOf(block);
  EXPECT_TRUE(shared.mayWriteDuring(values[2], values[1].getOwner()));
  // The product reads the value that it would overwrite.
  EXPECT_FALSE(shared.mayWriteDuring(values[4], values[3].getOwner()));
}

TEST(SharedMemory, ALaterValueMayBeOverAnArgumentOfTheCaller) {
  ParsedModule module(R"(
    hone.block @b(%x: tensor<?x4xf32>, %z: tensor<?x8xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
      %w = hone.parameter "w" : tensor<4x4xf32>
      %v = hone.parameter "v" : tensor<4x8xf32>
      %0 = hone.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
      %1 = hone.add %x, %0 : tensor<?x4xf32>
      %2 = hone.linear %z, %v : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
      %3 = hone.gated_activation silu %x, %2 : tensor<?x4xf32>
      hone.return %1, %3 : tensor<?x4xf32>, tensor<?x4xf32>
    })");
  BlockOp block = module.block("b");
  Lifetimes lifetimes(block.getBody().front());
  SharedMemory shared(block.getBody().front(), lifetimes);
  auto values = valuesOf(block);
  EXPECT_FALSE(shared.mayWriteDuring(values[3], values[0].getOwner()));
  EXPECT_TRUE(shared.mayWriteDuring(values[3], values[2].getOwner()));
}
