/*===- CleansUp.c - Whether OpenSSL asks to clean up at the end -----------===//
//
// To preload. Says so of each function that libcrypto registers for the end of
// the process.
//
//===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int Register(void (*)(void *), void *, void *);

int __cxa_atexit(void (*function)(void *), void *argument, void *library) {
  Dl_info from;
  if (dladdr((void *)function, &from) && strstr(from.dli_fname, "libcrypto"))
    fputs("OpenSSL cleans up at the end\n", stderr);
  return ((Register *)dlsym(RTLD_NEXT, "__cxa_atexit"))(function, argument,
                                                        library);
}
