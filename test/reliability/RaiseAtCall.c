/*===- RaiseAtCall.c - A signal at one system call -------------------------===//
//
// Preloaded: the HONE_RAISE_AT-th call of HONE_RAISE_CALL, one of those below,
// is preceded by SIGTERM.
//
//===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void count(const char *name) {
  static int calls;
  const char *call = getenv("HONE_RAISE_CALL"), *at = getenv("HONE_RAISE_AT");
  if (call && at && strcmp(call, name) == 0 && ++calls == atoi(at))
    raise(SIGTERM);
}

int rename(const char *from, const char *to) {
  count("rename");
  return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int pthread_create(pthread_t *id, const pthread_attr_t *attributes,
                   void *(*run)(void *), void *with) {
  count("pthread_create");
  return ((__typeof__(&pthread_create))dlsym(RTLD_NEXT, "pthread_create"))(
      id, attributes, run, with);
}
