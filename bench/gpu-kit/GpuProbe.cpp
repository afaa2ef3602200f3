//===- GpuProbe.cpp - Facts and rates of a device and its driver ----------===//
//
// gpu-probe [--device N] driver   fails unless programs can run on the device
// gpu-probe [--device N] device   a line of JSON: names, versions, rates
// gpu-probe [--device N] context  a line of JSON: what a context takes of the
//                                 device's memory, with the stack that drivers
//                                 give each thread and without
// gpu-probe [--device N] watch    prints the bytes that are free whenever they
//                                 are fewer than ever, until it is ended
//
// Exit codes: 0 done, 2 wrong command line, 3 no driver, an old one, or no such
// device, 1 the device failed.
//
//===----------------------------------------------------------------------===//

#include "base/Json.h"
#include "device/CudaDriver.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

using namespace hone::rt;
using namespace hone::rt::cuda;

/// The oldest driver that reads the text of programs for sm_90a: PTX 8.0.
static constexpr int kNeededVersion = 12000;

static const char kEmptyKernel[] = ".version 7.0\n.target sm_75\n"
                                   ".address_size 64\n"
                                   ".visible .entry empty()\n{\nret;\n}\n";

namespace {

struct Opened {
  CudaDriver driver;
  CudaDescription device;
  Stream *stream = nullptr;
};

} // namespace

static Status failed(const CudaDriver &driver, Code code, const char *what) {
  return Status(ErrorCode::DeviceFailed, what, driver.describe(code),
                "see nvidia-smi");
}

#define TRY_DRIVER(call, what)                                                 \
  if (Code result = (call); result != kSuccess)                                \
    return failed(driver, result, what);

static Result<Opened> openDevice(int number) {
  Opened opened;
  HONE_ASSIGN(opened.driver, CudaDriver::load());
  const CudaDriver &driver = opened.driver;
  if (driver.version < kNeededVersion)
    return Status(ErrorCode::OldDriver, "the driver",
                  "is of CUDA " + describeCudaVersion(driver.version) +
                      " and the kit needs " +
                      describeCudaVersion(kNeededVersion),
                  "install a newer driver");
  HONE_ASSIGN(std::vector<CudaDescription> devices, driver.devices());
  if (size_t(number) >= devices.size())
    return Status(ErrorCode::NoSuchDevice, "--device",
                  "there is no device " + std::to_string(number) +
                      "; there are " + std::to_string(devices.size()) +
                      ", counted from 0",
                  "see nvidia-smi");
  opened.device = devices[size_t(number)];
  DeviceNumber device = 0;
  Context *context = nullptr;
  TRY_DRIVER(driver.device(&device, number), "the device");
  TRY_DRIVER(driver.retainContext(&context, device), "the device");
  TRY_DRIVER(driver.setContext(context), "the device");
  TRY_DRIVER(driver.createStream(&opened.stream, kNonBlocking), "the device");
  return opened;
}

/// Seconds of `work` and of the launches that it queued, the least of three.
template <typename Work>
static Result<double> timed(const Opened &opened, Work work) {
  const CudaDriver &driver = opened.driver;
  double least = 1e30;
  for (int turn = 0; turn < 3; ++turn) {
    TRY_DRIVER(driver.synchronize(opened.stream), "waiting");
    const auto start = std::chrono::steady_clock::now();
    TRY_DRIVER(work(), "what is measured");
    TRY_DRIVER(driver.synchronize(opened.stream), "waiting");
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    least = std::min(least, took.count());
  }
  return least;
}

static Result<Function *> loadEmptyKernel(const CudaDriver &driver) {
  LoadedCode *code = nullptr;
  Function *empty = nullptr;
  TRY_DRIVER(driver.loadCode(&code, kEmptyKernel, 0, nullptr, nullptr),
             "a kernel");
  TRY_DRIVER(driver.function(&empty, code, "empty"), "a kernel");
  return empty;
}

static Code launch(const Opened &opened, Function *empty, int count) {
  Code first = kSuccess;
  for (int i = 0; i < count && first == kSuccess; ++i)
    first = opened.driver.launch(empty, 1, 1, 1, 32, 1, 1, 0, opened.stream,
                                 nullptr, nullptr);
  return first;
}

