//===- Streaming.cpp - Which pages of the weights are resident ------------===//
//
// Ranges grow to whole pages: tensors are not page-aligned, and a page that two
// of them share costs one more fault but would otherwise stay for ever.
//
//===----------------------------------------------------------------------===//

#include "hone/runtime.h"

#include <sys/mman.h>
#include <unistd.h>

static void advise(const void *start, int64_t bytes, int advice) {
  if (bytes <= 0)
    return;
  static const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
  uintptr_t first = reinterpret_cast<uintptr_t>(start) / page * page;
  uintptr_t end = reinterpret_cast<uintptr_t>(start) + uintptr_t(bytes);
  (void)madvise(reinterpret_cast<void *>(first), end - first, advice);
}

extern "C" void hone_prefetch(const void *start, int64_t bytes) {
  advise(start, bytes, MADV_WILLNEED);
}

extern "C" void hone_release(const void *start, int64_t bytes) {
  advise(start, bytes, MADV_DONTNEED);
}
