//===- GpuKernelsTest.cpp - How loops of a GPU's kernels are cut ----------===//

#include "targets/gpu/GpuKernels.h"

#include "dialects/Hone/HoneOps.h"
#include "dialects/Hone/Sizes.h"
#include "targets/Target.h"
#include "targets/gpu/TileShape.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace hone;
using simt::BlockSplit;
using simt::DeviceFeatures;

namespace {
struct Adapter {
  int64_t rank;
  const char *element = "bf16", *computed = "f32";
  const char *dropout = "";
  bool roundsProducts = false;
};

class GpuKernelsTest : public testing::Test {
protected:
  static constexpr DeviceFeatures sm80{163 * 1024, /*copiesInFlight=*/true,
                                       /*matrixUnits=*/true};

  GpuKernelsTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    mlir::DialectRegistry registry;
    registerTargetDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<HoneDialect>();
  }

  /// Of the gradients of an adapter of 896 features.
  tile::Blocks blocksOf(const Adapter &adapter, int64_t rows,
                        const DeviceFeatures &device) {
    std::string ir =
        llvm::formatv(
            "hone.block @op(%dy: tensor<?x896x{1}>, %x: tensor<?x896x{1}>, "
            "%a: tensor<{0}x896x{2}>, %b: tensor<896x{0}x{2}>, "
            "%key: tensor<4xi32>) -> (tensor<{0}x896x{2}>, "
            "tensor<896x{0}x{2}>) {{\n"
            "%da, %db = hone.lora_parameter_adjoint %dy, %x, %a, %b scale 2.0"
            "{3} : (tensor<?x896x{1}>, tensor<?x896x{1}>, "
            "tensor<{0}x896x{2}>, tensor<896x{0}x{2}>{4}) -> "
            "(tensor<{0}x896x{2}>, tensor<896x{0}x{2}>)\n"
            "hone.return %da, %db : tensor<{0}x896x{2}>, "
            "tensor<896x{0}x{2}>\n}\n",
            adapter.rank, adapter.element, adapter.computed, adapter.dropout,
            *adapter.dropout ? ", tensor<4xi32>" : "")
            .str();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(ir, &context);
    EXPECT_TRUE(module) << ir;
    if (!module)
      return {};
    KernelSettings settings;
    settings.blocks = {/*columns=*/64, /*rows=*/64};
    settings.blocks.narrowRows = 16;
    settings.roundsProducts = adapter.roundsProducts;
    tile::Blocks blocks;
    module->walk([&](LoraParameterAdjointOp op) {
      blocks = GpuKernels(device).blocksOf(op, rows, settings);
    });
    return blocks;
  }

  mlir::MLIRContext context;
};
} // namespace

/// No tile of dA is wider than 64 columns or begins within 16 bytes.
TEST_F(GpuKernelsTest, TilesOfAnAdaptersGradientsAreAligned) {
  const std::pair<int64_t, int64_t> columns[] = {
      {4, 8}, {8, 8}, {12, 16}, {16, 16}, {64, 64}, {128, 64}, {256, 64}};
  for (auto [rank, most] : columns)
    EXPECT_EQ(blocksOf({rank}, 256, sm80).columns, most) << "rank " << rank;
}

/// On matrix units tiles are whole sectors of a row, with any rank, and u is
/// not cut.
TEST_F(GpuKernelsTest, TilesOfAnAdaptersGradientsOnMatrixUnitsAreSectors) {
  for (int64_t rank : {4, 8, 12, 16}) {
    Adapter adapter{rank};
    adapter.roundsProducts = true;
    tile::Blocks blocks = blocksOf(adapter, 256, sm80);
    EXPECT_EQ(blocks.columns, 16) << "rank " << rank;
    EXPECT_EQ(blocks.narrowColumns, rank == 12 ? 8 : 16) << "rank " << rank;
    adapter.element = "f32";
    EXPECT_EQ(blocksOf(adapter, 256, sm80).narrowColumns, 8);
  }
}

/// Tiles of u are few sums, which subgroups share, with any number of rows:
/// they are higher only where each thread has one of eight columns.
TEST_F(GpuKernelsTest, TilesOfUAreSplit) {
  for (int64_t rank : {4, 8, 12, 16, 64, 128, 256})
    for (int64_t rows : {256, 4192, 4193, 8192}) {
      SCOPED_TRACE(llvm::formatv("rank {0}, {1} rows", rank, rows).str());
      tile::Blocks blocks = blocksOf({rank}, rows, sm80);
      int64_t columns = std::min(rank, blocks.columns);
      EXPECT_EQ(blocks.narrowRows, rank <= 8 && rows > 4192 ? 32 : 16);
      EXPECT_TRUE(BlockSplit::of(blocks.narrowRows, columns, 992, 4864, sm80));
    }
}

/// x after dropout is in a workgroup's memory while h is computed.
TEST_F(GpuKernelsTest, RowsOfDroppedInputHaveRoom) {
  const char *dropout = " dropout 0.25 of \"q_proj\" by %key";
  const DeviceFeatures metal{32 * 1024}, sm75{64 * 1024};
  auto rowsOf = [&](const char *element, const DeviceFeatures &device) {
    Adapter adapter{20, element, element, dropout};
    return blocksOf(adapter, 256, device).narrowRows;
  };
  EXPECT_EQ(rowsOf("f32", metal), 16);
  EXPECT_EQ(rowsOf("f64", metal), 8);
  EXPECT_EQ(rowsOf("f64", sm75), 16);
  EXPECT_EQ(rowsOf("f64", sm80), 16);
  Adapter kept{20, "f64", "f64"};
  EXPECT_EQ(blocksOf(kept, 256, metal).narrowRows, 16);
}

