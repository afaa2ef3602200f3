//===- OpenDevice.h - The device that a program's kernels are for ---------===//
//
// The one file that names the devices beside the processor.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "device/Device.h"
#include "device/DeviceName.h"

#include <memory>

namespace hone::rt {

/// Device `number` for the kernels of `module`, which has a device_target, with
/// `room` for a step and the weights.
/// Errors: those of CudaDevice::open and MetalDevice::open; WrongOption, where
/// the environment has no patience.
Result<std::unique_ptr<Device>> openDevice(const hone_module &module,
                                           int64_t number, RoomNeeded room);

/// A table of the devices that programs for the target of `module` can run on,
/// for a person; of a program for the processor NVIDIA's, and that it uses
/// none. Errors: NoDriver, OldDriver, DeviceFailed.
Result<std::string> listDevices(const hone_module &module);

} // namespace hone::rt
