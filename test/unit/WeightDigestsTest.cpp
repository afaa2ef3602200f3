//===- WeightDigestsTest.cpp - Weights that are not those compiled --------===//

#include "TemporaryFolder.h"

#include "module/WeightDigests.h"

#include <gtest/gtest.h>

#include <fstream>

using namespace hone::rt;

namespace {

constexpr uint64_t Part = HONE_DIGEST_PART_BYTES;

/// Two tensors of 1.5 parts each, in a file.
class WeightDigestsTest : public ::testing::Test {
protected:
  void SetUp() override {
    path = folder.path + "/weights";
    const std::vector<char> numbers(Part * 3 / 2, 'w');
    const int64_t size = int64_t(numbers.size());
    Result<SafetensorsWriter> writer = SafetensorsWriter::create(
        path, {{"first", Dtype::U8, {size}}, {"second", Dtype::U8, {size}}},
        {});
    ASSERT_TRUE(writer.isOk());
    for (int i = 0; i < 2; ++i)
      ASSERT_TRUE(writer.value().write(numbers.data(), numbers.size()).isOk());
    ASSERT_TRUE(writer.value().commit().isOk());
    SafetensorsFile file = open();
    digests = digestsWith(1);
    module.weight_digests = reinterpret_cast<const uint8_t *>(digests.data());
    module.weight_file_bytes = file.bytes().size();
  }

  SafetensorsFile open() {
    return std::move(SafetensorsFile::open(path).value());
  }
  std::string digestsWith(unsigned threads) {
    return digestParts(open().bytes(), *Pool::create(threads).value());
  }
  Status verify() {
    return verifyWeights(open(), module, *Pool::create(2).value());
  }
  void flip(uint64_t offset) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(int64_t(offset));
    file.put('W');
  }

  TemporaryFolder folder;
  std::string path, digests;
  hone_module module = {};
};

TEST_F(WeightDigestsTest, AreTheSameForAnyThreads) {
  EXPECT_EQ(digests.size(), 4 * 32u); // the header makes three parts four
  EXPECT_EQ(digestsWith(3), digests);
  EXPECT_TRUE(verify().isOk());
}

TEST_F(WeightDigestsTest, NameThePartAndTheTensor) {
  flip(Part * 2 + 5);
  Status status = verify();
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.errorCode(), ErrorCode::DamagedWeights);
  EXPECT_EQ(status.message().place, path + ": bytes 2097152 to 3145727, in "
                                           "tensor second or near it");
  EXPECT_NE(status.message().remedy.find("--no-verify"), std::string::npos);
}

TEST_F(WeightDigestsTest, NoticeTheLastByte) {
  flip(module.weight_file_bytes - 1);
  EXPECT_FALSE(verify().isOk());
}

TEST_F(WeightDigestsTest, NoticeAnotherSize) {
  ++module.weight_file_bytes;
  Status status = verify();
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message().place, path);
}

} // namespace
