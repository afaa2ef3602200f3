//===- ParameterTableTest.cpp - Every tensor of the model, by name --------===//

#include "passes/module/ParameterTable.h"
#include "passes/module/WeightStorage.h"
#include "test/unit/ParsedModule.h"

using namespace hone;

static constexpr llvm::StringLiteral source = R"(
  hone.block @layer() {
    %w = hone.parameter "w" : tensor<4x3xf32>
    %a = hone.parameter "a" trainable init <kaiming_uniform> : tensor<2x3xf32>
    %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
    hone.return
  }
  hone.block @tied() {
    %w = hone.parameter "layers.0.w" : tensor<4x3xf32>
    hone.return
  }
  hone.entry @loss() {
    hone.call @layer "layers.0." () : () -> ()
    hone.call @layer "layers.1." () : () -> ()
    hone.call @tied "" () : () -> ()
  }
  hone.entry @again() {
    hone.call @layer "layers.1." () : () -> ()
  })";

TEST(ParameterTable, NumbersTensorsInOrderOfFirstUse) {
  ParsedModule module(source);
  auto table = ParameterTable::build(module.get());
  ASSERT_TRUE(mlir::succeeded(table));
  ASSERT_EQ(table->frozen().size(), 2u);
  ASSERT_EQ(table->trainable().size(), 4u);
  const char *names[] = {"layers.0.a", "layers.0.b", "layers.1.a",
                         "layers.1.b"};
  for (auto [index, parameter] : llvm::enumerate(table->trainable())) {
    EXPECT_EQ(parameter.name, names[index]);
    EXPECT_EQ(parameter.index, static_cast<int64_t>(index));
  }
}

TEST(ParameterTable, LaysThetaOutWithoutGaps) {
  ParsedModule module(source);
  auto table = ParameterTable::build(module.get());
  ASSERT_TRUE(mlir::succeeded(table));
  int64_t next = 0;
  for (const Parameter &parameter : table->trainable()) {
    EXPECT_EQ(parameter.offset, next);
    next += parameter.type.getNumElements();
  }
  EXPECT_EQ(table->trainableElements(), next);
  EXPECT_EQ(next, 2 * (6 + 8));
}

// In any order in which entries reach a layer's parameters.
TEST(ParameterTable, ALayerIsOneSliceOfTheta) {
  ParsedModule module(R"(
    hone.block @first() {
      %a = hone.parameter "a" trainable init <zero> : tensor<2x3xf32>
      hone.return
    }
    hone.block @second() {
      %b = hone.parameter "b" trainable init <zero> : tensor<4x2xf32>
      %a = hone.parameter "a" trainable init <zero> : tensor<2x3xf32>
      hone.return
    }
    hone.entry @loss() {
      hone.call @first "layers.0." () : () -> ()
      hone.call @first "layers.1." () : () -> ()
      hone.call @second "layers.0." () : () -> ()
      hone.call @second "layers.1." () : () -> ()
    })");
  auto table = ParameterTable::build(module.get());
  ASSERT_TRUE(mlir::succeeded(table));
  ASSERT_EQ(table->layers().size(), 2u);
  int64_t next = 0;
  for (auto [index, layer] : llvm::enumerate(table->layers())) {
    EXPECT_EQ(layer.prefix, "layers." + std::to_string(index) + ".");
    EXPECT_EQ(layer.offset, next);
    EXPECT_EQ(layer.elements, 6 + 8);
    for (const char *name : {"a", "b"}) {
      const Parameter *parameter = table->find(layer.prefix, name);
      ASSERT_TRUE(parameter);
      EXPECT_EQ(parameter->layer, static_cast<int64_t>(index));
      EXPECT_EQ(parameter->offset, next);
      EXPECT_EQ(&table->trainable()[parameter->index], parameter);
      next += parameter->type.getNumElements();
    }
  }
}

TEST(ParameterTable, FindsATensorByPrefixAndName) {
  ParsedModule module(source);
  auto table = ParameterTable::build(module.get());
  ASSERT_TRUE(mlir::succeeded(table));
  const Parameter *a = table->find("layers.1.", "a");
  ASSERT_TRUE(a);
  EXPECT_TRUE(a->trainable);
  EXPECT_EQ(a->init, Init::KaimingUniform);
  EXPECT_EQ(a->offset, 14);
  EXPECT_FALSE(table->find("layers.2.", "a"));
}

TEST(ParameterTable, ResolvesTiedNamesToOneTensor) {
  ParsedModule module(source);
  auto table = ParameterTable::build(module.get());
  ASSERT_TRUE(mlir::succeeded(table));
  EXPECT_EQ(table->find("", "layers.0.w"), table->find("layers.0.", "w"));
}

TEST(ParameterTable, RejectsOneNameOfTwoTypes) {
  ParsedModule module(R"(
    hone.block @narrow() {
      %w = hone.parameter "w" : tensor<4xf32>
      hone.return
    }
    hone.block @wide() {
      %w = hone.parameter "w" : tensor<8xf32>
      hone.return
    }
    hone.entry @loss() {
      hone.call @narrow "" () : () -> ()
      hone.call @wide "" () : () -> ()
    })");
  EXPECT_TRUE(mlir::failed(ParameterTable::build(module.get())));
  ASSERT_FALSE(module.messages.empty());
  EXPECT_EQ(module.messages[0],
            "'hone.parameter' op reads 'w' as frozen 'tensor<8xf32>', but "
            "another layer reads it as frozen 'tensor<4xf32>'");
}

TEST(ParameterTable, NumbersStoredTensorsInOrderOfFirstUse) {
  ParsedModule module(R"(
    hone.block @layer() {
      %a = hone.parameter "a" stored <int4, group = 32> : tensor<8x64xf32>
      %b = hone.parameter "b" : tensor<8xf32>
      %c = hone.parameter "c" stored <bfloat16> : tensor<8x64xf32>
      hone.return
    }
    hone.entry @loss() {
      hone.call @layer "0." () : () -> ()
      hone.call @layer "1." () : () -> ()
    })");
  auto table = ParameterTable::build(module.get());
  ASSERT_TRUE(mlir::succeeded(table));
  EXPECT_EQ(table->find("0.", "a")->index, 0);
  EXPECT_EQ(table->find("0.", "b")->index, 3);
  EXPECT_EQ(table->find("0.", "c")->index, 4);
  EXPECT_EQ(table->find("1.", "a")->index, 5);
  EXPECT_EQ(layoutName(table->frozen()), "rows-bfloat16-int4-g32-v1");
}

TEST(ParameterTable, RejectsOneNameOfTwoStorages) {
  ParsedModule module(R"(
    hone.block @plain() {
      %w = hone.parameter "w" : tensor<4x32xf32>
      hone.return
    }
    hone.block @packed() {
      %w = hone.parameter "w" stored <int8, group = 32> : tensor<4x32xf32>
      hone.return
    }
    hone.entry @loss() {
      hone.call @plain "" () : () -> ()
      hone.call @packed "" () : () -> ()
    })");
  EXPECT_TRUE(mlir::failed(ParameterTable::build(module.get())));
  ASSERT_FALSE(module.messages.empty());
  EXPECT_EQ(module.messages[0],
            "'hone.parameter' op reads 'w' as frozen 'tensor<4x32xf32>' stored "
            "#hone.storage<int8, group = 32>, but another layer reads it as "
            "frozen 'tensor<4x32xf32>'");
}
