/*===- FailOffload.c - Makes a call of the file of offloaded values fail ---===//
//
// Preloaded by offloading.sh. HONE_FAIL_OFFLOAD=CALL:N fails the N-th CALL, once.
// part:N writes a part only of the N-th write, short:N does so since the disk is
// full from then on. Past the system's cache only whole sectors are written, as on
// disks; HONE_REFUSE_DIRECT refuses that way.
//
//===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fails(const char *name, atomic_long *calls) {
  const char *text = getenv("HONE_FAIL_OFFLOAD");
  const size_t length = strlen(name);
  return text && strncmp(text, name, length) == 0 && text[length] == ':' &&
         atomic_fetch_add(calls, 1) + 1 == atol(text + length + 1);
}

static int is_direct(int file) { return fcntl(file, F_GETFL) & O_DIRECT; }

static int refuses(int file) {
  return getenv("HONE_REFUSE_DIRECT") && is_direct(file);
}

int posix_fallocate(int file, off_t at, off_t size) {
  static atomic_long calls;
  if (fails("posix_fallocate", &calls))
    return ENOSPC;
  return syscall(SYS_fallocate, file, 0, at, size) ? errno : 0;
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) {
  static atomic_long calls, parts, shorts;
  static atomic_int is_full;
  const int direct = is_direct(file);
  if (refuses(file) || (direct && (at % 512 || size % 512))) {
    errno = EINVAL;
    return -1;
  }
  if (fails("pwrite", &calls) || (is_full && !direct)) {
    errno = ENOSPC;
    return -1;
  }
  if (fails("part", &parts))
    size = 1000;
  if (fails("short", &shorts)) {
    is_full = 1;
    size = 1000;
  }
  return syscall(SYS_pwrite64, file, bytes, size, at);
}

/* What else is read at an offset is the beginning of a file that marks a folder,
   which is shorter. */
ssize_t pread(int file, void *bytes, size_t size, off_t at) {
  static atomic_long calls;
  if (refuses(file)) {
    errno = EINVAL;
    return -1;
  }
  if (size >= 256 && fails("pread", &calls)) {
    errno = EIO;
    return -1;
  }
  return syscall(SYS_pread64, file, bytes, size, at);
}
