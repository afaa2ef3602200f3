//===- MetalDeviceTest.cpp - The runtime's Metal device on fibres ---------===//
//
// A module of two kernels, written by hand, on the Metal that this program
// finds beside it.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/DeviceCases.h"

#include "device/MetalDevice.h"

using namespace hone;
using namespace hone::rt;

namespace {

constexpr char kText[] = R"(#include <metal_stdlib>
using namespace metal;
struct scale_closure {
  device float *x;
  device float *w;
  float by;
};
[[kernel, max_total_threads_per_threadgroup(32)]] void
scale(constant scale_closure &closure [[buffer(0)]],
      uint thread_index [[thread_index_in_threadgroup]],
      uint group [[threadgroup_position_in_grid]]) {
  const uint at = group * 32 + thread_index;
  closure.x[at] = fma(closure.w[at], closure.by, closure.x[at]);
}
struct outside_closure {
  device float *x;
};
[[kernel, max_total_threads_per_threadgroup(32)]] void
outside(constant outside_closure &closure [[buffer(0)]],
        uint thread_index [[thread_index_in_threadgroup]],
        uint group [[threadgroup_position_in_grid]]) {
  if (thread_index == 3)
    simdgroup_barrier(mem_flags::mem_device);
}
)";

const hone_module kModule = moduleOf(kText, "metal");

} // namespace

TEST(MetalDevice, KernelsSeeWeightsAndTheirClosures) {
  const Status status = runAll<MetalDevice>(kModule, 0, 3);
  EXPECT_TRUE(status.isOk()) << status.render();
}

TEST(MetalDevice, CopiesInAreDoneWithTheirSource) {
  checkCopies<MetalDevice>(kModule);
}

TEST(MetalDevice, MemoryIsZeroAndNoPointer) {
  checkMemoryIsZeroAndNoPointer<MetalDevice>(kModule);
}

TEST(MetalDevice, ObserversAreToldOfEachKernel) {
  checkObservers<MetalDevice>(kModule);
}

TEST(MetalDevice, EachFailureHasItsCode) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto expect = [](const char *name, const char *value, const char *message,
                   int number = 0) {
    expectError<MetalDevice>(kModule, name, value, message, number);
  };
  expect("HONE_METAL_DEVICES", "0", "error.H1301.: Metal: it found no device");
  expect("HONE_METAL_LANGUAGE", "31",
         "error.H1302.: Metal: is older than 3.2, which the program's kernels "
         "need");
  expect("HONE_METAL_DEVICES", "2",
         "error.H1303.: --device: there is no device 2; there are 2", 2);
  expect("HONE_METAL_MEMORY", "20000",
         "error.H1304.: device 0 .fibres 0.: has 19.5 KiB of memory free and "
         "the plan needs 32.0 KiB");
  expect("HONE_METAL_MOST_BUFFER", "10000",
         "error.H1304.: .*refused 16.0 KiB of the plan: a buffer has at most "
         "9.8 KiB");
  expect("HONE_METAL_REFUSE_ALLOCATION", "2",
         "error.H1304.: .*refused 16.0 KiB of the plan: Metal gives no buffer");
  expect("HONE_METAL_FAMILY", "2", "error.H1305.: .*has no Metal 3");
  expect("HONE_METAL_LANES", "16",
         "error.H1305.: .*runs 16 lanes together and the program's kernels are "
         "for 32");
  expect("HONE_METAL_THREADS", "31",
         "error.H1306.: .*: Metal refused the program.s kernels: kernel scale: "
         "it runs at most 31 threads together, "
         "and 32 are needed");
  expect("HONE_METAL_REFUSE_COMMANDS", "1",
         "error.H1307.: .*stopped: Metal gives no command buffer");
  expect("HONE_METAL_LOSE_AT_LAUNCH", "2",
         "error.H1307.: .*stopped: Caused GPU Timeout Error");
  expect("HONE_METAL_STICK_AT_LAUNCH", "1",
         "error.H1308.: .*has not finished its work");
  const hone_module bad =
      moduleOf("#include <metal_stdlib>\nfrobnicate;\n", "metal");
  expectError<MetalDevice>(bad, "HONE_METAL_DEVICES", "1",
                           "error.H1306.: .*\n*.*program.metal:2.*frobnicate");
  EXPECT_EXIT(
      {
        const Status status =
            runAll<MetalDevice>(kModule, 0, 1, /*isOutside=*/true);
        fputs(status.render().c_str(), stderr);
        _exit(status.isOk() ? 0 : 1);
      },
      testing::ExitedWithCode(1),
      "error.H1307.: .*outside, workgroup 0: threads wait for each other");
}

TEST(MetalDevice, DevicesAreListed) {
  auto listed = listMetalDevices();
  ASSERT_TRUE(listed.isOk());
  EXPECT_EQ(listed.value(),
            "Metal 3.2 or later\ndevice 0  Metal 3  16.0 GiB  fibres 0\n");
}
