/*===- WallClock.h - The older calls that tell the wall clock -------------===//
//
// For libraries that are preloaded to set the clock: both follow their
// clock_gettime.
//
//===----------------------------------------------------------------------===*/

#ifndef HONE_TEST_RELIABILITY_WALL_CLOCK_H
#define HONE_TEST_RELIABILITY_WALL_CLOCK_H

#include <sys/time.h>
#include <time.h>

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

#endif
