//===- PlacedRowsTest.cpp - The rows that placements are made for ---------===//

#include "passes/place/PlacedRows.h"
#include "test/unit/ParsedModule.h"

using namespace hone;

TEST(PlacedRows, AreHalvesRoundedUp) {
  EXPECT_EQ(halvedRows(256, 3), (std::vector<int64_t>{128, 64, 32}));
  EXPECT_EQ(halvedRows(100, 3), (std::vector<int64_t>{50, 25, 13}));
  EXPECT_EQ(halvedRows(256, 0), std::vector<int64_t>());
  // No batch has fewer rows than a sequence of two tokens.
  EXPECT_EQ(halvedRows(5, 3), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(halvedRows(2, 3), std::vector<int64_t>());
  EXPECT_EQ(halvedRows(1, 3), std::vector<int64_t>());
}

TEST(PlacedRows, TilesAreInProportionAndWholePartialSums) {
  EXPECT_EQ(tileRowsIn(128, {256, 256}), 128);
  EXPECT_EQ(tileRowsIn(128, {128, 256}), 64);
  EXPECT_EQ(tileRowsIn(128, {64, 256}), 32);
  EXPECT_EQ(tileRowsIn(128, {32, 256}), 32);
  EXPECT_EQ(tileRowsIn(96, {50, 100}), 64);
}

TEST(PlacedRows, AreThoseThatTheModuleSays) {
  ParsedModule said("module attributes {hone.max_rows = 16 : i64, "
                    "hone.fewer_rows = array<i64: 8>} {}");
  const auto rows = placedRows(said.get());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].rows, 8);
  EXPECT_EQ(rows[1].most, 16);
  ParsedModule silent("module {}");
  ASSERT_EQ(placedRows(silent.get()).size(), 1u);
  EXPECT_EQ(placedRows(silent.get()).front().rows, 1);
}

TEST(PlacedRows, ShortenWhatHasRowsOutermost) {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  const int64_t any = mlir::ShapedType::kDynamic;
  auto tensor = [&](llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, builder.getF32Type());
  };
  auto buffer = [&](llvm::ArrayRef<int64_t> shape) {
    return mlir::MemRefType::get(shape, builder.getF32Type());
  };
  const PlacedRows half{8, 16};
  EXPECT_EQ(bytesIn(tensor({any, 5}), half), 8 * 5 * 4);
  EXPECT_EQ(bytesIn(tensor({3, 5}), half), 3 * 5 * 4);
  // Each slot of a pool begins at a multiple of 64 bytes.
  EXPECT_EQ(bytesIn(tensor({3, any, 5}), half), 3 * 8 * 64);
  EXPECT_EQ(bytesIn(buffer({16, 5}), buffer({8, 5})), 8 * 5 * 4);
  EXPECT_EQ(bytesIn(buffer({17}), buffer({9})), 9 * 4);
  // The code has strides for 16 rows.
  EXPECT_EQ(bytesIn(buffer({3, 16}), buffer({3, 8})), 3 * 16 * 4);
}
