//===- Streaming.cpp - Which pages of the weights are resident ------------===//
//
// A fault brings in more than its page: Linux maps the 64 KiB around it, and
// since 6.18 the whole folio of the page cache that the page is in, which a
// copy of the file may have made as large as a page table (2 MiB). What nobody
// lets go would stay for ever, so a range grows to the units that faults in it
// can have brought in. A neighbour that is still needed costs one more fault;
// to spare most of these, a thread's last unit waits until the thread goes on
// to another one. A range never grows out of the mapping: dropped pages of
// anonymous memory would read as zeros.
//
//===----------------------------------------------------------------------===//

#include "module/Streaming.h"

#include "hone/runtime.h"
#include "platform/Pages.h"

#include <algorithm>
#include <cstdint>

static std::string_view mapping;

/// What a fault maps around itself from small folios, at multiples of its size
/// as addresses go. Folios are at multiples of theirs in the file.
static constexpr uintptr_t faultAroundBytes = 64 * 1024;
static constexpr uintptr_t unitBytes = HONE_RESIDENT_UNIT_BYTES;

/// The unit of the mapping that this thread let go last, and that is still
/// there.
static constexpr uintptr_t noUnit = UINTPTR_MAX;
static thread_local uintptr_t waitingUnit = noUnit;

void hone::rt::setStreamedMapping(std::string_view bytes) {
  mapping = bytes;
  waitingUnit = noUnit;
}

static bool contains(const void *start, int64_t bytes) {
  uintptr_t begin = reinterpret_cast<uintptr_t>(mapping.data());
  uintptr_t first = reinterpret_cast<uintptr_t>(start);
  return bytes > 0 && first >= begin && first - begin < mapping.size();
}

/// Gives `hint` for [first, end) of the mapping, as offsets; `first` is a
/// multiple of the page size.
static void advise(uintptr_t first, uintptr_t end,
                   void (*hint)(const char *start, uint64_t bytes)) {
  end = std::min(end, uintptr_t(mapping.size()));
  if (first < end)
    hint(mapping.data() + first, end - first);
}

extern "C" void hone_prefetch(const void *start, int64_t bytes) {
  const uintptr_t page = hone::rt::platform::pageBytes();
  if (!contains(start, bytes))
    return;
  uintptr_t first =
      uintptr_t(static_cast<const char *>(start) - mapping.data());
  advise(first / page * page, first + uintptr_t(bytes),
         hone::rt::platform::prefetchPages);
}

extern "C" void hone_release(const void *start, int64_t bytes) {
  if (!contains(start, bytes))
    return;
  uintptr_t begin = reinterpret_cast<uintptr_t>(mapping.data());
  uintptr_t first = reinterpret_cast<uintptr_t>(start);
  uintptr_t end =
      first + std::min(uintptr_t(bytes), begin + mapping.size() - first);
  first = std::max(first / faultAroundBytes * faultAroundBytes, begin) - begin;
  end = (end + faultAroundBytes - 1) / faultAroundBytes * faultAroundBytes -
        begin;
  const uintptr_t unit = first / unitBytes;
  const uintptr_t last =
      (std::min(end, uintptr_t(mapping.size())) - 1) / unitBytes;
  if (waitingUnit != noUnit && (waitingUnit < unit || waitingUnit > last))
    advise(waitingUnit * unitBytes, (waitingUnit + 1) * unitBytes,
           hone::rt::platform::dropPages);
  advise(unit * unitBytes, last * unitBytes, hone::rt::platform::dropPages);
  waitingUnit = last;
}
