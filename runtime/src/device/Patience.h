//===- Patience.h - Waiting for a device ----------------------------------===//
//
// A driver's own wait has no end, and a device may be stuck.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <functional>

namespace hone::rt {

/// Before anything waits. Errors: WrongOption, where HONE_DEVICE_PATIENCE is no
/// number of seconds.
Status checkDevicePatience();

/// How long a device may take, in seconds: five minutes, or
/// HONE_DEVICE_PATIENCE.
int devicePatience();

/// Waits until isOver() for as long as that. False: it was not.
bool waitPatiently(const std::function<bool()> &isOver);

} // namespace hone::rt
