//===- LayersTest.cpp - The layers of a model, by number ------------------===//

#include "passes/module/Layers.h"
#include "test/unit/ParsedModule.h"

using namespace hone;

/// A loss of four calls in the module with `attributes`.
static std::string model(const std::string &attributes = "") {
  return "module " + attributes + R"({
    hone.block @embed() -> tensor<?x4xf32> {
      %x = hone.input "hidden" : tensor<?x4xf32>
      %y = hone.add %x, %x : tensor<?x4xf32>
      hone.return %y : tensor<?x4xf32>
    }
    hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %y = hone.add %x, %x : tensor<?x4xf32>
      hone.return %y : tensor<?x4xf32>
    }
    hone.block @head(%x: tensor<?x4xf32>) -> tensor<f64> {
      %y = hone.dot %x, %x : tensor<?x4xf32>
      hone.return %y : tensor<f64>
    }
    hone.entry @loss() -> tensor<f64> {
      %0 = hone.call @embed "" () : () -> tensor<?x4xf32>
      %1 = hone.call @layer "h.7." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
      %2 = hone.call @layer "h.2." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
      %3 = hone.call @layer "h.7." (%2) : (tensor<?x4xf32>) -> tensor<?x4xf32>
      %4 = hone.call @head "" (%3) : (tensor<?x4xf32>) -> tensor<f64>
      hone.return %4 : tensor<f64>
    }
  })";
}

TEST(Layers, AreNumberedOnceInOrder) {
  Layers layers({"h.1.", "h.0.", "h.1."});
  EXPECT_EQ(layers.count(), 2);
  EXPECT_EQ(layers.numberOf("h.1."), 0);
  EXPECT_EQ(layers.numberOf("h.0."), 1);
  EXPECT_EQ(layers.numberOf("h."), std::nullopt);
  EXPECT_EQ(Layers().count(), 0);
}

TEST(Layers, AreTheCallsBetweenBatchAndLossIfNothingIsSaid) {
  ParsedModule module(model());
  Layers layers = Layers::of(module.get());
  EXPECT_EQ(layers.count(), 2);
  EXPECT_EQ(layers.numberOf("h.7."), 0);
  EXPECT_EQ(layers.numberOf("h.2."), 1);
  EXPECT_FALSE(layers.has(""));
}

TEST(Layers, AreAsTheModuleSays) {
  ParsedModule module(model("attributes {hone.layers = [\"h.2.\"]}"));
  Layers layers = Layers::of(module.get());
  EXPECT_EQ(layers.count(), 1);
  EXPECT_EQ(layers.numberOf("h.2."), 0);
  EXPECT_FALSE(layers.has("h.7."));
}

TEST(Layers, StayWhereTheLossIsGone) {
  ParsedModule module(model());
  Layers::of(module.get()).writeTo(module.get());
  (*module.get().getOps<EntryOp>().begin()).erase();
  EXPECT_EQ(Layers::of(module.get()).numberOf("h.2."), 1);
}

TEST(Layers, AreNoneWithoutALoss) {
  ParsedModule module("hone.block @nothing() { hone.return }");
  EXPECT_EQ(Layers::of(module.get()).count(), 0);
  EXPECT_TRUE(module.messages.empty());
}
