//===- DeviceCases.h - Requirements for every driver's device -------------===//
//
// A module of two kernels, whose text a test brings. The environment is read
// once, so each broken device is a process of its own.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "device/Device.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

namespace hone::rt {

/// Of both kernels: scale does x = x + w * by in groups of 32 threads, outside
/// reads 16 KiB after x.
struct Closure {
  char *x;
  const void *w;
  float by;
  uint32_t unused = 0; ///< no field of a kernel
};

constexpr uint64_t kCount = 4096;
constexpr uint64_t kArena = kCount * sizeof(float);

inline const hone_field kScaleFields[] = {
    {offsetof(Closure, x), 8, HONE_READ | HONE_WRITE},
    {offsetof(Closure, w), 8, HONE_READ},
    {offsetof(Closure, by), 4, HONE_NO_ACCESS}};
inline const hone_kernel kKernels[] = {
    {nullptr, "scale", "block", "scale", 32, 0, kScaleFields, 3},
    {nullptr, "outside", "block", "outside", 32, 0, kScaleFields, 1}};
inline const int64_t kShape[] = {int64_t(kCount)};
inline const hone_weight kWeights[] = {{"w", HONE_F32, 1, kShape}};

inline hone_module moduleOf(const char *text, const char *target) {
  hone_module module = {};
  module.arena_bytes = kArena;
  module.kernels = kKernels;
  module.kernel_count = 2;
  module.weights = kWeights;
  module.weight_count = 1;
  module.device_target = target;
  module.device_code = text;
  module.device_code_bytes = strlen(text);
  return module;
}

/// Everything that a program does with a device, from the start: `launches`
/// times x = w * 2 + x, and then one launch of outside.
template <typename Opened>
Status runAll(const hone_module &module, int number, unsigned launches,
              bool isOutside = false) {
  HONE_ASSIGN(std::unique_ptr<Opened> device,
              Opened::open(module, number, module.arena_bytes));
  HONE_ASSIGN(DeviceMemory arena, device->allocate(module.arena_bytes));
  std::vector<float> weights(kCount), x(kCount);
  std::iota(weights.begin(), weights.end(), 0.f);
  const void *addresses[] = {weights.data()};
  HONE_ASSIGN(hone_frame frame, device->load(module, {addresses, {}}));
  EXPECT_EQ(frame.device, device->handle());
  for (unsigned i = 0; i < launches; ++i) {
    Closure closure = {arena.address(), frame.weights[0], 2};
    hone_device *handle = frame.device;
    reinterpret_cast<Device *>(handle)->launch(0, &closure, kCount / 32);
    memset(&closure, 0xee, sizeof closure);
  }
  Closure closure = {arena.address(), nullptr, 0};
  if (isOutside)
    device->launch(1, &closure, 1);
  HONE_TRY(device->wait());
  HONE_TRY(device->copyOut(x.data(), arena.address(), kArena));
  for (uint64_t i = 0; i < kCount; ++i)
    if (x[i] != float(2 * launches * i))
      return Status(ErrorCode::Bug, "x", std::to_string(i), "");
  EXPECT_EQ(device->allocatedBytes(), 2 * kArena);
  return Status::ok();
}

/// In a process of its own whose environment has `name`.
template <typename Opened>
void expectError(const hone_module &module, const char *name, const char *value,
                 const char *message, int number = 0) {
  EXPECT_EXIT(
      {
        setenv("HONE_DEVICE_PATIENCE", "1", 1);
        setenv(name, value, 1);
        const Status status = runAll<Opened>(module, number, 2);
        fputs(status.render().c_str(), stderr);
        _exit(status.isOk() ? 0 : 1);
      },
      testing::ExitedWithCode(1), message);
}

/// Large and small, overlapping and with a source that changes afterwards.
template <typename Opened> void checkCopies(const hone_module &module) {
  auto opened = Opened::open(module, 0, 0);
  ASSERT_TRUE(opened.isOk()) << opened.status().render();
  Device &device = *opened.value();
  const uint64_t bytes = 6 * 1024 * 1024 + 12345;
  auto memory = device.allocate(bytes + 64);
  ASSERT_TRUE(memory.isOk());
  std::vector<char> source(bytes), wanted(bytes), found(bytes);
  for (unsigned turn = 0; turn < 5; ++turn) {
    for (uint64_t i = 0; i < bytes; ++i)
      wanted[i] = source[i] = char(i * (turn + 3) >> 5);
    device.copyIn(memory.value().address(), source.data(), bytes);
    std::fill(source.begin(), source.end(), char(0x55));
  }
  // Ends that overlap, both ways.
  device.copy(memory.value().address() + 7, memory.value().address(), bytes);
  device.copy(memory.value().address(), memory.value().address() + 7, bytes);
  ASSERT_TRUE(
      device.copyOut(found.data(), memory.value().address(), bytes).isOk());
  EXPECT_EQ(found, wanted);
}

template <typename Opened>
void checkMemoryIsZeroAndNoPointer(const hone_module &module) {
  auto opened = Opened::open(module, 0, 0);
  ASSERT_TRUE(opened.isOk());
  auto memory = opened.value()->allocate(1000);
  ASSERT_TRUE(memory.isOk());
  std::vector<char> bytes(1000, 1);
  ASSERT_TRUE(opened.value()
                  ->copyOut(bytes.data(), memory.value().address(), 1000)
                  .isOk());
  EXPECT_EQ(bytes, std::vector<char>(1000, 0));
  EXPECT_DEATH(memory.value().address()[0] = 1, "");
}

template <typename Opened> void checkObservers(const hone_module &module) {
  struct Count : KernelObserver {
    void ran(uint32_t kernel, double seconds) override {
      EXPECT_EQ(kernel, 0u);
      EXPECT_GE(seconds, 0);
      ++calls;
    }
    unsigned calls = 0;
  } count;
  auto opened = Opened::open(module, 0, kArena);
  ASSERT_TRUE(opened.isOk());
  Device &device = *opened.value();
  auto arena = device.allocate(kArena);
  std::vector<float> weights(kCount);
  const void *addresses[] = {weights.data()};
  auto frame = device.load(module, {addresses, {}});
  ASSERT_TRUE(frame.isOk()) << frame.status().render();
  device.observe(&count);
  Closure closure = {arena.value().address(), frame.value().weights[0], 2};
  for (unsigned i = 0; i < 1300; ++i)
    device.launch(0, &closure, 1);
  device.observe(nullptr);
  device.launch(0, &closure, 1);
  EXPECT_TRUE(device.wait().isOk());
  EXPECT_EQ(count.calls, 1300u);
}

} // namespace hone::rt
