//===- WeightIndexTest.cpp - Which weights files make a model -------------===//
//
// Every case starts from a sound model directory in a temporary folder and
// breaks one thing.
//
//===----------------------------------------------------------------------===//

#include "compiler/weights/WeightIndex.h"

#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

#include <fstream>

using namespace hone;
using rt::ErrorCode;

namespace {

class WeightIndexTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("hone-weights", path));
    folder = path.str().str();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  void writeTensors(const std::string &file,
                    std::vector<rt::TensorSpec> tensors) {
    auto writer = rt::SafetensorsWriter::create(folder + "/" + file,
                                                std::move(tensors), {});
    ASSERT_TRUE(writer.isOk()) << writer.status().render();
    uint64_t bytes = 0;
    for (const rt::TensorInfo &tensor : writer.value().tensors())
      bytes += tensor.bytes();
    std::vector<char> zeros(bytes);
    ASSERT_TRUE(writer.value().write(zeros.data(), bytes).isOk());
    ASSERT_TRUE(writer.value().commit().isOk());
  }

  void writeText(const std::string &file, const std::string &text) {
    std::ofstream(folder + "/" + file) << text;
  }

  /// Expects open() to fail with these parts in its message.
  void expectRefused(ErrorCode code, const std::string &place,
                     const std::string &problem, const std::string &remedy) {
    expectMessage(WeightIndex::open(folder).status(), code, place, problem,
                  remedy);
  }

  static void expectMessage(const rt::Status &status, ErrorCode code,
                            const std::string &place,
                            const std::string &problem,
                            const std::string &remedy) {
    ASSERT_FALSE(status.isOk());
    EXPECT_EQ(status.errorCode(), code);
    const rt::Message &m = status.message();
    EXPECT_NE(m.place.find(place), std::string::npos) << m.place;
    EXPECT_NE(m.problem.find(problem), std::string::npos) << m.problem;
    EXPECT_NE(m.remedy.find(remedy), std::string::npos) << m.remedy;
  }

  std::string folder;
};

} // namespace

static const rt::TensorSpec a = {"a", rt::Dtype::F32, {2, 3}};
static const rt::TensorSpec b = {"b", rt::Dtype::BF16, {4}};

