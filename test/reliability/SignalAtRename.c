/*===- SignalAtRename.c - Sends a signal after a renaming -----------------===//
//
// Preloaded: the process gets $HONE_SIGNAL, or SIGTERM, after its
// $HONE_RENAME-th rename; those that it starts, such as a linker, get none.
//
//===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

static long renamed, at;
static int number = SIGTERM;

__attribute__((constructor)) static void begin(void) {
  const char *given = getenv("HONE_RENAME");
  at = given ? atol(given) : 0;
  unsetenv("HONE_RENAME");
  if (getenv("HONE_SIGNAL"))
    number = atoi(getenv("HONE_SIGNAL"));
}

int rename(const char *from, const char *to) {
  int result = ((__typeof__(&rename))dlsym(RTLD_NEXT, "rename"))(from, to);
  if (++renamed == at)
    raise(number);
  return result;
}