/// Where large tiles of few rows would leave most multiprocessors idle, long
/// sums are cut into as many parts as have one at a time.
TEST_F(GpuKernelsTest, LongProductsOfFewRowsHaveParts) {
  struct Want {
    int64_t rows, in, out, parts, rowsOfTile;
    bool rounds = true;
    const char *dropout = "";
  };
  for (const Want &want :
       {Want{256, 4864, 896, 8, 128},
        {256, 11008, 2048, 4, 128},
        {256, 4864, 896, 1, 32, true, " dropout 0.1 of \"p\" by %key"},
        {256, 4864, 896, 1, 64, false},
        {256, 896, 896, 1, 32},
        {256, 2048, 2048, 1, 32},
        {256, 896, 4864, 1, 64},
        {8192, 4864, 896, 1, 128}}) {
    SCOPED_TRACE(want.out);
    std::string ir =
        llvm::formatv(
            "module attributes {{hone.max_rows = {0} : i64, "
            "hone.product_tiles = {1} : i64{2}} {{\n"
            "hone.block @op(%x: tensor<?x{3}xbf16>, %w: tensor<{4}x{3}xbf16>, "
            "%a: tensor<8x{3}xf32>, %b: tensor<{4}x8xf32>, "
            "%key: tensor<4xi32>) -> tensor<?x{4}xbf16> {{\n"
            "%y = hone.lora_linear %x, %w, %a, %b scale 2.0{5} : "
            "(tensor<?x{3}xbf16>, tensor<{4}x{3}xbf16>, tensor<8x{3}xf32>, "
            "tensor<{4}x8xf32>{6}) -> tensor<?x{4}xbf16>\n"
            "hone.return %y : tensor<?x{4}xbf16>\n}\n}",
            want.rows, GpuKernels(sm80).productTiles(),
            want.rounds ? ", hone.rounded_products" : "", want.in, want.out,
            want.dropout, *want.dropout ? ", tensor<4xi32>" : "")
            .str();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(ir, &context);
    ASSERT_TRUE(module) << ir;
    module->walk([&](LoraLinearOp op) {
      auto types = op.getWorkspace(want.rows);
      ASSERT_EQ(types.size(), want.parts > 1 ? 2u : 1u);
      if (want.parts > 1) {
        EXPECT_EQ(types.front().getDimSize(0), want.rows);
        EXPECT_EQ(types.front().getDimSize(1), want.parts * want.out);
        // Fewer rows need less, and as many parts.
        EXPECT_EQ(op.getWorkspace(32).front().getDimSize(0), 32);
        EXPECT_EQ(op.getWorkspace(32).front().getDimSize(1),
                  want.parts * want.out);
      }
      KernelSettings settings;
      settings.blocks = {/*columns=*/64, /*rows=*/64};
      settings.roundsProducts = want.rounds;
      tile::Blocks blocks = GpuKernels(sm80).blocksOf(op, want.rows, settings);
      EXPECT_EQ(blocks.rows, want.rowsOfTile);
    });
  }
  EXPECT_EQ(GpuKernels(DeviceFeatures()).productTiles(), 0);
}

/// Of the vocabulary, and with it of the logits: with few rows a tile has four
/// parts, which are work for all multiprocessors in tiles of 128 by 128.
TEST_F(GpuKernelsTest, LogitsOfFewRowsAreManyAtATime) {
  struct Want {
    int64_t rows, columns, places;
  };
  for (const Want &want : {Want{32, 16384, 64},
                           {256, 16384, 128},
                           {512, 8192, 128},
                           {1024, 4096, 128},
                           {8192, 4096, 128}}) {
    SCOPED_TRACE(want.rows);
    std::string ir =
        llvm::formatv(
            "module attributes {{hone.loss_columns = 4096 : i64, "
            "hone.max_rows = {0} : i64} {{\n"
            "hone.block @op(%x: tensor<?x896xbf16>, "
            "%w: tensor<151936x896xbf16>, %t: tensor<?xi32>) -> "
            "(tensor<f64>, tensor<?x896xbf16>) {{\n"
            "%loss, %dx = hone.linear_cross_entropy %x, %w, %t : "
            "(tensor<?x896xbf16>, tensor<151936x896xbf16>, tensor<?xi32>) -> "
            "(tensor<f64>, tensor<?x896xbf16>)\n"
            "hone.return %loss, %dx : tensor<f64>, tensor<?x896xbf16>\n}\n}",
            want.rows)
            .str();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(ir, &context);
    ASSERT_TRUE(module) << ir;
    module->walk([&](LinearCrossEntropyOp op) {
      EXPECT_EQ(lossColumns(op), want.columns);
      KernelSettings settings;
      settings.blocks = {/*columns=*/64, /*rows=*/64};
      settings.roundsProducts = true;
      settings.lossColumns = lossColumns(op);
      tile::Blocks blocks = GpuKernels(sm80).blocksOf(op, want.rows, settings);
      EXPECT_EQ(blocks.columns, want.places);
      EXPECT_EQ(blocks.rows, want.places);
    });
    (*module)->removeAttr(kLossColumnsAttrName);
    EXPECT_EQ(lossColumns(*module), 1024);
  }
}
