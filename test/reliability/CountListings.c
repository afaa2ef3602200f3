/*===- CountListings.c - Counts how often a folder is listed --------------===//
//
// Preloaded: $HONE_LISTINGS gets a line each time that the process begins to list
// the folder $HONE_LISTED.
//
//===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

DIR *opendir(const char *path) {
  const char *listed = getenv("HONE_LISTED"), *into = getenv("HONE_LISTINGS");
  if (listed && into && !strcmp(path, listed)) {
    FILE *lines = fopen(into, "a");
    if (lines) {
      fprintf(lines, "%s\n", path);
      fclose(lines);
    }
  }
  return ((__typeof__(&opendir))dlsym(RTLD_NEXT, "opendir"))(path);
}
