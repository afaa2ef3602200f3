//===- MetalDevice.cpp - A GPU of Apple's ---------------------------------===//

#include "device/MetalDevice.h"

#include "base/ByteCount.h"
#include "device/Patience.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

using namespace metal;

/// Shows the programs that use a device.
static constexpr const char *Tool = "Activity Monitor's GPU history";
/// Launches in a command buffer, after which the device may begin with them.
static constexpr unsigned LaunchesAtOnce = 128;
/// Command buffers that the device may have: a queue has room for 64.
static constexpr size_t MostRunning = 16;
/// Lanes that shuffles are written for.
static constexpr UInteger Lanes = 32;

Result<std::unique_ptr<MetalDevice>>
MetalDevice::open(const hone_module &module, int number, RoomNeeded room) {
  HONE_ASSIGN(MetalDriver driver, MetalDriver::load());
  HONE_ASSIGN(std::vector<MetalDescription> devices, driver.devices());
  if (number < 0 || size_t(number) >= devices.size())
    return DeviceName::missing(number, devices.size());
  const MetalDescription &description = devices[size_t(number)];
  if (!description.isMetal3)
    return Status(ErrorCode::OldDevice, description.name.place(),
                  "has no Metal 3, and the program's kernels follow addresses",
                  "take another --device, or a Mac with a chip of Apple's");
  std::unique_ptr<MetalDevice> device(new MetalDevice(driver, description));
  const uint64_t weights = DeviceWeights::bytesOf(module);
  const uint64_t used = driver.allocatedSize(description.device);
  const uint64_t free = description.bytes - std::min(description.bytes, used);
  if (free < room.arenaBytes + weights)
    return description.name.tooSmall(free, room.arenaBytes + weights,
                                     room.smallestPlan);
  // Each is one buffer.
  const uint64_t most = driver.mostBufferBytes(description.device);
  if (most < std::max(room.arenaBytes, weights))
    return description.name.refused(std::max(room.arenaBytes, weights),
                                    "a buffer has at most " +
                                        describeBytes(most));
  device->queue = driver.newQueue(description.device);
  if (!device->queue)
    return description.name.notOpened(/*isFull=*/false,
                                      "it gives no command queue", Tool);
  // Here and not in load(): a text that is refused has to be known before a run
  // writes anything.
  HONE_TRY(device->loadCode(module));
  return device;
}

MetalDevice::~MetalDevice() {
  // Of a device that does not answer nothing can be given back.
  if (isStuck) {
    weights.abandon();
    return;
  }
  (void)wait();
  weights.release();
  for (Id pipeline : pipelines)
    driver.release(pipeline);
  if (queue)
    driver.release(queue);
}

