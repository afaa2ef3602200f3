/*===- SignalAtRename.c - Sends SIGTERM after a renaming ------------------===//
//
// Preloaded: the process gets SIGTERM after its $HONE_RENAME-th rename.
//
//===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

static long renamed;

int rename(const char *from, const char *to) {
  int result = ((__typeof__(&rename))dlsym(RTLD_NEXT, "rename"))(from, to);
  const char *at = getenv("HONE_RENAME");
  if (++renamed == (at ? atol(at) : 0))
    raise(SIGTERM);
  return result;
}
