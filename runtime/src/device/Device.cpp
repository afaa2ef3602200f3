//===- Device.cpp - Where a step's memory is and its kernels run ----------===//

#include "device/Device.h"

void hone_launch(const hone_frame *frame, uint32_t kernel, void *closure,
                 int64_t count) {
  auto *device = reinterpret_cast<hone::rt::Device *>(frame->device);
  hone::rt::LaunchGate *gate = device->gate();
  if (!gate)
    return device->launch(kernel, closure, count);
  if (!gate->admits(kernel))
    return;
  device->launch(kernel, closure, count);
  gate->launched(kernel);
}
