//===- WeightResidencyTest.cpp - Which weights are in memory at a time ----===//

#include "passes/plan/WeightResidency.h"
#include "runtime/include/hone/runtime.h"
#include "test/unit/ParsedModule.h"

using namespace hone;

static constexpr int64_t unit = HONE_RESIDENT_UNIT_BYTES, units = 2 * unit;

/// Two layers of 128 and 64 bytes of weights, then a table of 9 x 4.
static std::string module(llvm::StringRef streamed, llvm::StringRef released) {
  std::string text = R"(
    hone.block @layer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %w = hone.parameter "w" stored <bfloat16> : tensor<8x4xf32>
      %v = hone.parameter "v" stored <bfloat16> : tensor<4x8xf32>
      %h = hone.linear %x, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
      %y = hone.linear %h, %v : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
      hone.return %y : tensor<?x4xf32>
    }
    hone.block @embed() -> tensor<?x4xf32> {
      %ids = hone.input "input_ids" : tensor<?xi32>
      %t = hone.parameter "table" : tensor<9x4xf32>
      %x = hone.embedding %ids, %t STREAMED : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
      hone.return %x : tensor<?x4xf32>
    }
    hone.entry @run() {
      %0 = hone.call @embed "" () : () -> tensor<?x4xf32>
      %1 = hone.call @layer "0." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
      RELEASED
      %2 = hone.call @layer "1." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    })";
  auto replace = [&](llvm::StringRef word, llvm::StringRef by) {
    text.replace(text.find(word.str()), word.size(), by.str());
  };
  replace("STREAMED", streamed);
  replace("RELEASED", released);
  return text;
}

static WeightResidency residencyOf(const std::string &text) {
  ParsedModule parsed(text);
  return WeightResidency::of(parsed.get());
}

TEST(WeightResidency, EverythingStaysThatNobodyLetsGo) {
  WeightResidency most = residencyOf(module("", ""));
  EXPECT_EQ(most.bytes, 9 * 4 * 4 + 2 * (2 * 8 * 4 * 2));
  EXPECT_EQ(most.threadBytes, 0);
}

TEST(WeightResidency, ALayerIsThereUntilItIsLetGo) {
  // Layer 1 is never let go, so it is there when layer 0 runs again. The file
  // has the layers one after another, so both are one range, of bfloat16.
  // Ranges take whole units at both ends.
  WeightResidency most = residencyOf(module("", "hone.release @layer \"0.\""));
  // The last unit that is let go waits.
  EXPECT_EQ(most.bytes, 9 * 4 * 4 + units + 2 * (2 * 8 * 4 * 2) + units + unit);
}

TEST(WeightResidency, RowsOfAStreamedTableAreNotMapped) {
  WeightResidency most =
      residencyOf(module("streamed", "hone.release @layer \"0.\""));
  EXPECT_EQ(most.bytes, 2 * (2 * 8 * 4 * 2) + units + unit);
  EXPECT_EQ(most.threadBytes, units);
}

TEST(WeightResidency, ATableMayBeAllThatIsLetGo) {
  WeightResidency most = residencyOf(module("streamed", ""));
  EXPECT_EQ(most.bytes, 2 * (2 * 8 * 4 * 2) + units);
  // All of the file is verified, piece by piece.
  EXPECT_EQ(most.threadBytes, units);
}

TEST(WeightResidency, LayersThatAreApartAreTwoRanges) {
  std::string text = module("", "hone.release @layer \"0.\"");
  auto between = text.find("%2 = hone.call @layer \"1.\"");
  text.insert(
      between,
      R"(%3 = hone.call @layer "0.5." (%1) : (tensor<?x4xf32>) -> tensor<?x4xf32>
      hone.release @layer "0.5."
      )");
  WeightResidency most = residencyOf(text);
  EXPECT_EQ(most.bytes,
            9 * 4 * 4 + units + 2 * (2 * 8 * 4 * 2) + 2 * units + unit);
}

TEST(WeightResidency, AConditionalCallReadsWhatEitherBlockDoes) {
  WeightResidency most = residencyOf(R"(
    hone.block @one(%x: tensor<?x4xf32>) {
      %w = hone.parameter "w" : tensor<8x4xf32>
      %y = hone.linear %x, %w : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
      hone.return
    }
    hone.block @other(%x: tensor<?x4xf32>) {
      %v = hone.parameter "v" : tensor<2x4xf32>
      %y = hone.linear %x, %v : (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x2xf32>
      hone.return
    }
    hone.entry @run(%x: tensor<?x4xf32>, %mask: tensor<1xi32>) {
      hone.call @one "0." (%x) when %mask[0] : tensor<1xi32> else @other : (tensor<?x4xf32>) -> ()
    })");
  EXPECT_EQ(most.bytes, (8 * 4 + 2 * 4) * 4);
}
