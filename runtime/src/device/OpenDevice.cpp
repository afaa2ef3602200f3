//===- OpenDevice.cpp - The device that a program's kernels are for -------===//

#include "device/OpenDevice.h"

#include "device/CudaDevice.h"
#include "device/MetalDevice.h"
#include "device/Patience.h"

#include <algorithm>

namespace hone::rt {

static bool isForMetal(const hone_module &module) {
  return module.device_target &&
         std::string_view(module.device_target).substr(0, 5) == "metal";
}

template <typename Opened>
static Result<std::unique_ptr<Device>> openAs(const hone_module &module,
                                              int64_t number, RoomNeeded room) {
  HONE_ASSIGN(
      std::unique_ptr<Opened> device,
      Opened::open(module,
                   int(std::clamp<int64_t>(number, INT32_MIN, INT32_MAX)),
                   room));
  return std::unique_ptr<Device>(std::move(device));
}

Result<std::unique_ptr<Device>> openDevice(const hone_module &module,
                                           int64_t number, RoomNeeded room) {
  HONE_TRY(checkDevicePatience());
  return isForMetal(module) ? openAs<MetalDevice>(module, number, room)
                            : openAs<CudaDevice>(module, number, room);
}

/// The hint of a program for the processor on a machine with NVIDIA's devices.
static constexpr const char *kForProcessor =
    "this program is for the processor and uses no device; to use one, compile "
    "with --target=nvptx64-nvidia-cuda";

Result<std::string> listDevices(const hone_module &module) {
  if (isForMetal(module))
    return listMetalDevices();
  Result<std::string> found = listCudaDevices();
  if (module.device_target)
    return found;
  if (found.isOk())
    return found.value() + kForProcessor + "\n";
  Message message = found.status().message();
  // Its remedy ends with compiling for the processor, which was done.
  if (found.status().errorCode() == ErrorCode::NoDriver)
    message.remedy =
        message.remedy.substr(0, message.remedy.rfind(", or compile for")) +
        "; " + kForProcessor;
  return Status(*found.status().errorCode(), std::move(message));
}

} // namespace hone::rt
