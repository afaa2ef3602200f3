/*===- StepClock.c - A wall clock that is set while a run is under way
-----===//
//
// Preloaded by clock.sh. The wall clock is $HONE_CLOCK seconds ahead and jumps
// 5 hours ahead and back as it is read. The monotonic clock, which nobody can
// set, is as it is, unless HONE_CLOCK_ALL is set.
//
//===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include "WallClock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static long long offset(void) {
  static const int jumps[] = {0, 5 * 3600, -5 * 3600};
  static atomic_uint calls;
  const char *text = getenv("HONE_CLOCK");
  return (text ? atoll(text) : 0) + jumps[atomic_fetch_add(&calls, 1) % 3];
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ||
      getenv("HONE_CLOCK_ALL"))
    now->tv_sec += offset();
  return result;
}
