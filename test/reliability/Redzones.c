/*===- Redzones.c - Poisoned memory around every mapping ------------------===//
//
// Linked by bounds.sh with --wrap=mmap and --wrap=munmap into a program whose
// generated code AddressSanitizer checks: arena, scratch and weights are
// mappings, around which it would see nothing. They end at their last byte, not
// at the end of a page.
//
// HONE_CUT=WHAT-END=BYTES, for a test of the test, takes BYTES off a mapping: WHAT
// is arena, scratch or weights, END is begin or end.
//
//===----------------------------------------------------------------------===*/

#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { Page = 4096 };

void *__real_mmap(void *at, size_t size, int protection, int flags, int file,
                  off_t offset);
int __real_munmap(void *at, size_t size);

static size_t pages(size_t size) { return (size + Page - 1) / Page * Page; }

/* The trainer maps the arena first, then the scratch. */
static const char *nameOf(int flags, int file) {
  static int anonymous = 0;
  if (flags & MAP_ANONYMOUS)
    return anonymous++ == 0 ? "arena" : "scratch";
  char link[32], path[4096] = "";
  snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof(path) - 1);
  return length > 0 && strstr(path, "weights.hone") ? "weights" : "file";
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file,
                  off_t offset) {
  char *zone = __real_mmap(at, pages(size) + 2 * Page, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (zone == MAP_FAILED)
    return zone;
  char *base = __real_mmap(zone + Page, size, protection, flags | MAP_FIXED,
                           file, offset);
  if (base == MAP_FAILED)
    return base;
  __asan_poison_memory_region(zone, Page);
  __asan_poison_memory_region(base + size, pages(size) - size + Page);

  const char *name = nameOf(flags, file), *cut = getenv("HONE_CUT");
  if (cut && strncmp(cut, name, strlen(name)) == 0) {
    long bytes = atol(strchr(cut, '=') + 1);
    __asan_poison_memory_region(
        strstr(cut, "-begin") ? base : base + size - bytes, bytes);
  }
  return base;
}

int __wrap_munmap(void *at, size_t size) {
  char *zone = (char *)at - Page;
  __asan_unpoison_memory_region(zone, pages(size) + 2 * Page);
  return __real_munmap(zone, pages(size) + 2 * Page);
}
