//===- WeightWriterTest.cpp - The weights that the training binary maps ---===//

#include "TemporaryFolder.h"

#include "compiler/weights/WeightWriter.h"

#include "gtest/gtest.h"

using namespace hone;
using namespace mlir;

namespace {
class WeightWriterTest : public testing::Test {
protected:
  WeightWriterTest() { context.loadDialect<HoneDialect>(); }

  Parameter frozen(const std::string &name, StorageAttr storage = {}) {
    auto type = RankedTensorType::get({2, 32}, Float32Type::get(&context));
    return {name, type, /*trainable=*/false, Init::Zero, storage, /*index=*/0};
  }

  /// Writes `parameter` from a folder with the tensors `source`.
  rt::Status write(const Parameter &parameter,
                   std::vector<rt::TensorSpec> source) {
    auto writer = rt::SafetensorsWriter::create(
        folder.file("model.safetensors"), std::move(source), {});
    EXPECT_TRUE(writer.isOk()) << writer.status().render();
    uint64_t bytes = 0;
    for (const rt::TensorInfo &tensor : writer.value().tensors())
      bytes += tensor.bytes();
    std::vector<char> zeros(bytes);
    EXPECT_TRUE(writer.value().write(zeros.data(), bytes).isOk());
    EXPECT_TRUE(writer.value().commit().isOk());
    auto index = WeightIndex::open(folder.path);
    EXPECT_TRUE(index.isOk()) << index.status().render();
    return writeWeights(folder.file("out"), {parameter, "", "", "hash"},
                        index.value(), /*errors=*/nullptr);
  }

  MLIRContext context;
  TemporaryFolder folder;
};
} // namespace

TEST_F(WeightWriterTest, WritesWhatIsThere) {
  EXPECT_TRUE(write(frozen("w"), {{"w", rt::Dtype::BF16, {2, 32}}}).isOk());
}

TEST_F(WeightWriterTest, NamesATensorThatIsNotThere) {
  rt::Status status =
      write(frozen("wq.weight"), {{"wk.weight", rt::Dtype::F32, {2, 32}}});
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.errorCode(), rt::ErrorCode::MissingTensor);
  EXPECT_NE(status.message().place.find("tensor wq.weight"), std::string::npos);
  EXPECT_NE(status.message().problem.find("the nearest name is wk.weight"),
            std::string::npos)
      << status.message().problem;
}

TEST_F(WeightWriterTest, NamesTheScalesOfAPackedMatrix) {
  auto storage = StorageAttr::get(&context, StoredType::Int4, 32);
  rt::Status status = write(frozen("w.weight", storage),
                            {{"w.weight", rt::Dtype::U32, {2, 4}}});
  ASSERT_FALSE(status.isOk());
  EXPECT_NE(status.message().place.find("tensor w."), std::string::npos);
}
