//===- WeightWriterTest.cpp - The weights that the training binary maps ---===//

#include "TemporaryFolder.h"

#include "compiler/weights/WeightWriter.h"

#include "base/Dtype.h"

#include "gtest/gtest.h"

#include <functional>

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

  /// Writes `parameters` from a folder with the tensors `source`.
  rt::Status write(std::vector<Parameter> parameters,
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
    return writeWeights(folder.file("out"), {parameters, "", "", "hash"},
                        index.value(), /*errors=*/nullptr);
  }

  MLIRContext context;
  TemporaryFolder folder;
};
} // namespace

TEST_F(WeightWriterTest, WritesWhatIsThere) {
  EXPECT_TRUE(write({frozen("w")}, {{"w", rt::Dtype::BF16, {2, 32}}}).isOk());
}

TEST_F(WeightWriterTest, RefusesLengthsOfNoMatrix) {
  auto vectorOf = [&](int64_t size, const std::string &name) {
    Parameter magnitude = frozen(name);
    magnitude.type = RankedTensorType::get(size, Float32Type::get(&context));
    magnitude.trainable = true;
    magnitude.init = Init::RowLengths;
    return magnitude;
  };
  Parameter weight = frozen("q.weight");
  std::vector<rt::TensorSpec> source = {{"q.weight", rt::Dtype::F32, {2, 32}}};
  EXPECT_TRUE(
      write({weight, vectorOf(2, "q.lora_magnitude_vector")}, source).isOk());
  for (auto [size, name] : {std::pair(2, "v.lora_magnitude_vector"),
                            std::pair(3, "q.lora_magnitude_vector")}) {
    rt::Status status = write({weight, vectorOf(size, name)}, source);
    ASSERT_FALSE(status.isOk()) << name;
    EXPECT_EQ(status.errorCode(), rt::ErrorCode::BadModule);
    EXPECT_NE(status.message().place.find(name), std::string::npos);
    EXPECT_NE(status.message().problem.find(std::string(1, name[0]) +
                                            ".weight with " +
                                            std::to_string(size)),
              std::string::npos)
        << status.message().problem;
  }
}

TEST_F(WeightWriterTest, TurnsWhatTheFilesHoldTransposed) {
  // Several pieces, whose ends are inside of rows.
  constexpr int64_t in = 96, out = 700;
  std::vector<uint16_t> stored(in * out); // [in, out]
  auto valueAt = [](int64_t o, int64_t i) {
    return static_cast<float>((o * 7 + i * 3) % 251) - 125; // exact in bfloat16
  };
  for (int64_t o = 0; o < out; ++o)
    for (int64_t i = 0; i < in; ++i)
      stored[i * out + o] = rt::floatToBfloat16(valueAt(o, i));
  auto create = [&](uint16_t at0) {
    stored[0] = at0;
    auto writer =
        rt::SafetensorsWriter::create(folder.file("model.safetensors"),
                                      {{"w", rt::Dtype::BF16, {in, out}}}, {});
    ASSERT_TRUE(writer.isOk());
    ASSERT_TRUE(writer.value().write(stored.data(), stored.size() * 2).isOk());
    ASSERT_TRUE(writer.value().commit().isOk());
  };
  create(stored[0]);
  Parameter parameter = frozen("w");
  parameter.type = RankedTensorType::get({out, in}, Float32Type::get(&context));
  parameter.transposed = true;
  auto write = [&] {
    auto index = WeightIndex::open(folder.path);
    EXPECT_TRUE(index.isOk());
    EXPECT_TRUE(index.value()
                    .require(expectedTensors(parameter, false), "config.json")
                    .isOk());
    return writeWeights(folder.file("out"), {parameter, "", "", "hash"},
                        index.value(), /*errors=*/nullptr);
  };
  auto expectTurned = [&](double tolerance,
                          const std::function<double(int64_t, int64_t)> &at) {
    double worst = 0;
    for (int64_t o = 0; o < out; ++o)
      for (int64_t i = 0; i < in; ++i)
        worst = std::max(worst, std::abs(at(o, i) - valueAt(o, i)));
    EXPECT_LE(worst, tolerance);
  };

  ASSERT_TRUE(write().isOk());
  auto file = rt::SafetensorsFile::open(folder.file("out"));
  ASSERT_TRUE(file.isOk());
  const rt::TensorInfo *w = file.value().find("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->shape, (std::vector<int64_t>{out, in}));
  expectTurned(0, [&](int64_t o, int64_t i) {
    return rt::loadAsDouble(w->dtype, file.value().data(*w), o * in + i);
  });

  parameter.storage = StorageAttr::get(&context, StoredType::Int8, 32);
  ASSERT_TRUE(write().isOk());
  auto packed = rt::SafetensorsFile::open(folder.file("out"));
  ASSERT_TRUE(packed.isOk());
  auto number = [&](const char *name, int64_t at) {
    const rt::TensorInfo *tensor = packed.value().find(name);
    const char *data = packed.value().data(*tensor);
    return tensor->dtype == rt::Dtype::U8
               ? double(static_cast<uint8_t>(data[at]))
               : rt::loadAsDouble(tensor->dtype, data, at);
  };
  // A group's range is at most 250 in 255 steps.
  expectTurned(0.5, [&](int64_t o, int64_t i) {
    int64_t at = o * in + i;
    return number("w.scales", at / 32) * number("w", at) +
           number("w.biases", at / 32);
  });

  // The place of a number that cannot be quantised is that of the file.
  create(0x7f80);
  rt::Status status = write();
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.errorCode(), rt::ErrorCode::NotFiniteWeight);
  EXPECT_NE(status.message().problem.find("[0, 0]"), std::string::npos)
      << status.message().problem;
}

TEST_F(WeightWriterTest, ShapesOfTransposedTensorsAreThoseOfTheFile) {
  Parameter parameter = frozen("w");
  parameter.transposed = true;
  std::vector<ExpectedTensor> expected = expectedTensors(parameter, false);
  ASSERT_EQ(expected.size(), 1u);
  EXPECT_EQ(expected[0].shape, (std::vector<int64_t>{32, 2}));
}

TEST_F(WeightWriterTest, NamesATensorThatIsNotThere) {
  rt::Status status =
      write({frozen("wq.weight")}, {{"wk.weight", rt::Dtype::F32, {2, 32}}});
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.errorCode(), rt::ErrorCode::MissingTensor);
  EXPECT_NE(status.message().place.find("tensor wq.weight"), std::string::npos);
  EXPECT_NE(status.message().problem.find("the nearest name is wk.weight"),
            std::string::npos)
      << status.message().problem;
}

TEST_F(WeightWriterTest, NamesTheScalesOfAPackedMatrix) {
  auto storage = StorageAttr::get(&context, StoredType::Int4, 32);
  rt::Status status = write({frozen("w.weight", storage)},
                            {{"w.weight", rt::Dtype::U32, {2, 4}}});
  ASSERT_FALSE(status.isOk());
  EXPECT_NE(status.message().place.find("tensor w."), std::string::npos);
}
