//===- Reminder.h - The times of repeated frames --------------------------===//

#pragma once

#include <algorithm>
#include <chrono>

namespace hone::rt {

/// When something was last heard or said of a message, and how long that may be
/// ago: twice as long after each reminder, so that a slow link has room for
/// more than reminders.
struct Reminder {
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kFirst{100}, kMost{3200};

  Clock::time_point heard;
  std::chrono::milliseconds after = kFirst;

  explicit Reminder(Clock::time_point heard = Clock::now()) : heard(heard) {}
  /// One that is due at once.
  static Reminder due() { return Reminder(Clock::time_point{}); }

  bool isDue(Clock::time_point now) {
    if (now - heard < after)
      return false;
    heard = now;
    after = std::min(2 * after, kMost);
    return true;
  }
};

} // namespace hone::rt
