/*===- StepClock.c - A wall clock that is set while a run is under way -----===//
//
// Preloaded by clock.sh. The wall clock is $HONE_CLOCK seconds ahead and jumps
// 5 hours ahead and back as it is read. The monotonic clock, which nobody can
// set, is as it is, unless HONE_CLOCK_ALL is set.
//
//===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
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

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (out)
    *out = exact.tv_sec;
  return exact.tv_sec;
}
