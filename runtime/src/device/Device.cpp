//===- Device.cpp - Where a step's memory is and its kernels run ----------===//

#include "device/Device.h"

void hone_launch(const hone_frame *frame, uint32_t kernel, void *closure,
                 int64_t count) {
  reinterpret_cast<hone::rt::Device *>(frame->device)
      ->launch(kernel, closure, count);
}
