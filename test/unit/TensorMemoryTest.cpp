//===- TensorMemoryTest.cpp - Matrices that files hold transposed ---------===//
//
// Also of a device that the host does not see. The larger matrix is longer than
// one piece of the transposition, and ends within a piece.
//
//===----------------------------------------------------------------------===//

#include "formats/TensorMemory.h"
#include "../device/GuardedDevice.h"
#include "TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

using namespace hone::rt;
using hone::test::GuardedDevice;

/// The value of element [row, column], exact in every type.
static float valueAt(int64_t row, int64_t column) {
  return static_cast<float>((row * 7 + column * 3) % 251);
}

namespace {
class TensorMemoryTest : public testing::Test {
protected:
  using Shape = std::pair<int64_t, int64_t>;

  /// A matrix [out, in] in memory, whose file has [in, out].
  TensorMemory matrix(Shape shape, MemoryView data, Dtype dtype = Dtype::F32) {
    return {"w", {shape.first, shape.second}, dtype, data, true};
  }
  std::vector<float> values(Shape shape) {
    std::vector<float> all;
    for (int64_t row = 0; row < shape.first; ++row)
      for (int64_t column = 0; column < shape.second; ++column)
        all.push_back(valueAt(row, column));
    return all;
  }
  SafetensorsFile written(const TensorMemory &tensor) {
    std::string path = folder.file("w.safetensors");
    Result<SafetensorsWriter> writer = SafetensorsWriter::create(
        path, {{tensor.name, tensor.dtype, tensor.fileShape()}}, {});
    EXPECT_TRUE(writer.isOk());
    EXPECT_TRUE(writeTensor(writer.value(), tensor).isOk());
    EXPECT_TRUE(writer.value().commit().isOk());
    return std::move(SafetensorsFile::open(path).value());
  }
  const std::vector<Shape> shapes = {{3, 5}, {1, 4}, {4, 1}, {300, 257}};

private:
  TemporaryFolder folder;
};
} // namespace

TEST_F(TensorMemoryTest, FilesHaveTheTranspose) {
  for (Shape shape : shapes) {
    std::vector<float> memory = values(shape);
    SafetensorsFile file = written(matrix(shape, memory.data()));
    const TensorInfo &info = *file.find("w");
    EXPECT_EQ(info.shape, (std::vector<int64_t>{shape.second, shape.first}));
    const char *data = file.data(info);
    for (int64_t column = 0; column < shape.second; ++column)
      for (int64_t row = 0; row < shape.first; ++row, data += sizeof(float)) {
        float found;
        std::memcpy(&found, data, sizeof(float));
        ASSERT_EQ(found, valueAt(row, column)) << row << ", " << column;
      }
  }
}

TEST_F(TensorMemoryTest, ReadingTurnsBack) {
  for (Shape shape : shapes) {
    std::vector<float> memory = values(shape), found(memory.size(), -1);
    SafetensorsFile file = written(matrix(shape, memory.data()));
    readTensor(file, *file.find("w"), matrix(shape, found.data()));
    EXPECT_EQ(found, memory);
    std::vector<double> wide(memory.size());
    readTensor(file, *file.find("w"), matrix(shape, wide.data(), Dtype::F64));
    EXPECT_EQ(wide, std::vector<double>(memory.begin(), memory.end()));
  }
}

TEST_F(TensorMemoryTest, WorksWhereTheHostDoesNotSee) {
  std::unique_ptr<Pool> pool = std::move(Pool::create(1).value());
  GuardedDevice device(*pool);
  for (Shape shape : shapes) {
    std::vector<float> memory = values(shape), found(memory.size(), -1);
    const uint64_t bytes = memory.size() * sizeof(float);
    DeviceMemory own = std::move(device.allocate(bytes).value());
    TensorMemory there = matrix(shape, MemoryView(device, own.address()));
    SafetensorsFile file = written(matrix(shape, memory.data()));
    readTensor(file, *file.find("w"), there);
    EXPECT_TRUE(device.copyOut(found.data(), own.address(), bytes).isOk());
    EXPECT_EQ(found, memory);
    SafetensorsFile again = written(there);
    EXPECT_EQ(again.bytes(), file.bytes());
  }
}
