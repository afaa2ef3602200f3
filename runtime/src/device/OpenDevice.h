//===- OpenDevice.h - The device that a program's kernels are for ---------===//
//
// The one file that names the devices beside the processor.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "device/Device.h"

#include <memory>

namespace hone::rt {

/// Device `number` for the kernels of `module`, which has a device_target, with
/// room for an arena of `arenaBytes` and the weights.
/// Errors: those of CudaDevice::open and MetalDevice::open.
Result<std::unique_ptr<Device>> openDevice(const hone_module &module,
                                           int64_t number, uint64_t arenaBytes);

/// A table of the devices that programs for the target of `module` can run on,
/// for a person; of a program for the processor NVIDIA's.
/// Errors: NoDriver, OldDriver, DeviceFailed.
Result<std::string> listDevices(const hone_module &module);

} // namespace hone::rt
