//===- CudaDriver.cpp - NVIDIA's driver, if it is there -------------------===//

#include "device/CudaDriver.h"

#include "base/ByteCount.h"
#include "base/Sha256.h"
#include "platform/System.h"

namespace hone::rt {

using namespace cuda;

static constexpr const char *Library = "libcuda.so.1";

static Status noDriver(const std::string &why, const std::string &remedy) {
  return Status(ErrorCode::NoDriver, Library, why,
                remedy + ", or compile for the processor: leave out "
                         "target.triple");
}

Result<CudaDriver> CudaDriver::load() {
  std::string reason;
  void *library = platform::openLibrary(Library, reason);
  if (!library)
    return noDriver("the driver cannot be loaded: " + reason,
                    "install NVIDIA's driver");
  CudaDriver driver;
  const char *missing = nullptr;
#define HONE_CUDA_LOAD(name, symbol, parameters)                               \
  driver.name = reinterpret_cast<Code(*) parameters>(                          \
      platform::findSymbol(library, #symbol));                                 \
  if (!driver.name)                                                            \
    missing = #symbol;
  HONE_CUDA_FUNCTIONS(HONE_CUDA_LOAD)
#undef HONE_CUDA_LOAD
  // It answers before init, too.
  if (driver.driverVersion)
    (void)driver.driverVersion(&driver.version);
  if (missing)
    return Status(ErrorCode::OldDriver, Library,
                  "the driver, of CUDA " + describeCudaVersion(driver.version) +
                      ", has no " + missing +
                      ", which those of CUDA 11.4 and later have",
                  "install a newer driver");
  if (Code code = driver.init(0); code != kSuccess)
    return noDriver("the driver found no device: " + driver.describe(code),
                    "see whether nvidia-smi lists one (a container must be "
                    "given it: --gpus all)");
  return driver;
}

std::string assembledCodeName(std::string_view text, int capability) {
  return Sha256::hex(text).substr(0, 16) + ".sm_" + std::to_string(capability) +
         ".cubin";
}

void CudaDriver::reserveLeast() const {
  for (Limit each : {kStackBytes, kPrintfBytes, kHeapBytes})
    (void)setLimit(each, 0);
}

std::string CudaDriver::describe(Code code) const {
  const char *name = nullptr, *words = nullptr;
  (void)errorName(code, &name);
  (void)errorString(code, &words);
  if (!name || !words)
    return "error " + std::to_string(int(code));
  return std::string(words) + " (" + name + ")";
}

Result<std::vector<CudaDescription>> CudaDriver::devices() const {
  int count = 0;
  std::vector<CudaDescription> found;
  Code code = deviceCount(&count);
  for (int number = 0; number < count && code == kSuccess; ++number) {
    CudaDescription description;
    DeviceNumber handle = 0;
    char name[128] = "";
    int major = 0, minor = 0;
    size_t bytes = 0;
    for (Code each :
         {device(&handle, number), deviceName(name, sizeof(name) - 1, handle),
          deviceAttribute(&major, kCapabilityMajor, handle),
          deviceAttribute(&minor, kCapabilityMinor, handle),
          deviceAttribute(&description.multiprocessors, kMultiprocessors,
                          handle),
          deviceMemory(&bytes, handle)})
      if (each != kSuccess)
        code = each;
    description.name = {number, name};
    description.capability = 10 * major + minor;
    description.bytes = bytes;
    found.push_back(description);
  }
  if (code == kSuccess)
    return found;
  return Status(ErrorCode::DeviceFailed, "the devices",
                "the driver does not describe them: " + describe(code),
                "check whether nvidia-smi lists them");
}

std::string describeCudaVersion(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

Result<std::string> listCudaDevices() {
  HONE_ASSIGN(CudaDriver driver, CudaDriver::load());
  HONE_ASSIGN(std::vector<CudaDescription> devices, driver.devices());
  std::string text =
      "driver of CUDA " + describeCudaVersion(driver.version) + "\n";
  for (const CudaDescription &device : devices)
    text += "device " + std::to_string(device.name.number) + "  sm_" +
            std::to_string(device.capability) + "  " +
            describeBytes(device.bytes) + "  " +
            std::to_string(device.multiprocessors) + " multiprocessors  " +
            device.name.name + "\n";
  return text;
}

} // namespace hone::rt
