/*===- RefuseThreads.c - Refuses threads after the first ones -------------===//
//
// Preloaded: starts $HONE_THREADS threads and refuses others, as a limit does
// (ulimit -u), which does not hold for root. How many were asked for is written
// to $HONE_STARTED.
//
//===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_long asked;

int pthread_create(pthread_t *id, const pthread_attr_t *attributes,
                   void *(*run)(void *), void *argument) {
  const char *most = getenv("HONE_THREADS");
  if (atomic_fetch_add(&asked, 1) >= (most ? atol(most) : 0))
    return EAGAIN;
  return ((__typeof__(&pthread_create))dlsym(RTLD_NEXT, "pthread_create"))(
      id, attributes, run, argument);
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("HONE_STARTED");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file)
    return;
  fprintf(file, "%ld\n", asked);
  fclose(file);
}
