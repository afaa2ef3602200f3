/*===- CountAllocations.c - Counts calls of the allocator ------------------===//
//
// Preloaded by heap.sh. Writes the number of calls to $HONE_ALLOCATIONS when
// the program ends; operator new goes through malloc and is counted with it.
//
//===----------------------------------------------------------------------===*/

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static atomic_ullong calls;

void *malloc(size_t size) {
  atomic_fetch_add(&calls, 1);
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  atomic_fetch_add(&calls, 1);
  return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
  atomic_fetch_add(&calls, 1);
  return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  atomic_fetch_add(&calls, 1);
  return __libc_memalign(alignment, size);
}

__attribute__((destructor)) static void report(void) {
  unsigned long long total = atomic_load(&calls);
  const char *path = getenv("HONE_ALLOCATIONS");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file)
    return;
  fprintf(file, "%llu\n", total);
  fclose(file);
}
