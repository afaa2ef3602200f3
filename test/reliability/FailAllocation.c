/*===- FailAllocation.c - Makes one allocation fail ------------------------===//
//
// Preloaded by allocations.sh. HONE_FAIL_ALLOCATION=N fails the N-th allocation
// from main() on, N+ that and all later ones; operator new goes through malloc.
// The number of all allocations is written to $HONE_ALLOCATIONS at the end of
// the process, however it ends.
//
//===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static atomic_long calls;
static long first = -1, last; /* -1: main() has not begun */
static char report[4096];
static int (*programMain)(int, char **, char **);

static int countedMain(int count, char **arguments, char **environment) {
  const char *path = getenv("HONE_ALLOCATIONS");
  const char *text = getenv("HONE_FAIL_ALLOCATION");
  if (path)
    strncpy(report, path, sizeof(report) - 1);
  first = text ? atol(text) : 0;
  last = text && strchr(text, '+') ? 1L << 40 : first;
  return programMain(count, arguments, environment);
}

int __libc_start_main(int (*run)(int, char **, char **), int count, char **at,
                      void (*init)(void), void (*fini)(void),
                      void (*loader)(void), void *stack) {
  __typeof__(&__libc_start_main) next = dlsym(RTLD_NEXT, "__libc_start_main");
  programMain = run;
  return next(countedMain, count, at, init, fini, loader, stack);
}

static int fails(void) {
  if (first < 0)
    return 0;
  long call = atomic_fetch_add(&calls, 1) + 1;
  return first && call >= first && call <= last;
}

static void finish(void) {
  char line[32];
  int size = snprintf(line, sizeof(line), "%ld\n", atomic_load(&calls));
  long file = report[0] ? syscall(SYS_openat, AT_FDCWD, report,
                                  O_WRONLY | O_CREAT | O_TRUNC, 0666)
                        : -1;
  if (file < 0)
    return;
  syscall(SYS_write, file, line, (size_t)size);
  syscall(SYS_close, file);
}

__attribute__((destructor)) static void end(void) { finish(); }

void _exit(int code) {
  finish();
  for (;;)
    syscall(SYS_exit_group, code);
}

static void *refused(void) {
  errno = ENOMEM;
  return NULL;
}

void *malloc(size_t size) { return fails() ? refused() : __libc_malloc(size); }

void *calloc(size_t count, size_t size) {
  return fails() ? refused() : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
  return fails() ? refused() : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return fails() ? refused() : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  if (fails())
    return ENOMEM;
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}

void *mmap(void *at, size_t size, int protection, int flags, int file,
           off_t offset) {
  if (fails()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return (void *)syscall(SYS_mmap, at, size, protection, flags, file, offset);
}