static Status probe(const Opened &opened) {
  const CudaDriver &driver = opened.driver;
  size_t free = 0, total = 0;
  TRY_DRIVER(driver.memoryInfo(&free, &total), "memory");

  // Far beyond the cache where there is room.
  const uint64_t bytes = std::min<uint64_t>(2ull << 30, free / 8),
                 hostBytes = std::min<uint64_t>(256 << 20, bytes);
  Address from = 0, to = 0;
  void *host = nullptr;
  TRY_DRIVER(driver.allocate(&from, bytes), "memory");
  TRY_DRIVER(driver.allocate(&to, bytes), "memory");
  TRY_DRIVER(driver.allocateHost(&host, hostBytes, 0), "pinned memory");
  memset(host, 1, hostBytes);
  TRY_DRIVER(driver.fill(from, 1, bytes, opened.stream), "memory");
  HONE_ASSIGN(const double copy, timed(opened, [&] {
                return driver.copy(to, from, bytes, opened.stream);
              }));
  HONE_ASSIGN(const double in, timed(opened, [&] {
                return driver.copyIn(to, host, hostBytes, opened.stream);
              }));
  HONE_ASSIGN(const double out, timed(opened, [&] {
                return driver.copyOut(host, to, hostBytes, opened.stream);
              }));

  constexpr int kLaunches = 2000;
  HONE_ASSIGN(Function *const empty, loadEmptyKernel(driver));
  HONE_ASSIGN(const double launches,
              timed(opened, [&] { return launch(opened, empty, kLaunches); }));
  HONE_ASSIGN(const double round,
              timed(opened, [&] { return launch(opened, empty, 1); }));
  (void)driver.freeHost(host);
  (void)driver.free(from);
  (void)driver.free(to);

  std::string name = jsonString(opened.device.name.name);
  printf("{\"name\": %s, \"capability\": %d, \"multiprocessors\": %d, "
         "\"driver\": \"CUDA %s\", \"memory_bytes\": %llu, "
         "\"free_bytes\": %llu, \"copy_gigabytes_per_second\": %.4g, "
         "\"to_device_gigabytes_per_second\": %.4g, "
         "\"from_device_gigabytes_per_second\": %.4g, "
         "\"launch_microseconds\": %.3g, "
         "\"launch_and_wait_microseconds\": %.3g}\n",
         name.c_str(), opened.device.capability, opened.device.multiprocessors,
         describeCudaVersion(driver.version).c_str(),
         static_cast<unsigned long long>(total),
         static_cast<unsigned long long>(free), 2 * double(bytes) / copy / 1e9,
         double(hostBytes) / in / 1e9, double(hostBytes) / out / 1e9,
         launches / kLaunches * 1e6, round * 1e6);
  return Status::ok();
}

/// The memory of a context, with everything else that is not free: nobody else
/// is to use the device.
struct Taken {
  size_t stackBytes = 0;
  double mebibytes = 0;
};

static Result<Taken> taken(const CudaDriver &driver) {
  Taken taken;
  size_t free = 0, total = 0;
  TRY_DRIVER(driver.limit(&taken.stackBytes, kStackBytes), "the stack's size");
  TRY_DRIVER(driver.memoryInfo(&free, &total), "memory");
  taken.mebibytes = double(total - free) / (1 << 20);
  return taken;
}

static Status probeContext(const Opened &opened) {
  const CudaDriver &driver = opened.driver;
  HONE_ASSIGN(const Taken first, taken(driver));
  driver.reserveLeast();
  HONE_ASSIGN(const Taken least, taken(driver));
  // Whether a driver reserves at once or for the first launch.
  HONE_ASSIGN(Function *const empty, loadEmptyKernel(driver));
  auto launched = [&]() -> Result<Taken> {
    TRY_DRIVER(launch(opened, empty, 1), "a launch");
    TRY_DRIVER(driver.synchronize(opened.stream), "waiting");
    return taken(driver);
  };
  HONE_ASSIGN(const Taken leastLaunched, launched());
  (void)driver.setLimit(kStackBytes, first.stackBytes);
  HONE_ASSIGN(const Taken againLaunched, launched());
  printf("{\"stack_bytes\": %zu, \"context_mebibytes\": %.1f, "
         "\"least_stack_bytes\": %zu, \"least_context_mebibytes\": %.1f, "
         "\"launched_least_mebibytes\": %.1f, "
         "\"launched_with_stack_mebibytes\": %.1f}\n",
         first.stackBytes, first.mebibytes, least.stackBytes, least.mebibytes,
         leastLaunched.mebibytes, againLaunched.mebibytes);
  return Status::ok();
}

static Status watch(const Opened &opened) {
  const CudaDriver &driver = opened.driver;
  size_t least = ~size_t(0);
  for (;;) {
    size_t free = 0, total = 0;
    TRY_DRIVER(driver.memoryInfo(&free, &total), "memory");
    if (free < least && printf("%zu\n", least = free) < 0)
      return Status::ok();
    fflush(stdout);
    usleep(5000);
  }
}

int main(int argc, char **argv) {
  int at = 1, device = 0;
  if (argc > 3 && !strcmp(argv[1], "--device")) {
    char *end = nullptr;
    device = int(strtol(argv[2], &end, 10));
    at = *end || !*argv[2] || device < 0 ? argc : 3;
  }
  const std::string what = at + 1 == argc ? argv[at] : "";
  if (what != "driver" && what != "device" && what != "context" &&
      what != "watch") {
    fprintf(
        stderr,
        "usage: gpu-probe [--device N] driver | device | context | watch\n");
    return 2;
  }
  Result<Opened> opened = openDevice(device);
  Status status = opened.isOk() ? Status::ok() : opened.status();
  if (status.isOk() && what == "device")
    status = probe(opened.value());
  if (status.isOk() && what == "context")
    status = probeContext(opened.value());
  if (status.isOk() && what == "watch")
    status = watch(opened.value());
  fputs(status.render().c_str(), stderr);
  return status.isOk() ? 0 : opened.isOk() ? 1 : 3;
}
