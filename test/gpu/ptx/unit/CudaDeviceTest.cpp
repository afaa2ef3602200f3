//===- CudaDeviceTest.cpp - The runtime's CUDA device on the machine ------===//
//
// A module of two kernels, written by hand, on the libcuda.so.1 that this
// program finds beside it. What the environment sets is read once, so each
// broken device is a process of its own.
//
//===----------------------------------------------------------------------===//

#include "device/CudaDevice.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace hone;
using namespace hone::rt;

namespace {

constexpr char kText[] = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 w, .param .f32 by)
.maxntid 32
{
.reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %d<4>;
mov.u32 %r0, %tid.x;
mov.u32 %r1, %ctaid.x;
mad.lo.u32 %r2, %r1, 32, %r0;
mul.wide.u32 %d0, %r2, 4;
ld.param.u64 %d1, [x];
ld.param.u64 %d2, [w];
ld.param.f32 %f0, [by];
add.s64 %d1, %d1, %d0;
add.s64 %d2, %d2, %d0;
ld.global.f32 %f1, [%d1];
ld.global.nc.f32 %f2, [%d2];
fma.rn.f32 %f3, %f2, %f0, %f1;
st.global.f32 [%d1], %f3;
ret;
}
.visible .entry outside(.param .u64 x)
{
.reg .b32 %r<2>; .reg .b64 %d<4>;
ld.param.u64 %d0, [x];
ld.global.b32 %r0, [%d0+16384];
ret;
}
)";

struct Closure {
  uint64_t unused;
  char *x;
  const void *w;
  float by;
};

constexpr uint64_t kCount = 4096;
constexpr uint64_t kArena = kCount * sizeof(float);

const hone_field kScaleFields[] = {
    {offsetof(Closure, x), 8, HONE_READ | HONE_WRITE},
    {offsetof(Closure, w), 8, HONE_READ},
    {offsetof(Closure, by), 4, HONE_NO_ACCESS}};
const hone_kernel kKernels[] = {
    {nullptr, "scale", "block", "scale", 32, 0, kScaleFields, 3},
    {nullptr, "outside", "block", "outside", 32, 0, kScaleFields, 1}};
const int64_t kShape[] = {int64_t(kCount)};
const hone_weight kWeights[] = {{"w", HONE_F32, 1, kShape}};

