/*===- LateThread.c - The thread that gRPC's events come to is late -------===//
//
// late-thread ENGINE ADDRESS SELF PEER MILLISECONDS
//
// Meets PEER, sends and takes frames, and ends while the last one leaves. From
// then on an event of gRPC comes so much later to the engine's thread: it calls
// a function of this program, which comes before gRPC's own.
//
//===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include "hone/engine.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <grpc/support/time.h>

/* grpc::CompletionQueue::AsyncNextInternal(void **, bool *, gpr_timespec) */
#define NEXT _ZN4grpc15CompletionQueue17AsyncNextInternalEPPvPb12gpr_timespec

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

typedef int Next(void *, void **, _Bool *, gpr_timespec);

/* gRPC's own. It comes with the engine, so no scope of symbols has it. */
static int find(struct dl_phdr_info *library, size_t size, void *found) {
  (void)size;
  if (!strstr(library->dlpi_name, "/libgrpc++.so"))
    return 0;
  *(Next **)found = (Next *)dlsym(
      dlopen(library->dlpi_name, RTLD_LAZY | RTLD_NOLOAD), TEXT(NEXT));
  return 1;
}

static atomic_int late, wereLate; /* milliseconds; events */

int NEXT(void *queue, void **tag, _Bool *isOk, gpr_timespec until) {
  static Next *next;
  if (!next)
    dl_iterate_phdr(find, &next);
  int status = next(queue, tag, isOk, until);
  struct timespec pause = {late / 1000, late % 1000 * 1000000l};
  if (late && nanosleep(&pause, NULL) == 0)
    ++wereLate;
  return status;
}

static void report(void) { printf("%d events were late\n", wereLate); }

static char frame[HONE_FRAME_BYTES];

static int fail(const char *what) {
  fprintf(stderr, "late-thread: %s\n", what);
  return 1;
}

int main(int count, char **given) {
  void *library = count == 6 ? dlopen(given[1], RTLD_NOW) : NULL;
  if (!library)
    return fail(count == 6 ? dlerror() : "expects 5 arguments");
  const hone_engine *(*find_engine)(void) =
      (const hone_engine *(*)(void))dlsym(library, "hone_exchange_engine");
  const hone_engine *engine = find_engine();
  atexit(report); /* after the engine's own end */
  char why[256] = "";
  hone_link *link = NULL;
  for (int tries = 0; !link && tries < 300; ++tries)
    link = engine->open(given[2], given[3], given[4], 100, why, sizeof(why));
  if (!link)
    return fail(why);
  for (int frames = 0, taken = 0; frames < 3 || taken < 3;) {
    int sent = frames < 3 ? engine->send(link, frame, sizeof(frame)) : 0;
    int64_t got = engine->next(link, frame, sizeof(frame), 10);
    if (sent < 0 || got < 0)
      return fail("the link is lost");
    frames += frames < 3 && sent == 0;
    taken += got > 0;
  }
  late = atoi(given[5]);
  engine->send(link, frame, sizeof(frame));
  engine->close(link);
  return 0;
}
