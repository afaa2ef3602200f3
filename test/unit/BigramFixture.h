//===- BigramFixture.h - A folder with all that a run needs ---------------===//
//
// Weights, data and a trainer for the bigram module, gone after the test.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "BigramModule.h"
#include "data/Dataset.h"
#include "device/HostDevice.h"
#include "step/Trainer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <unistd.h>

namespace hone::test {

inline std::string readText(const std::string &path) {
  std::stringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

class BigramFixture : public testing::Test {
protected:
  std::string folder;

  void SetUp() override {
    folder = testing::TempDir() + "hone-bigram-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder += "/";
    ASSERT_TRUE(writeBigramWeights(folder + "weights").isOk());
    ASSERT_TRUE(writeBigramData(folder + "data.jsonl", 21, 1).isOk());
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  rt::Dataset openData(const std::string &name = "data.jsonl") {
    auto data =
        rt::Dataset::prepare({folder + name, 32, folder, bigramVocab}, nullptr);
    EXPECT_TRUE(data.isOk()) << data.status().render();
    return std::move(data.value());
  }
};

/// A trainer with its own module, weights and threads.
struct BigramTrainer {
  rt::Module module;
  rt::Weights weights;
  std::unique_ptr<rt::Pool> pool;
  std::unique_ptr<rt::Device> device;
  std::unique_ptr<rt::Trainer> trainer;

  BigramTrainer(const std::string &folder, uint32_t optimizer, uint32_t dtype,
                unsigned threads = 2)
      : BigramTrainer(folder, bigramModule(optimizer, dtype), threads) {}

  BigramTrainer(const std::string &folder, const hone_module &compiled,
                unsigned threads = 2) {
    auto opened = rt::Module::open(compiled);
    EXPECT_TRUE(opened.isOk()) << opened.status().render();
    module = std::move(opened.value());
    auto mapped = rt::Weights::open(folder + "weights", module);
    EXPECT_TRUE(mapped.isOk()) << mapped.status().render();
    weights = std::move(mapped.value());
    pool = std::move(rt::Pool::create(threads).value());
    device = std::make_unique<rt::HostDevice>(*pool);
    trainer = std::move(rt::Trainer::create(module, weights, *device).value());
    trainer->trainables().initialize(7);
  }

  /// The trainables as doubles or floats, through the checkpoint's door.
  template <typename T> T *values(unsigned vector = 0) {
    auto targets = trainer->trainables().checkpointTargets();
    char *place = nullptr;
    targets[vector].data.write(count() * sizeof(T),
                               [&](char *part, uint64_t) { place = part; });
    return reinterpret_cast<T *>(place);
  }
  uint64_t count() const { return module.abi().trainable_elements; }
};

} // namespace hone::test
