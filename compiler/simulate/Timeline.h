//===- Timeline.h - What a program does when, in virtual time -------------===//

#pragma once

#include <cstdint>
#include <vector>

namespace hone::simulate {

enum class Activity {
  Computing,
  Waiting, ///< for what another program sends
  Sending, ///< until what was sent is acknowledged
};
constexpr unsigned kActivities = 3;

/// Seconds.
struct Span {
  double begin, end;
  Activity activity;
};

/// Totals since the begin.
struct Totals {
  double time = 0;
  double seconds[kActivities] = {};
  uint64_t sent = 0, received = 0; ///< bytes of frames
};

class Timeline {
public:
  double now() const { return totals.time; }
  /// Until `end`, which is not before now(), `activity`.
  void until(double end, Activity activity) {
    const double begin = totals.time;
    if (end <= begin)
      return;
    totals.time = end;
    totals.seconds[unsigned(activity)] += end - begin;
    if (!own.empty() && own.back().activity == activity)
      own.back().end = end;
    else
      own.push_back({begin, end, activity});
  }
  const Totals &sofar() const { return totals; }
  /// One after another, without gaps.
  const std::vector<Span> &spans() const { return own; }

private:
  Totals totals;
  std::vector<Span> own;
};

} // namespace hone::simulate
