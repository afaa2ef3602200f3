/*===- SetClock.c - A wall clock that is set meanwhile --------------------===//
//
// Preloaded by clock.sh. Once the file $HONE_CLOCK is there, the wall clock of
// all processes is an hour late; with $HONE_CLOCK_EVERY it is right again so
// many milliseconds later, and so on. A wait until a time of the wall clock, as
// gRPC's are, follows it.
//
//===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include "../reliability/WallClock.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE 10000000ll /* nanoseconds */

/* libc's own, which is replaced below. */
static long call(long number, long a, long b, long c, long d, long e, long f) {
  static long (*own)(long, ...);
  if (!own)
    own = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return own(number, a, b, c, d, e, f);
}

static long long nanoseconds(const struct timespec *time) {
  return time->tv_sec * 1000000000ll + time->tv_nsec;
}

static long long exact(clockid_t clock) {
  struct timespec now;
  call(SYS_clock_gettime, clock, (long)&now, 0, 0, 0, 0);
  return nanoseconds(&now);
}

static long long offset(void) {
  const char *file = getenv("HONE_CLOCK"), *every = getenv("HONE_CLOCK_EVERY");
  if (!file || call(SYS_faccessat, AT_FDCWD, (long)file, F_OK, 0, 0, 0) != 0)
    return 0;
  if (every && exact(CLOCK_MONOTONIC) / 1000000 / atoll(every) % 2)
    return 0;
  return -3600 * 1000000000ll;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  long long time = exact(clock);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
    time += offset();
  now->tv_sec = time / 1000000000;
  now->tv_nsec = time % 1000000000;
  return 0;
}

/* Until `end` by the clock as it is set meanwhile. */
static long waitUntil(long word, long op, long value, long long end, long e,
                      long f) {
  for (;;) {
    long long now = exact(CLOCK_REALTIME), left = end - (now + offset());
    if (left <= 0) {
      errno = ETIMEDOUT;
      return -1;
    }
    long long until = now + (left < SLICE ? left : SLICE);
    struct timespec slice = {until / 1000000000, until % 1000000000};
    long result = call(SYS_futex, word, op, value, (long)&slice, e, f);
    if (result == 0 || errno != ETIMEDOUT)
      return result;
  }
}

long syscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  long a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long),
       d = va_arg(rest, long), e = va_arg(rest, long), f = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_futex && (b & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET &&
      (b & FUTEX_CLOCK_REALTIME) && d)
    return waitUntil(a, b, c, nanoseconds((const struct timespec *)d), e, f);
  return call(number, a, b, c, d, e, f);
}
