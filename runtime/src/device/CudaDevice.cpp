//===- CudaDevice.cpp - A GPU of NVIDIA's ---------------------------------===//

#include "device/CudaDevice.h"

#include "base/ByteCount.h"
#include "base/MappedFile.h"
#include "base/Sha256.h"
#include "platform/System.h"

#include <cstdlib>
#include <cstring>

namespace hone::rt {

using namespace cuda;

/// Shared memory of a workgroup that no kernel has to ask for.
static constexpr uint32_t OrdinaryShared = 48 * 1024;
/// Shows the programs that use a device.
static constexpr const char *Tool = "nvidia-smi";
/// Launches between which nobody waits only to know their times.
static constexpr size_t TimedLaunches = 512;

/// CUDA's version that knows the text's: 7.n came with 11.n, 8.n with 12.n.
static int neededVersion(const hone_module &module) {
  const char *at =
      module.device_code ? strstr(module.device_code, ".version ") : nullptr;
  if (!at)
    return 0;
  char *end = nullptr;
  const long major = strtol(at + strlen(".version "), &end, 10);
  const long minor = *end == '.' ? strtol(end + 1, nullptr, 10) : 0;
  return int(1000 * (major + 4) + 10 * minor);
}

/// The devices that run "nvptx64-nvidia-cuda:sm_80".
struct NeededCapability {
  int least = 0;       ///< 80
  bool isOnly = false; ///< of "sm_90a", which later ones do not run
  std::string name;    ///< "sm_80"
};

static NeededCapability neededCapability(const hone_module &module) {
  const char *at =
      module.device_target ? strstr(module.device_target, "sm_") : nullptr;
  if (!at)
    return {};
  char *end = nullptr;
  const long least = strtol(at + strlen("sm_"), &end, 10);
  return {int(least), *end == 'a', at};
}

Result<std::unique_ptr<CudaDevice>>
CudaDevice::open(const hone_module &module, int number, RoomNeeded room) {
  HONE_ASSIGN(CudaDriver driver, CudaDriver::load());
  if (const int needed = neededVersion(module); driver.version < needed)
    return Status(ErrorCode::OldDriver, "the driver",
                  "is of CUDA " + describeCudaVersion(driver.version) +
                      " and the program's kernels need " +
                      describeCudaVersion(needed),
                  "install a newer driver");
  HONE_ASSIGN(std::vector<CudaDescription> devices, driver.devices());
  if (number < 0 || size_t(number) >= devices.size())
    return DeviceName::missing(number, devices.size());
  const CudaDescription &description = devices[size_t(number)];
  if (const NeededCapability needed = neededCapability(module);
      description.capability < needed.least ||
      (needed.isOnly && description.capability > needed.least)) {
    const bool isNewer = description.capability > needed.least;
    return Status(
        ErrorCode::OldDevice, description.name.place(),
        "is an sm_" + std::to_string(description.capability) +
            " and the program's kernels are for " + needed.name +
            (needed.isOnly ? " alone" : ""),
        // Of sm_89 that is sm_80: honec knows which there are.
        (isNewer ? "compile with target.cpu: sm_" + std::to_string(needed.least)
                 : "compile with the newest target.cpu up to sm_" +
                       std::to_string(description.capability) +
                       ", or for the processor if there is none") +
            ", or take another --device");
  }

  std::unique_ptr<CudaDevice> device(new CudaDevice(driver, description));
  DeviceNumber handle = 0;
  device->note(driver.device(&handle, number));
  device->note(driver.retainContext(&device->context, handle));
  if (device->failure == kSuccess)
    device->note(driver.setContext(device->context));
  if (device->failure == kSuccess)
    driver.reserveLeast();
  if (device->failure == kSuccess)
    device->note(driver.createStream(&device->stream, kNonBlocking));
  if (device->failure == kSuccess)
    device->note(driver.createEvent(&device->reached, kNoTiming));
  if (device->failure == kSuccess)
    device->note(device->buffers.create());
  size_t free = 0, total = 0;
  if (device->failure == kSuccess)
    device->note(driver.memoryInfo(&free, &total));
  if (const Code code = device->failure; code != kSuccess)
    return description.name.notOpened(code == kOutOfMemory,
                                      driver.describe(code), Tool);
  if (const uint64_t needed = room.arenaBytes + DeviceWeights::bytesOf(module);
      free < needed)
    return description.name.tooSmall(free, needed, room.smallestPlan);
  // Here and not in load(): a text that is refused has to be known before a run
  // writes anything.
  HONE_TRY(device->loadCode(module));
  return device;
}

CudaDevice::~CudaDevice() {
  // Of a device that does not answer nothing can be given back: the driver
  // would wait for it.
  if (buffers.isStuck()) {
    weights.abandon();
    list.abandon();
    return;
  }
  list.clear();
  weights.release();
  for (Timed &each : timed) {
    (void)driver.destroyEvent(each.before);
    (void)driver.destroyEvent(each.after);
  }
  if (code)
    (void)driver.unload(code);
  if (reached)
    (void)driver.destroyEvent(reached);
  if (stream)
    (void)driver.destroyStream(stream);
}

Status CudaDevice::failed() const {
  if (buffers.isStuck())
    return description.name.stuck(Tool);
  return failure == kSuccess
             ? Status::ok()
             : description.name.stopped(driver.describe(failure));
}

Result<DeviceMemory> CudaDevice::allocate(uint64_t bytes) {
  if (bytes == 0)
    return DeviceMemory();
  Address address = 0;
  if (Code code = driver.allocate(&address, bytes); code != kSuccess)
    return description.name.refused(bytes, driver.describe(code));
  allocated += bytes;
  DeviceMemory memory(*this, reinterpret_cast<char *>(address), bytes);
  flush();
  note(driver.fill(address, 0, bytes, stream));
  HONE_TRY(failed());
  return memory;
}

void CudaDevice::free(char *address, uint64_t bytes) {
  if (buffers.isStuck())
    return;
  allocated -= bytes;
  (void)driver.free(reinterpret_cast<Address>(address));
}

Result<hone_frame> CudaDevice::load(const hone_module &given,
                                    const MappedWeights &mapped) {
  module = &given;
  HONE_TRY(weights.load(*this, given, mapped));
  HONE_TRY(failed());
  hone_frame frame = {};
  frame.device = handle();
  frame.weights = weights.table();
  return frame;
}

/// Where ptxas's code of the text may be.
static std::string assembledCodePath(const hone_module &module,
                                     int capability) {
  const std::string program = platform::programPath();
  return program.substr(0, program.rfind('/') + 1) +
         assembledCodeName(module.device_code, capability);
}

Status CudaDevice::loadCode(const hone_module &module) {
  auto refused = [&](const std::string &why) {
    return description.name.codeRefused(
        "the driver, of CUDA " + describeCudaVersion(driver.version) + ",",
        why);
  };
  char log[4096] = "";
  LoadOption options[] = {kErrorLog, kErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  Result<MappedFile> assembled =
      MappedFile::open(assembledCodePath(module, description.capability));
  const bool isLoaded =
      assembled.isOk() && driver.loadCode(&code, assembled.value().data(), 0,
                                          nullptr, nullptr) == kSuccess;
  if (Code result = isLoaded ? kSuccess
                             : driver.loadCode(&code, module.device_code, 2,
                                               options, values);
      result != kSuccess)
    return refused(driver.describe(result) + (*log ? "\n" : "") + log);
  uint32_t fields = 0;
  int localBytes = 0; // of a thread, at most
  for (uint32_t i = 0; i < module.kernel_count; ++i) {
    const hone_kernel &kernel = module.kernels[i];
    fields = std::max(fields, kernel.field_count);
    functions.push_back(nullptr);
    Code result = driver.function(&functions.back(), code, kernel.symbol);
    if (result == kSuccess && kernel.shared_bytes > OrdinaryShared)
      result = driver.setFunction(functions.back(), kMaxDynamicShared,
                                  int(kernel.shared_bytes));
    int local = 0;
    if (result == kSuccess)
      result = driver.functionAttribute(&local, kLocalBytes, functions.back());
    localBytes = std::max(localBytes, local);
    if (result != kSuccess)
      return refused(std::string("kernel ") + kernel.symbol + ": " +
                     driver.describe(result));
  }
  // Else the first launch that needs it would wait for those that run.
  if (localBytes > 0)
    (void)driver.setLimit(kStackBytes, size_t(localBytes));
  arguments.resize(fields);
  list.use(module, functions);
  return Status::ok();
}

void CudaDevice::flush() {
  if (failure == kSuccess)
    note(list.flush(stream));
}

void CudaDevice::copyIn(char *to, const void *from, uint64_t bytes) {
  flush();
  if (failure == kSuccess)
    note(buffers.copyIn(reinterpret_cast<Address>(to),
                        static_cast<const char *>(from), bytes, stream));
}

Status CudaDevice::copyOut(void *to, const char *from, uint64_t bytes) {
  flush();
  char *out = static_cast<char *>(to);
  while (bytes && failure == kSuccess) {
    const uint64_t part = std::min(bytes, UploadBuffers::ReadBackBytes);
    note(driver.copyOut(buffers.readBack(), reinterpret_cast<Address>(from),
                        part, stream));
    HONE_TRY(wait());
    memcpy(out, buffers.readBack(), part);
    out += part;
    from += part;
    bytes -= part;
  }
  return failed();
}

Status CudaDevice::copyAllOut(const std::vector<CopyOut> &copies) {
  uint64_t bytes = 0;
  for (const CopyOut &each : copies)
    bytes += each.bytes;
  if (bytes > UploadBuffers::ReadBackBytes)
    return Device::copyAllOut(copies);
  flush();
  char *landing = buffers.readBack();
  for (const CopyOut &each : copies) {
    if (failure == kSuccess)
      note(driver.copyOut(landing, reinterpret_cast<Address>(each.from),
                          each.bytes, stream));
    landing += each.bytes;
  }
  HONE_TRY(wait());
  const char *landed = buffers.readBack();
  for (const CopyOut &each : copies) {
    memcpy(each.to, landed, each.bytes);
    landed += each.bytes;
  }
  return Status::ok();
}

void CudaDevice::copy(char *to, const char *from, uint64_t bytes) {
  flush();
  if (failure != kSuccess || bytes == 0 || to == from)
    return;
  // The driver promises nothing where both ends overlap: then in pieces as long
  // as the distance, from the end that is not overwritten.
  const uint64_t distance =
      to > from ? uint64_t(to - from) : uint64_t(from - to);
  const uint64_t piece = std::min(bytes, distance);
  const uint64_t pieces = (bytes + piece - 1) / piece;
  for (uint64_t i = 0; i < pieces && failure == kSuccess; ++i) {
    const uint64_t at = (to > from ? pieces - 1 - i : i) * piece;
    note(driver.copy(reinterpret_cast<Address>(to + at),
                     reinterpret_cast<Address>(from + at),
                     std::min(piece, bytes - at), stream));
  }
}

void CudaDevice::launch(uint32_t number, void *closure, int64_t count) {
  if (failure != kSuccess || count <= 0)
    return;
  if (!observer) {
    if (!list.hasRoom(number))
      flush();
    return list.add(number, closure, unsigned(count));
  }
  const hone_kernel &kernel = module->kernels[number];
  for (uint32_t i = 0; i < kernel.field_count; ++i)
    arguments[i] = static_cast<char *>(closure) + kernel.fields[i].offset;
  if (timedCount == timed.size())
    note(wait().isOk() ? kSuccess : kLaunchFailed);
  if (failure != kSuccess)
    return;
  Timed &times = timed[timedCount++];
  ++timedLaunches;
  times.kernel = number;
  note(driver.record(times.before, stream));
  note(driver.launch(functions[number], unsigned(count), 1, 1, kernel.threads,
                     1, 1, kernel.shared_bytes, stream, arguments.data(),
                     nullptr));
  note(driver.record(times.after, stream));
}

void CudaDevice::observe(KernelObserver *given) {
  flush();
  if (observer)
    (void)wait(); // reports the launches that have run
  observer = given;
  while (observer && timed.size() < TimedLaunches && failure == kSuccess) {
    timed.emplace_back();
    note(driver.createEvent(&timed.back().before, 0));
    note(driver.createEvent(&timed.back().after, 0));
  }
}

void CudaDevice::reportTimes() {
  for (size_t i = 0; i < timedCount; ++i) {
    float milliseconds = 0;
    note(driver.elapsed(&milliseconds, timed[i].before, timed[i].after));
    if (observer)
      observer->ran(timed[i].kernel, double(milliseconds) / 1000);
  }
  timedCount = 0;
}

Status CudaDevice::wait() {
  flush();
  ++waited;
  if (failure == kSuccess)
    note(driver.record(reached, stream));
  if (failure == kSuccess)
    note(buffers.wait(reached));
  if (failure == kSuccess)
    reportTimes();
  return failed();
}

} // namespace hone::rt
