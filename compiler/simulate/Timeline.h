//===- Timeline.h - A program's activities in virtual time ----------------===//

#pragma once

#include <cstdint>
#include <vector>

namespace hone::simulate {

enum class Activity {
  Computing,
  Waiting, ///< for another program's message
  Sending, ///< until the message is acknowledged
};
constexpr unsigned kActivities = 3;

/// Seconds.
struct Span {
  double begin, end;
  Activity activity;
};

/// Totals since the beginning.
struct Totals {
  double time = 0;
  double seconds[kActivities] = {};
  uint64_t sent = 0, received = 0; ///< bytes of frames
};

class Timeline {
public:
  double now() const { return totals.time; }
  /// `activity` until `end`, which is not before now().
  void until(double end, Activity activity) {
    add(end, end - totals.time, activity);
  }
  /// `activity` for so many seconds: its total is the same whenever it begins.
  void spend(double seconds, Activity activity) {
    add(totals.time + seconds, seconds, activity);
  }
  const Totals &sofar() const { return totals; }
  /// One after another, without gaps.
  const std::vector<Span> &spans() const { return own; }

private:
  void add(double end, double seconds, Activity activity) {
    const double begin = totals.time;
    if (seconds <= 0)
      return;
    totals.time = end;
    totals.seconds[unsigned(activity)] += seconds;
    if (!own.empty() && own.back().activity == activity)
      own.back().end = end;
    else
      own.push_back({begin, end, activity});
  }

  Totals totals;
  std::vector<Span> own;
};

} // namespace hone::simulate
