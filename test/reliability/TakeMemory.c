/*===- TakeMemory.c - A library that makes a run take more than planned
----===//
//
// Preloaded by beyond-plan.sh. Takes $HONE_TAKE bytes of memory as the program
// starts. With $HONE_CLAIM the system's quick figure of anonymous memory, in
// /proc/self/status, is 9 GiB, while that of smaps_rollup stays the truth.
//
//===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static char own[40000];

__attribute__((constructor)) static void take(void) {
  const char *bytes = getenv("HONE_TAKE");
  if (!bytes)
    return;
  memset(own, 1, sizeof own);
  size_t size = strtoull(bytes, NULL, 10);
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED)
    memset(memory, 1, size);
}

ssize_t read(int file, void *bytes, size_t size) {
  ssize_t done = syscall(SYS_read, file, bytes, size);
  char *line = done > 0 && getenv("HONE_CLAIM")
                   ? memmem(bytes, (size_t)done, "RssAnon:\t", 9)
                   : NULL;
  if (line)
    memcpy(line + 9, " 9437184", 8);
  return done;
}
