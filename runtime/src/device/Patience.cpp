//===- Patience.cpp - Waiting for a device --------------------------------===//

#include "device/Patience.h"

#include <chrono>
#include <cstdlib>
#include <thread>

namespace hone::rt {

// No kernel takes a second.
int devicePatience() {
  const char *text = std::getenv("HONE_DEVICE_PATIENCE");
  const int seconds = text ? std::atoi(text) : 0;
  return seconds > 0 ? seconds : 300;
}

bool waitPatiently(const std::function<bool()> &isOver) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const std::chrono::seconds most(devicePatience());
  while (!isOver()) {
    const Clock::duration waited = Clock::now() - start;
    if (waited > most)
      return false;
    // A step is milliseconds: to sleep at once would cost it a part of that.
    if (waited < std::chrono::microseconds(200))
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

} // namespace hone::rt
