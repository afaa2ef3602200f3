//===- AttentionWorkspaceTest.cpp - The workspace of attention's kernels --===//
//
// The shapes are a target's: hone.attention_iterations says in how many
// iterations it takes the adjoint.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/Sizes.h"
#include "passes/place/PlacedRows.h"
#include "test/unit/ParsedModule.h"

using namespace hone;

static void expectParts(int64_t heads, int64_t kvHeads, int64_t iterations,
                        int64_t perPart, int64_t count) {
  HeadParts parts = headParts(heads, kvHeads, iterations);
  EXPECT_EQ(parts.heads, perPart) << heads << " of " << kvHeads;
  EXPECT_EQ(parts.count, count) << heads << " of " << kvHeads;
}

TEST(HeadParts, AreAsManyAsIterationsNeed) {
  // Two and two and two and one.
  expectParts(14, 2, 8, 2, 4);
  expectParts(12, 2, 8, 2, 3);
  // Enough key heads, or no more query heads than that.
  expectParts(32, 8, 8, 4, 1);
  expectParts(4, 1, 8, 1, 4);
  expectParts(2, 2, 8, 1, 1);
}

static constexpr llvm::StringLiteral source = R"(
  module attributes {$ATTRIBUTES} {
  hone.block @layer(%q: tensor<?x56x$T>, %k: tensor<?x8x$T>,
                    %n: tensor<?x28xf32>, %s: tensor<?xi32>) {
    %y = hone.attention %q, %k, %k, %s heads 14 kv_heads 2 scale 1.0 : (tensor<?x56x$T>, tensor<?x8x$T>, tensor<?x8x$T>, tensor<?xi32>) -> tensor<?x56x$T>
    %d:3 = hone.attention_adjoint %q, %q, %k, %k, %y, %n, %s heads 14 kv_heads 2 scale 1.0 : (tensor<?x56x$T>, tensor<?x56x$T>, tensor<?x8x$T>, tensor<?x8x$T>, tensor<?x56x$T>, tensor<?x28xf32>, tensor<?xi32>) -> (tensor<?x56x$T>, tensor<?x8x$T>, tensor<?x8x$T>)
    hone.return
  }})";

static std::string textOf(std::string attributes, std::string element) {
  std::string text = source.str();
  for (auto [from, to] :
       {std::pair<std::string, std::string>("$ATTRIBUTES", attributes),
        std::pair<std::string, std::string>("$T", element)})
    for (size_t at; (at = text.find(from)) != std::string::npos;)
      text.replace(at, from.size(), to);
  return text;
}

TEST(AttentionWorkspace, HasSumsForEachIterationOfTheAdjoint) {
  ParsedModule module(
      textOf("hone.attention_iterations = 8 : i64, hone.max_rows = 100 : i64",
             "bf16"));
  BlockOp block = module.block("layer");
  auto types = ParsedModule::only<AttentionAdjointOp>(block).getWorkspace(100);
  ASSERT_EQ(types.size(), 7u);
  EXPECT_EQ(types[4].getShape(), llvm::ArrayRef<int64_t>({8, 100}));
  EXPECT_TRUE(types[4].getElementType().isBF16());
  for (mlir::MemRefType sums : {types[5], types[6]}) {
    EXPECT_EQ(sums.getShape(), llvm::ArrayRef<int64_t>({8, 400}));
    EXPECT_TRUE(sums.getElementType().isF32());
  }
  // Less than a block of keys is not cut where there are fewer rows.
  auto fewer = ParsedModule::only<AttentionAdjointOp>(block).getWorkspace(50);
  for (auto [whole, part] : llvm::zip_equal(types, fewer))
    if (whole != types[3])
      EXPECT_EQ(bytesIn(whole, part), bytesIn(whole, whole));
  EXPECT_EQ(ParsedModule::only<AttentionOp>(block).getWorkspace(100).size(),
            2u);
}

TEST(AttentionWorkspace, HasFewerBlocksOfKeysForFewerRows) {
  ParsedModule module(
      textOf("hone.attention_iterations = 8 : i64, hone.max_rows = 512 : i64",
             "bf16"));
  BlockOp block = module.block("layer");
  auto expectHalf = [](llvm::ArrayRef<mlir::MemRefType> types,
                       llvm::ArrayRef<mlir::MemRefType> fewer) {
    for (auto [whole, part] : llvm::zip_equal(types, fewer))
      EXPECT_EQ(2 * bytesIn(whole, part), bytesIn(whole, whole));
  };
  auto forward = ParsedModule::only<AttentionOp>(block);
  expectHalf(forward.getWorkspace(512), forward.getWorkspace(256));
  auto adjoint = ParsedModule::only<AttentionAdjointOp>(block);
  auto types = adjoint.getWorkspace(512), fewer = adjoint.getWorkspace(256);
  EXPECT_EQ(types[4].getShape(), llvm::ArrayRef<int64_t>({4 * 8, 128}));
  EXPECT_EQ(types[5].getShape(), llvm::ArrayRef<int64_t>({4 * 8, 128 * 4}));
  expectHalf(llvm::ArrayRef(types).drop_front(3),
             llvm::ArrayRef(fewer).drop_front(3));
  // Of less than a block there is a whole one.
  EXPECT_EQ(4 * bytesIn(types[5], adjoint.getWorkspace(64)[5]),
            bytesIn(types[5], types[5]));
}

TEST(AttentionWorkspace, HasNoSumsWhereResultsHaveRoom) {
  ParsedModule module(textOf("hone.attention_iterations = 2 : i64", "f32"));
  EXPECT_EQ(ParsedModule::only<AttentionAdjointOp>(module.block("layer"))
                .getWorkspace(100)
                .size(),
            5u);
}

TEST(AttentionWorkspace, IsNothingMoreForOtherTargets) {
  ParsedModule module(textOf("", "f32"));
  BlockOp block = module.block("layer");
  EXPECT_EQ(
      ParsedModule::only<AttentionAdjointOp>(block).getWorkspace(100).size(),
      4u);
  EXPECT_TRUE(ParsedModule::only<AttentionOp>(block).getWorkspace(100).empty());
}
