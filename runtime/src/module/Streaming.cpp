//===- Streaming.cpp - Which pages of the weights are resident ------------===//
//
// A range that is let go grows to what faults brought in: Linux maps the pages
// around a fault too, 64 KiB in all, and what nobody lets go would stay for
// ever. A neighbour that is still needed costs one more fault. It never grows
// out of the mapping: dropped pages of anonymous memory would read as zeros.
//
//===----------------------------------------------------------------------===//

#include "module/Streaming.h"

#include "hone/runtime.h"

#include <algorithm>
#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>

static std::string_view mapping;

void hone::rt::setStreamedMapping(std::string_view bytes) { mapping = bytes; }

/// Advises on the units that [start, start + bytes) touches, within the
/// mapping. Units begin at addresses that are multiples of their size, which is
/// one of the page size.
static void advise(const void *start, int64_t bytes, uintptr_t unit,
                   int advice) {
  uintptr_t begin = reinterpret_cast<uintptr_t>(mapping.data());
  uintptr_t first = reinterpret_cast<uintptr_t>(start);
  if (bytes <= 0 || first < begin || first - begin >= mapping.size())
    return;
  uintptr_t end = (first + uintptr_t(bytes) + unit - 1) / unit * unit;
  first = std::max(first / unit * unit, begin);
  end = std::min(end, begin + mapping.size());
  (void)madvise(reinterpret_cast<void *>(first), end - first, advice);
}

extern "C" void hone_prefetch(const void *start, int64_t bytes) {
  static const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
  advise(start, bytes, page, MADV_WILLNEED);
}

extern "C" void hone_release(const void *start, int64_t bytes) {
  advise(start, bytes, HONE_RESIDENT_UNIT_BYTES, MADV_DONTNEED);
}
