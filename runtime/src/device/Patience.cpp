//===- Patience.cpp - Waiting for a device --------------------------------===//

#include "device/Patience.h"

#include <chrono>
#include <cstdlib>
#include <thread>

namespace hone::rt {

static constexpr const char *kVariable = "HONE_DEVICE_PATIENCE";
/// Ten days; the clock's type counts nanoseconds.
static constexpr int kMostSeconds = 864000;

/// Digits alone, from 1 on; 0: something else.
static int secondsOf(const char *text) {
  int seconds = 0;
  for (; *text >= '0' && *text <= '9' && seconds <= kMostSeconds; ++text)
    seconds = 10 * seconds + (*text - '0');
  return *text || seconds > kMostSeconds ? 0 : seconds;
}

Status checkDevicePatience() {
  const char *text = std::getenv(kVariable);
  if (!text || secondsOf(text) > 0)
    return Status::ok();
  return Status(ErrorCode::WrongOption, kVariable,
                "expected whole seconds from 1 to " +
                    std::to_string(kMostSeconds) + " but found '" +
                    std::string(text) + "'",
                "give a number such as 300, or unset it: five minutes");
}

// No kernel takes a second.
int devicePatience() {
  const char *text = std::getenv(kVariable);
  const int seconds = text ? secondsOf(text) : 0;
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
