//===- CudaDeviceTest.cpp - The runtime's CUDA device on the machine ------===//
//
// A module of two kernels, written by hand, on the libcuda.so.1 that this
// program finds beside it.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/DeviceCases.h"

#include "device/CudaDevice.h"

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

const hone_module kModule = moduleOf(kText, "nvptx64-nvidia-cuda:sm_80");

} // namespace

TEST(CudaDevice, KernelsSeeWeightsAndTheirClosures) {
  const Status status = runAll<CudaDevice>(kModule, 0, 3);
  EXPECT_TRUE(status.isOk()) << status.render();
}

TEST(CudaDevice, CopiesInAreDoneWithTheirSource) {
  checkCopies<CudaDevice>(kModule);
}

// Where the buffer has room for all; otherwise each has its own.
TEST(CudaDevice, CopiesOutShareAWait) {
  constexpr uint64_t kLong = UploadBuffers::ReadBackBytes - 16, kShort = 24;
  auto opened = CudaDevice::open(kModule, 0, 2 * kLong);
  ASSERT_TRUE(opened.isOk());
  CudaDevice &device = *opened.value();
  auto memory = device.allocate(2 * kLong);
  std::vector<uint8_t> given(2 * kLong), found(given.size());
  std::iota(given.begin(), given.end(), uint8_t(1));
  char *from = memory.value().address();
  device.copyIn(from, given.data(), given.size());
  auto copy = [&](uint64_t at, uint64_t bytes) {
    return CopyOut{found.data() + at, from + at, bytes};
  };
  uint64_t waits = device.waits();
  ASSERT_TRUE(
      device.copyAllOut({copy(0, kShort), copy(2 * kShort, kShort)}).isOk());
  EXPECT_EQ(device.waits() - waits, 1u);
  for (uint64_t i = 0; i < 3 * kShort; ++i)
    EXPECT_EQ(found[i], i / kShort == 1 ? 0 : given[i]) << i;
  waits = device.waits();
  ASSERT_TRUE(device.copyAllOut({copy(0, kShort), copy(kShort, kLong)}).isOk());
  EXPECT_EQ(device.waits() - waits, 2u);
  EXPECT_TRUE(
      std::equal(found.begin(), found.begin() + kShort + kLong, given.begin()));
}

TEST(CudaDevice, MemoryIsZeroAndNoPointer) {
  checkMemoryIsZeroAndNoPointer<CudaDevice>(kModule);
}

TEST(CudaDevice, ObserversAreToldOfEachKernel) {
  checkObservers<CudaDevice>(kModule);
}

/// Steps of six launches, of which one has another argument each time, and the
/// launches of `between`. The sum of all is checked.
static void runSteps(unsigned steps, unsigned between, uint64_t graphs,
                     uint64_t changed, const char *said) {
  auto opened = CudaDevice::open(kModule, 0, kArena);
  ASSERT_TRUE(opened.isOk());
  CudaDevice &device = *opened.value();
  auto arena = device.allocate(kArena);
  std::vector<float> weights(kCount), x(kCount);
  std::iota(weights.begin(), weights.end(), 0.f);
  const void *addresses[] = {weights.data()};
  auto frame = device.load(kModule, {addresses, {}});
  ASSERT_TRUE(frame.isOk()) << frame.status().render();
  Closure closure = {arena.value().address(), frame.value().weights[0], 1};
  float sum = 0;
  auto launch = [&](float by) {
    closure.by = by;
    sum += by;
    device.launch(0, &closure, kCount / 32);
    // Bytes between fields may be anything.
    closure.unused += 1;
  };
  for (unsigned step = 0; step < steps; ++step) {
    for (unsigned i = 0; i < 6; ++i)
      launch(i == 3 ? float(step) : 1);
    ASSERT_TRUE(device.wait().isOk());
    for (unsigned i = 0; i < between; ++i)
      launch(2);
    ASSERT_TRUE(
        device.copyOut(x.data(), arena.value().address(), kArena).isOk());
    for (uint64_t i = 0; i < kCount; ++i)
      ASSERT_EQ(x[i], sum * float(i)) << "step " << step;
  }
  EXPECT_EQ(device.launches().graphs(), graphs);
  EXPECT_EQ(device.launches().changedNodes(), changed);
  EXPECT_EQ(device.launchesSoFar(), said);
  EXPECT_LE(device.launches().hostBytes(), LaunchList::MostHostBytes);
}

TEST(CudaDevice, LaunchesThatRepeatAreAGraph) {
  // The first comes alone, the second makes the graph.
  runSteps(5, 0, 4, 3,
           "30: 24 in 4 CUDA graphs, where 3 were changed, and 6 one by one");
  runSteps(1, 0, 0, 0, "6: one by one");
  // Others in between, too few for a graph, are launched one by one.
  runSteps(4, 1, 3, 2,
           "28: 18 in 3 CUDA graphs, where 2 were changed, and 10 one by one");
  // Two orders are two graphs.
  runSteps(4, 5, 6, 2,
           "44: 33 in 6 CUDA graphs, where 2 were changed, and 11 one by one");
}

