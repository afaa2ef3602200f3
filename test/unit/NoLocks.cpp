//===- NoLocks.cpp - A file system without locks --------------------------===//

#include "NoLocks.h"

#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>

/// In the place of the C library's.
extern "C" int flock(int file, int operation) {
  if (!NoLocks::areOff)
    return int(syscall(SYS_flock, file, operation));
  errno = ENOLCK;
  return -1;
}