TEST_F(WeightIndexTest, FindsTensorsOfOneFile) {
  writeTensors("model.safetensors", {a, b});
  auto index = WeightIndex::open(folder);
  ASSERT_TRUE(index.isOk()) << index.status().render();
  EXPECT_EQ(index.value().names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(
      index.value().require({{"a", {2, 3}}, {"b", {4}}}, "config.json").isOk());
}

TEST_F(WeightIndexTest, ShardingDoesNotChangeTheHash) {
  writeTensors("model.safetensors", {a, b});
  std::string whole = WeightIndex::open(folder).value().contentHash();
  llvm::sys::fs::remove(folder + "/model.safetensors");
  writeTensors("x-1.safetensors", {a});
  writeTensors("x-2.safetensors", {b});
  writeText("model.safetensors.index.json",
            "{\"weight_map\": {\"a\": \"x-1.safetensors\", "
            "\"b\": \"x-2.safetensors\"}}");
  auto index = WeightIndex::open(folder);
  ASSERT_TRUE(index.isOk()) << index.status().render();
  EXPECT_EQ(index.value().contentHash(), whole);
}

TEST_F(WeightIndexTest, RefusesAnEmptyFolder) {
  expectRefused(ErrorCode::NoWeights, folder, "found neither", "download");
}

TEST_F(WeightIndexTest, RefusesPickle) {
  writeText("pytorch_model.bin", "PK");
  expectRefused(ErrorCode::PickledWeights, "pytorch_model.bin", "pickle",
                "convert the model to safetensors");
}

TEST_F(WeightIndexTest, RefusesATruncatedFile) {
  writeTensors("model.safetensors", {a});
  uint64_t size = 0;
  llvm::sys::fs::file_size(folder + "/model.safetensors", size);
  int file = 0;
  ASSERT_FALSE(llvm::sys::fs::openFileForReadWrite(
      folder + "/model.safetensors", file, llvm::sys::fs::CD_OpenExisting,
      llvm::sys::fs::OF_None));
  ASSERT_FALSE(llvm::sys::fs::resize_file(file, size - 1));
  expectRefused(ErrorCode::BadSafetensors, "model.safetensors", "", "");
}

TEST_F(WeightIndexTest, RefusesAnIndexWithoutAMap) {
  writeText("model.safetensors.index.json", "{\"metadata\": {}}");
  expectRefused(ErrorCode::BadShardIndex, "/weight_map", "but found none",
                "again");
}

TEST_F(WeightIndexTest, RefusesAnIndexThatIsNotJson) {
  writeText("model.safetensors.index.json", "{");
  expectRefused(ErrorCode::BadShardIndex, "index.json:1:", "", "");
}

TEST_F(WeightIndexTest, RefusesAShardOutsideTheFolder) {
  for (const char *name : {"../x.safetensors", "/etc/x.safetensors", "x.bin",
                           ".safetensors", "a/b.safetensors"}) {
    writeText("model.safetensors.index.json",
              std::string("{\"weight_map\": {\"a\": \"") + name + "\"}}");
    expectRefused(ErrorCode::BadShardIndex, "/weight_map/a",
                  "expected the name of a .safetensors file", "letters");
  }
}

TEST_F(WeightIndexTest, RefusesAShardThatIsANumber) {
  writeText("model.safetensors.index.json", "{\"weight_map\": {\"a\": 1}}");
  expectRefused(ErrorCode::BadShardIndex, "/weight_map/a", "found a number",
                "letters");
}

TEST_F(WeightIndexTest, RefusesAMissingShard) {
  writeText("model.safetensors.index.json",
            "{\"weight_map\": {\"a\": \"x.safetensors\"}}");
  expectRefused(ErrorCode::CannotRead, "x.safetensors", "", "");
}

TEST_F(WeightIndexTest, RefusesATensorThatTheIndexDoesNotKnow) {
  writeTensors("x.safetensors", {a, b});
  writeText("model.safetensors.index.json",
            "{\"weight_map\": {\"a\": \"x.safetensors\"}}");
  expectRefused(ErrorCode::ShardsDisagree, "x.safetensors: tensor b",
                "the index does not", "different models");
}

TEST_F(WeightIndexTest, RefusesATensorThatNoShardHas) {
  writeTensors("x.safetensors", {a});
  writeText("model.safetensors.index.json",
            "{\"weight_map\": {\"a\": \"x.safetensors\", "
            "\"b\": \"x.safetensors\"}}");
  expectRefused(ErrorCode::ShardsDisagree, "x.safetensors: tensor b",
                "but it does not", "different models");
}

TEST_F(WeightIndexTest, RefusesATensorInTwoShards) {
  writeTensors("x.safetensors", {a});
  writeTensors("y.safetensors", {a, b});
  writeText("model.safetensors.index.json",
            "{\"weight_map\": {\"a\": \"x.safetensors\", "
            "\"b\": \"y.safetensors\"}}");
  expectRefused(ErrorCode::ShardsDisagree, "y.safetensors: tensor a",
                "in two shards", "again");
}

TEST_F(WeightIndexTest, RefusesATensorInTheWrongShard) {
  writeTensors("x.safetensors", {a});
  writeTensors("y.safetensors", {b});
  writeText("model.safetensors.index.json",
            "{\"weight_map\": {\"a\": \"y.safetensors\", "
            "\"b\": \"x.safetensors\"}}");
  expectRefused(ErrorCode::ShardsDisagree, "tensor a",
                "the shard has the tensor but it is in", "different models");
}

TEST_F(WeightIndexTest, NamesAMissingTensorAndTheNearest) {
  writeTensors("model.safetensors", {a, {"norm.weigth", rt::Dtype::F32, {2}}});
  auto index = WeightIndex::open(folder);
  expectMessage(index.value().require({{"norm.weight", {2}}}, "config.json"),
                ErrorCode::MissingTensor,
                "model.safetensors: tensor norm.weight",
                "no file has it; the nearest name is norm.weigth",
                "config.json belongs to these weights");
}

TEST_F(WeightIndexTest, RefusesAnotherShape) {
  writeTensors("model.safetensors", {a});
  auto index = WeightIndex::open(folder);
  expectMessage(index.value().require({{"a", {2, 4}}}, "config.json"),
                ErrorCode::TensorMisfit, "model.safetensors: tensor a",
                "expected shape [2, 4] from config.json but found F32 [2, 3]",
                "belongs to these weights");
}

TEST_F(WeightIndexTest, RefusesIntegerWeights) {
  writeTensors("model.safetensors", {{"a", rt::Dtype::I32, {2}}});
  auto index = WeightIndex::open(folder);
  expectMessage(index.value().require({{"a", {2}}}, "config.json"),
                ErrorCode::TensorMisfit, "tensor a", "found I32", "quantised");
}

TEST_F(WeightIndexTest, RefusesTensorsThatNobodyReads) {
  writeTensors("model.safetensors", {a, b});
  auto index = WeightIndex::open(folder);
  expectMessage(index.value().refuseUnused({{"a", {2, 3}}}, {}),
                ErrorCode::UnusedTensor, "tensor b",
                "does not use this tensor, of shape [4]", "config.json");
}

TEST_F(WeightIndexTest, RedundantTensorsAreNotRead) {
  rt::TensorSpec head = {"lm_head.weight", rt::Dtype::F32, {2}};
  rt::TensorSpec frequencies = {
      "model.layers.0.self_attn.rotary_emb.inv_freq", rt::Dtype::F32, {2}};
  writeTensors("model.safetensors", {head, frequencies});
  auto index = WeightIndex::open(folder);
  EXPECT_TRUE(index.value().refuseUnused({}, {"lm_head.weight"}).isOk());
  EXPECT_FALSE(index.value().refuseUnused({}, {}).isOk());
}

TEST_F(WeightIndexTest, FindsTensorsOfTheBaseModelUnderEitherName) {
  writeTensors("model.safetensors",
               {{"h.0.ln_1.weight", rt::Dtype::F32, {4}},
                {"h.0.attn.bias", rt::Dtype::F32, {2, 2}},
                {"transformer.ln_f.weight", rt::Dtype::F32, {4}}});
  auto index = WeightIndex::open(folder);
  ASSERT_TRUE(index.isOk()) << index.status().render();
  std::vector<ExpectedTensor> expected = {{"transformer.h.0.ln_1.weight", {4}},
                                          {"transformer.ln_f.weight", {4}}};
  EXPECT_FALSE(index.value().require(expected, "config.json").isOk());
  index.value().setBasePrefix("transformer.");
  EXPECT_TRUE(index.value().require(expected, "config.json").isOk());
  EXPECT_TRUE(index.value()
                  .refuseUnused(expected, {"transformer.h.0.attn.bias"})
                  .isOk());
  expectMessage(index.value().refuseUnused(expected, {}),
                ErrorCode::UnusedTensor, "tensor h.0.attn.bias",
                "does not use this tensor", "config.json");
}

TEST_F(WeightIndexTest, ATiedHeadIsTheTableWhateverTheFilesHold) {
  writeTensors("model.safetensors", {{"wte.weight", rt::Dtype::F32, {4}},
                                     {"lm_head.weight", rt::Dtype::F32, {2}}});
  auto index = WeightIndex::open(folder);
  ASSERT_TRUE(index.isOk()) << index.status().render();
  const std::string hash = index.value().contentHash();
  index.value().setBasePrefix("transformer.");
  index.value().setSource("lm_head", "transformer.wte");
  EXPECT_EQ(index.value().contentHash(), hash);
  std::vector<ExpectedTensor> expected = {{"transformer.wte.weight", {4}},
                                          {"lm_head.weight", {4}}};
  EXPECT_TRUE(index.value().require(expected, "config.json").isOk());
  EXPECT_EQ(index.value().find("lm_head.weight")->tensor->name, "wte.weight");
  EXPECT_TRUE(index.value().refuseUnused(expected, {"lm_head.weight"}).isOk());
  expectMessage(index.value().refuseUnused(expected, {}),
                ErrorCode::UnusedTensor, "tensor lm_head.weight",
                "does not use this tensor, of shape [2]", "config.json");
}

TEST_F(WeightIndexTest, ATensorUnderBothNamesIsOneTooMany) {
  writeTensors("model.safetensors",
               {{"wte.weight", rt::Dtype::F32, {4}},
                {"transformer.wte.weight", rt::Dtype::F32, {4}}});
  auto index = WeightIndex::open(folder);
  ASSERT_TRUE(index.isOk()) << index.status().render();
  index.value().setBasePrefix("transformer.");
  expectMessage(
      index.value().refuseUnused({{"transformer.wte.weight", {4}}}, {}),
      ErrorCode::UnusedTensor, "tensor wte.weight", "does not use", "");
}