hone_module moduleOf(const char *text, const char *target) {
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

const hone_module kModule = moduleOf(kText, "nvptx64-nvidia-cuda:sm_80");

/// Everything that a program does with a device, from the start: `launches`
/// times x = w * 2 + x, and then what `after` does.
Status runAll(const hone_module &module, int number, unsigned launches,
              bool isOutside = false) {
  HONE_ASSIGN(std::unique_ptr<CudaDevice> device,
              CudaDevice::open(module, number, module.arena_bytes));
  HONE_ASSIGN(DeviceMemory arena, device->allocate(module.arena_bytes));
  std::vector<float> weights(kCount), x(kCount);
  std::iota(weights.begin(), weights.end(), 0.f);
  const void *addresses[] = {weights.data()};
  HONE_ASSIGN(hone_frame frame, device->load(module, {addresses, {}}));
  EXPECT_EQ(frame.device, device->handle());
  for (unsigned i = 0; i < launches; ++i) {
    Closure closure = {0, arena.address(), frame.weights[0], 2};
    hone_device *handle = frame.device;
    reinterpret_cast<Device *>(handle)->launch(0, &closure, kCount / 32);
    memset(&closure, 0xee, sizeof closure);
  }
  Closure closure = {0, arena.address(), nullptr, 0};
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
void expectError(const char *name, const char *value, const char *message,
                 const hone_module &module = kModule, int number = 0) {
  EXPECT_EXIT(
      {
        setenv("HONE_DEVICE_PATIENCE", "1", 1);
        setenv(name, value, 1);
        const Status status = runAll(module, number, 2);
        fputs(status.render().c_str(), stderr);
        _exit(status.isOk() ? 0 : 1);
      },
      testing::ExitedWithCode(1), message);
}

} // namespace

TEST(CudaDevice, KernelsSeeWeightsAndTheirClosures) {
  const Status status = runAll(kModule, 0, 3);
  EXPECT_TRUE(status.isOk()) << status.render();
}

TEST(CudaDevice, CopiesInAreDoneWithTheirSource) {
  auto opened = CudaDevice::open(kModule, 0, 0);
  ASSERT_TRUE(opened.isOk()) << opened.status().render();
  Device &device = *opened.value();
  const uint64_t bytes = 3 * UploadBuffers::Bytes + 12345;
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

TEST(CudaDevice, MemoryIsZeroAndNoPointer) {
  auto opened = CudaDevice::open(kModule, 0, 0);
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

TEST(CudaDevice, ObserversAreToldOfEachKernel) {
  struct Count : KernelObserver {
    void ran(uint32_t kernel, double seconds) override {
      EXPECT_EQ(kernel, 0u);
      EXPECT_GE(seconds, 0);
      ++calls;
    }
    unsigned calls = 0;
  } count;
  auto opened = CudaDevice::open(kModule, 0, kArena);
  ASSERT_TRUE(opened.isOk());
  CudaDevice &device = *opened.value();
  auto arena = device.allocate(kArena);
  std::vector<float> weights(kCount);
  const void *addresses[] = {weights.data()};
  auto frame = device.load(kModule, {addresses, {}});
  ASSERT_TRUE(frame.isOk()) << frame.status().render();
  device.observe(&count);
  Closure closure = {0, arena.value().address(), frame.value().weights[0], 2};
  for (unsigned i = 0; i < 1300; ++i)
    device.launch(0, &closure, 1);
  device.observe(nullptr);
  device.launch(0, &closure, 1);
  EXPECT_TRUE(device.wait().isOk());
  EXPECT_EQ(count.calls, 1300u);
}

TEST(CudaDevice, EachFailureHasItsCode) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  expectError("HONE_PTX_DEVICES", "0",
              "error.H1301.: libcuda.so.1: the driver found no device: no "
              "CUDA-capable device");
  expectError("HONE_PTX_VERSION", "11040",
              "error.H1302.: the driver: is of CUDA 11.4 and the program's "
              "kernels need 12.0");
  expectError("HONE_PTX_VERSION", "12000",
              "error.H1303.: --device: there is no device 1; there are 1",
              kModule, 1);
  expectError("HONE_PTX_MEMORY", "20000",
              "error.H1304.: device 0 .PTX machine.: has 19.5 KiB of memory "
              "free and the plan needs 32.0 KiB");
  expectError("HONE_PTX_REFUSE_ALLOCATION", "2",
              "error.H1304.: .*refused 16.0 KiB of the plan: out of memory");
  expectError("HONE_PTX_CAPABILITY", "75",
              "error.H1305.: .*is an sm_75 and the program's kernels are for "
              "sm_80");
  expectError("HONE_PTX_LOSE_AT_LAUNCH", "2",
              "error.H1307.: .*stopped: unspecified launch failure");
  expectError("HONE_PTX_STICK_AT_LAUNCH", "1",
              "error.H1308.: .*has not finished its work");
  const hone_module bad = moduleOf(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n"
      "{\nfrobnicate;\n}\n",
      "nvptx64-nvidia-cuda:sm_80");
  expectError("HONE_PTX_VERSION", "12000",
              "error.H1306.: .*a PTX JIT compilation failed .*\n.*line 6: "
              "`frobnicate` is not executed",
              bad);
  EXPECT_EXIT(
      {
        const Status status = runAll(kModule, 0, 1, /*isOutside=*/true);
        fputs(status.render().c_str(), stderr);
        _exit(status.isOk() ? 0 : 1);
      },
      testing::ExitedWithCode(1),
      "kernel outside, line 27: out of bounds.*\nerror.H1307.*illegal memory");
}

TEST(CudaDevice, DevicesAreListed) {
  auto listed = listCudaDevices();
  ASSERT_TRUE(listed.isOk());
  EXPECT_EQ(listed.value(), "driver of CUDA 13.0\ndevice 0  sm_90  16.0 GiB  1 "
                            "multiprocessors  PTX machine\n");
}