// More orders of kernels than are remembered, each as long as may be.
TEST(CudaDevice, LaunchesTakeNoMoreOfTheHostThanIsPlanned) {
  auto opened = CudaDevice::open(kModule, 0, kArena);
  ASSERT_TRUE(opened.isOk());
  CudaDevice &device = *opened.value();
  auto arena = device.allocate(kArena);
  std::vector<float> weights(kCount);
  const void *addresses[] = {weights.data()};
  auto frame = device.load(kModule, {addresses, {}});
  ASSERT_TRUE(frame.isOk());
  Closure closure = {arena.value().address(), frame.value().weights[0], 1};
  for (size_t order = 0; order < LaunchList::MostGraphs + 2; ++order)
    for (int twice = 0; twice < 2; ++twice) {
      for (size_t i = 0; i < LaunchList::MostLaunches - order; ++i)
        device.launch(0, &closure, 1);
      ASSERT_TRUE(device.wait().isOk());
    }
  EXPECT_GT(device.launches().hostBytes(), LaunchList::MostHostBytes / 4);
  EXPECT_LE(device.launches().hostBytes(), LaunchList::MostHostBytes);
}

TEST(CudaDevice, WithoutGraphsLaunchesComeOneByOne) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("HONE_PTX_GRAPHS", "refuse", 1);
        runSteps(3, 5, 0, 0,
                 "33: one by one, since the driver makes no CUDA graphs");
        _exit(testing::Test::HasFailure());
      },
      testing::ExitedWithCode(0), "");
}

/// Bytes of the device's memory that are not free.
static uint64_t keptBytes() {
  auto driver = CudaDriver::load();
  size_t free = 0, total = 0;
  EXPECT_EQ(driver.value().memoryInfo(&free, &total), cuda::kSuccess);
  return total - free;
}

/// In a process of its own: of a device whose kernels have `localBytes` of
/// their own, once it is open and after a launch.
static void expectKept(uint64_t localBytes, uint64_t bytes,
                       const char *limits = "keep") {
  EXPECT_EXIT(
      {
        setenv("HONE_PTX_LIMITS", limits, 1);
        std::string text = kText;
        if (localBytes)
          text.insert(text.find(".reg"),
                      ".local .b8 own[" + std::to_string(localBytes) + "];\n");
        const hone_module module =
            moduleOf(text.c_str(), "nvptx64-nvidia-cuda:sm_80");
        auto opened = CudaDevice::open(module, 0, kArena);
        EXPECT_TRUE(opened.isOk());
        EXPECT_EQ(keptBytes(), bytes);
        const Status status = runAll<CudaDevice>(module, 0, 3);
        EXPECT_TRUE(status.isOk()) << status.render();
        EXPECT_EQ(keptBytes(), bytes);
        _exit(testing::Test::HasFailure());
      },
      testing::ExitedWithCode(0), "");
}

TEST(CudaDevice, ContextsKeepTheStacksThatKernelsHave) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr uint64_t kThreads = 2048;
  expectKept(0, 0);
  expectKept(48, 48 * kThreads);
  expectKept(4096, 4096 * kThreads);
  // A driver's refusal is no error.
  expectKept(0, 1024 * kThreads, "refuse");
}

TEST(CudaDevice, EachFailureHasItsCode) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  expectError<CudaDevice>(
      kModule, "HONE_PTX_DEVICES", "0",
      "error.H1301.: libcuda.so.1: the driver found no device: no "
      "CUDA-capable device");
  expectError<CudaDevice>(
      kModule, "HONE_PTX_VERSION", "11040",
      "error.H1302.: the driver: is of CUDA 11.4 and the program's "
      "kernels need 12.0");
  expectError<CudaDevice>(
      kModule, "HONE_PTX_VERSION", "12000",
      "error.H1303.: --device: there is no device 1; there are 1", 1);
  expectError<CudaDevice>(
      kModule, "HONE_PTX_MEMORY", "20000",
      "error.H1304.: device 0 .PTX machine.: has 19.5 KiB of memory "
      "free and the plan needs 32.0 KiB");
  expectError<CudaDevice>(
      kModule, "HONE_PTX_REFUSE_ALLOCATION", "2",
      "error.H1304.: .*refused 16.0 KiB of the plan: out of memory");
  expectError<CudaDevice>(
      kModule, "HONE_PTX_CAPABILITY", "75",
      "error.H1305.: .*is an sm_75 and the program's kernels are for "
      "sm_80");
  expectError<CudaDevice>(
      moduleOf(".version 8.0\n.target sm_90a\n.address_size 64\n",
               "nvptx64-nvidia-cuda:sm_90a"),
      "HONE_PTX_CAPABILITY", "100",
      "error.H1305.: .*is an sm_100 and the program's kernels are for "
      "sm_90a alone\n  help: compile with target.cpu: sm_90, or take another");
  expectError<CudaDevice>(
      kModule, "HONE_PTX_LOSE_AT_LAUNCH", "2",
      "error.H1307.: .*stopped: unspecified launch failure");
  expectError<CudaDevice>(kModule, "HONE_PTX_STICK_AT_LAUNCH", "1",
                          "error.H1308.: .*has not finished its work");
  const hone_module bad = moduleOf(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n"
      "{\nfrobnicate;\n}\n",
      "nvptx64-nvidia-cuda:sm_80");
  expectError<CudaDevice>(
      bad, "HONE_PTX_VERSION", "12000",
      "error.H1306.: .*a PTX JIT compilation failed .*\n.*line 6: "
      "`frobnicate` is not executed");
  EXPECT_EXIT(
      {
        const Status status =
            runAll<CudaDevice>(kModule, 0, 1, /*isOutside=*/true);
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
