//===- ModuleSummaryTest.cpp - From a placed module to hone_module --------===//

#include "compiler/emit/ModuleSummary.h"
#include "test/unit/ParsedModule.h"

using namespace hone;

/// A module that reads an input, with the regions `more`.
static std::string moduleWith(const std::string &more) {
  return R"(
    module attributes {hone.arena_bytes = 512 : i64, hone.max_rows = 4 : i64} {
    )" + more +
         R"(
      hone.block @make() -> tensor<?x4xf32> {
        %x = hone.input "hidden" : tensor<?x4xf32>
        %y = hone.add %x, %x : tensor<?x4xf32>
        hone.return %y : tensor<?x4xf32>
      }
    })";
}

static mlir::FailureOr<ModuleDescription> describe(ParsedModule &module) {
  auto parameters = ParameterTable::build(module.get());
  EXPECT_TRUE(mlir::succeeded(parameters));
  return describeModule(module.get(), *parameters);
}

TEST(ModuleSummary, ARegionThatIsMissingIsAnError) {
  ParsedModule module(moduleWith(""));
  EXPECT_TRUE(mlir::failed(describe(module)));
  ASSERT_FALSE(module.messages.empty());
  EXPECT_EQ(module.messages[0],
            "expects a hone.region \"input.hidden\"; run hone-place first");
}

TEST(ModuleSummary, StateVectorsAreTheRegionsOfTheModule) {
  ParsedModule module(moduleWith(R"(
    hone.region "input.hidden" batch at 128 bytes 64
    hone.region "state0" optimizer at 192 bytes 64 of f32
    hone.region "state1" optimizer at 256 bytes 64 of f32
    hone.region "state1.codes" optimizer at 320 bytes 64 of i8
  )"));
  auto description = describe(module);
  ASSERT_TRUE(mlir::succeeded(description));
  ASSERT_EQ(description->states.size(), 3u);
  EXPECT_EQ(description->states[0].offset, 192u);
  EXPECT_EQ(description->states[0].shape.at(0), 16);
  EXPECT_EQ(description->states[2].name, "state1.codes");
  EXPECT_EQ(description->states[2].dtype, HONE_U8);
  EXPECT_EQ(description->states[2].shape.at(0), 64);
  EXPECT_EQ(description->inputs.at(0).offset, 128u);
}
