//===- TrainablesTest.cpp - What must not depend on places in theta -------===//
//
// One table of tensors, laid out in several orders.
//
//===----------------------------------------------------------------------===//

#include "step/Trainables.h"
#include "BigramModule.h"
#include "base/Philox.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace hone;
using namespace hone::rt;
using namespace hone::test;

namespace {

constexpr int64_t shapes[][2] = {{130, 131}, {3, 5}, {200, 200}, {1, 16384}};
constexpr uint32_t count = 4;

uint64_t elementsOf(uint32_t tensor) {
  return uint64_t(shapes[tensor][0] * shapes[tensor][1]);
}

std::string nameOf(uint32_t tensor) { return "t" + std::to_string(tensor); }

double gradientAt(uint32_t tensor, uint64_t index) {
  return RandomStream(1, 0, RandomPurpose::Test, nameOf(tensor)).normal(index);
}

/// The norm, with the tensors in theta as `order` lists them.
double normOf(const std::vector<uint32_t> &order, unsigned threads) {
  std::string names[count];
  hone_trainable table[count];
  uint64_t length = 0;
  for (uint32_t tensor : order) {
    names[tensor] = nameOf(tensor);
    table[tensor] = {names[tensor].c_str(), 2, HONE_INIT_ZERO, shapes[tensor],
                     length};
    length += elementsOf(tensor);
  }
  hone_module abi = bigramModule(HONE_SGD, HONE_F64);
  abi.theta_offset = abi.gradient_offset = abi.arena_bytes;
  abi.arena_bytes += length * sizeof(double);
  abi.trainables = table;
  abi.trainable_count = count;
  abi.trainable_elements = length;
  Result<Module> module = Module::open(abi);
  EXPECT_TRUE(module.isOk()) << module.status().render();

  std::vector<double> arena(abi.arena_bytes / sizeof(double));
  for (uint32_t tensor : order)
    for (uint64_t i = 0; i < elementsOf(tensor); ++i)
      arena[abi.gradient_offset / sizeof(double) + table[tensor].offset + i] =
          gradientAt(tensor, i);
  auto pool = std::move(Pool::create(threads).value());
  return Trainables(module.value(), reinterpret_cast<char *>(arena.data()))
      .gradientNorm(*pool);
}

} // namespace

TEST(TrainablesTest, NormIsAddedByTensorInTheTablesOrder) {
  double sum = 0;
  for (uint32_t tensor = 0; tensor < count; ++tensor) {
    double ofTensor = 0;
    for (uint64_t first = 0; first < elementsOf(tensor); first += 16384) {
      uint64_t end = std::min<uint64_t>(first + 16384, elementsOf(tensor));
      double block = 0;
      for (uint64_t i = first; i < end; ++i)
        block += gradientAt(tensor, i) * gradientAt(tensor, i);
      ofTensor += block;
    }
    sum += ofTensor;
  }
  std::vector<std::vector<uint32_t>> orders = {
      {0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}};
  for (const std::vector<uint32_t> &order : orders)
    for (unsigned threads : {1, 3})
      EXPECT_EQ(normOf(order, threads), std::sqrt(sum));
}
