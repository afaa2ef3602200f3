//===- Patience.h - Waiting for a device ----------------------------------===//
//
// A driver's own wait has no end, and a device may be stuck.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <functional>

namespace hone::rt {

/// Waits until isOver() for as long as a device may take: five minutes, or
/// HONE_DEVICE_PATIENCE seconds. False: it was not.
bool waitPatiently(const std::function<bool()> &isOver);

} // namespace hone::rt
