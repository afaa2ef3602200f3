//===- AdapterBaseTest.cpp - The model that an adapter was trained on -----===//

#include "program/AdapterBase.h"

#include <gtest/gtest.h>

using namespace hone::rt;

TEST(AdapterBase, ComparesTheLastPartOfNames) {
  EXPECT_TRUE(mayBeSameModel("Qwen/Qwen2.5-0.5B", "/models/qwen2.5-0.5b/"));
  EXPECT_TRUE(mayBeSameModel("model", "model"));
  EXPECT_FALSE(mayBeSameModel("Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-1.5B"));
  EXPECT_FALSE(mayBeSameModel("Qwen/Qwen2.5-0.5B", "Qwen"));
  EXPECT_FALSE(mayBeSameModel("a", ""));
}