Status MetalDevice::failed() const {
  if (isStuck)
    return description.name.stuck(Tool);
  return failure.empty() ? Status::ok() : description.name.stopped(failure);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

uint64_t MetalDevice::allocatedBytes() const {
  uint64_t bytes = 0;
  for (const Allocation &allocation : allocations)
    bytes += allocation.bytes;
  return bytes;
}

Result<DeviceMemory> MetalDevice::allocate(uint64_t bytes) {
  if (bytes == 0)
    return DeviceMemory();
  Allocation allocation;
  allocation.buffer =
      driver.newBuffer(description.device, bytes, kStorageModeShared);
  if (!allocation.buffer)
    return description.name.refused(bytes, "Metal gives no buffer");
  allocation.address =
      reinterpret_cast<char *>(driver.gpuAddress(allocation.buffer));
  allocation.contents = static_cast<char *>(driver.contents(allocation.buffer));
  allocation.bytes = bytes;
  memset(allocation.contents, 0, bytes);
  allocations.push_back(allocation);
  return DeviceMemory(*this, allocation.address, bytes);
}

void MetalDevice::free(char *address, uint64_t) {
  if (isStuck)
    return;
  (void)wait();
  auto found = std::find_if(
      allocations.begin(), allocations.end(),
      [&](const Allocation &each) { return each.address == address; });
  driver.release(found->buffer);
  allocations.erase(found);
}

char *MetalDevice::contentsOf(const char *address) {
  for (const Allocation &each : allocations)
    if (address >= each.address && address < each.address + each.bytes)
      return each.contents + (address - each.address);
  return nullptr;
}

void MetalDevice::copyIn(char *to, const void *from, uint64_t bytes) {
  if (bytes && wait().isOk())
    memcpy(contentsOf(to), from, bytes);
}

Status MetalDevice::copyOut(void *to, const char *from, uint64_t bytes) {
  HONE_TRY(wait());
  if (bytes)
    memcpy(to, contentsOf(from), bytes);
  return Status::ok();
}

void MetalDevice::copy(char *to, const char *from, uint64_t bytes) {
  if (bytes && wait().isOk())
    memmove(contentsOf(to), contentsOf(from), bytes);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Result<hone_frame> MetalDevice::load(const hone_module &given,
                                     const MappedWeights &mapped) {
  module = &given;
  HONE_TRY(weights.load(*this, given, mapped));
  HONE_TRY(failed());
  hone_frame frame = {};
  frame.device = handle();
  frame.weights = weights.table();
  return frame;
}

Status MetalDevice::loadCode(const hone_module &given) {
  const AutoreleasePool pool(driver);
  const Id options =
      driver.init(driver.alloc(driver.classOf("MTLCompileOptions")));
  driver.setMathMode(options, kMathModeSafe);
  driver.setLanguage(options, kLanguage32);
  Id why = nullptr;
  const Id library = driver.newLibrary(
      description.device,
      driver.stringOf(driver.classOf("NSString"), given.device_code), options,
      &why);
  driver.release(options);
  if (!library)
    return description.name.codeRefused("Metal", driver.describe(why));
  Status status = Status::ok();
  for (uint32_t i = 0; i < given.kernel_count && status.isOk(); ++i)
    status = loadKernel(library, given.kernels[i]);
  driver.release(library);
  return status;
}

Status MetalDevice::loadKernel(Id library, const hone_kernel &kernel) {
  const std::string what = std::string("kernel ") + kernel.symbol + ": ";
  const Id function = driver.newFunction(
      library, driver.stringOf(driver.classOf("NSString"), kernel.symbol));
  if (!function)
    return description.name.codeRefused("Metal", what + "it is not there");
  Id why = nullptr;
  const Id pipeline = driver.newPipeline(description.device, function, &why);
  driver.release(function);
  if (!pipeline)
    return description.name.codeRefused("Metal", what + driver.describe(why));
  pipelines.push_back(pipeline);
  // As long as a struct of these fields is, which ends with the largest one's
  // alignment.
  uint32_t bytes = 0, alignment = 1;
  for (uint32_t i = 0; i < kernel.field_count; ++i) {
    bytes = std::max(bytes, kernel.fields[i].offset + kernel.fields[i].bytes);
    alignment = std::max(alignment, kernel.fields[i].bytes);
  }
  closureBytes.push_back((bytes + alignment - 1) / alignment * alignment);
  const UInteger threads = driver.mostThreads(pipeline);
  if (threads < kernel.threads)
    return description.name.codeRefused(
        "Metal", what + "it runs at most " + std::to_string(threads) +
                     " threads together, and " +
                     std::to_string(kernel.threads) + " are needed");
  if (const UInteger lanes = driver.lanes(pipeline); lanes != Lanes)
    return Status(ErrorCode::OldDevice, description.name.place(),
                  "runs " + std::to_string(lanes) +
                      " lanes together and the program's kernels are for " +
                      std::to_string(Lanes),
                  "take another --device, or a Mac with a chip of Apple's");
  return Status::ok();
}

void MetalDevice::beginCommands() {
  // Both are their queue's until they are retained.
  const AutoreleasePool pool(driver);
  commands = driver.commandBuffer(queue);
  encoder = commands ? driver.computeEncoder(commands) : nullptr;
  // Nobody would ever finish work that is not there.
  if (!encoder) {
    commands = nullptr;
    failure = "Metal gives no command buffer";
    return;
  }
  (void)driver.retain(commands);
  (void)driver.retain(encoder);
  for (const Allocation &each : allocations)
    driver.useResource(encoder, each.buffer, kUsageReadWrite);
}

void MetalDevice::commitCommands(uint32_t kernel) {
  if (!commands)
    return;
  driver.endEncoding(encoder);
  driver.release(encoder);
  driver.commit(commands);
  running.push_back({commands, kernel});
  commands = encoder = nullptr;
  encoded = 0;
}

void MetalDevice::launch(uint32_t number, void *closure, int64_t count) {
  if (!failure.empty() || isStuck || count <= 0)
    return;
  if (!commands)
    beginCommands();
  if (!commands)
    return;
  const hone_kernel &kernel = module->kernels[number];
  driver.setPipeline(encoder, pipelines[number]);
  if (closureBytes[number])
    driver.setBytes(encoder, closure, closureBytes[number], 0);
  if (kernel.shared_bytes)
    driver.setShared(encoder, kernel.shared_bytes, 0);
  driver.dispatch(encoder, {UInteger(count), 1, 1}, {kernel.threads, 1, 1});
  // A kernel's addresses are not known to Metal, which would order them else.
  driver.barrier(encoder, kScopeBuffers);
  if (++encoded == LaunchesAtOnce || observer) {
    commitCommands(number);
    (void)finishCommands(MostRunning);
  }
}

bool MetalDevice::finishCommands(size_t most) {
  while (running.size() > most && !isStuck) {
    const Commands &oldest = running.front();
    UInteger status = 0;
    isStuck = !waitPatiently([&] {
      status = driver.status(oldest.buffer);
      return status >= kStatusCompleted;
    });
    if (isStuck)
      break;
    if (status == kStatusError && failure.empty()) {
      const AutoreleasePool pool(driver);
      failure = driver.describe(driver.error(oldest.buffer));
    }
    if (observer && failure.empty())
      observer->ran(oldest.kernel, driver.endTime(oldest.buffer) -
                                       driver.startTime(oldest.buffer));
    driver.release(oldest.buffer);
    running.pop_front();
  }
  return failure.empty() && !isStuck;
}

void MetalDevice::observe(KernelObserver *given) {
  (void)wait(); // reports the launches that have run, if it can
  observer = given;
}

Status MetalDevice::wait() {
  commitCommands(0);
  (void)finishCommands(0);
  return failed();
}

} // namespace hone::rt
