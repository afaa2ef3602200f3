/*===- CountHoldings.c - What a run holds at a step ------------------------===//
//
// Preloaded by long-run.sh. As the line of each step in $HONE_STEPS (" 10 999 ")
// is logged, writes to $HONE_HOLDINGS: the step, open descriptors, mappings,
// bytes of the heap in use, bytes of resident anonymous memory.
//
//===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What it takes itself comes after the heap was looked at, and goes back. */
static void count(long step) {
  struct mallinfo2 heap = mallinfo2();
  int descriptors = -3; /* ".", ".." and its own */
  DIR *open = opendir("/proc/self/fd");
  while (open && readdir(open))
    ++descriptors;
  closedir(open);
  static char text[65536];
  long mappings = 0, anonymous = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(text, sizeof text, maps))
    ++mappings;
  fclose(maps);
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(text, sizeof text, status))
    if (strncmp(text, "RssAnon:", 8) == 0)
      anonymous = atol(text + 8) * 1024;
  fclose(status);
  FILE *out = fopen(getenv("HONE_HOLDINGS"), "a");
  fprintf(out, "%ld %d %ld %zu %ld\n", step, descriptors, mappings,
          heap.uordblks + heap.hblkhd, anonymous);
  fclose(out);
}

ssize_t write(int file, const void *bytes, size_t size) {
  const char *line = bytes, *steps = getenv("HONE_STEPS");
  if (steps && size > 20 && strncmp(line, "{\"step\": ", 9) == 0) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, " %ld ", atol(line + 9));
    if (strstr(steps, wanted) && memmem(line, size, "\"loss\"", 6))
      count(atol(line + 9));
  }
  return syscall(SYS_write, file, bytes, size);
}
