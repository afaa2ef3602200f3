//===- OpenDevice.cpp - The device that a program's kernels are for -------===//

#include "device/OpenDevice.h"

#include "device/CudaDevice.h"
#include "device/MetalDevice.h"

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
  return isForMetal(module) ? openAs<MetalDevice>(module, number, room)
                            : openAs<CudaDevice>(module, number, room);
}

Result<std::string> listDevices(const hone_module &module) {
  return isForMetal(module) ? listMetalDevices() : listCudaDevices();
}

} // namespace hone::rt
