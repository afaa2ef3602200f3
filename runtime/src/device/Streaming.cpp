//===- Streaming.cpp - Which pages of the weights are resident ------------===//
//
// A fault brings in more than its page: Linux maps the 64 KiB around it, and
// since 6.18 the whole folio of the page cache that the page is in, which a
// copy of the file may have made as large as a page table (2 MiB). Pages that
// nobody lets go would stay for ever, so a range grows to the units that faults
// in it can have brought in. A neighbour that is still needed costs one more
// fault; to spare most of these, a thread's last unit waits until the thread
// goes on to another one. A range never grows out of the mapping: dropped pages
// of anonymous memory would read as zeros.
//
//===----------------------------------------------------------------------===//

#include "device/Streaming.h"

#include "platform/Pages.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

/// Bytes that a fault maps around itself from small folios, at multiples of
/// that size as addresses go. Folios are at multiples of theirs in the file.
static constexpr uintptr_t faultAroundBytes = 64 * 1024;
static constexpr uintptr_t unitBytes = HONE_RESIDENT_UNIT_BYTES;
static constexpr uintptr_t noUnit = UINTPTR_MAX;

Streaming::Streaming(std::string_view mapping, unsigned threads,
                     const platform::File *file)
    : mapping(mapping), file(file), waiting(threads, noUnit) {}

bool Streaming::contains(const void *start, int64_t bytes) const {
  uintptr_t begin = reinterpret_cast<uintptr_t>(mapping.data());
  uintptr_t first = reinterpret_cast<uintptr_t>(start);
  return bytes > 0 && first >= begin && first - begin < mapping.size();
}

void Streaming::advise(uintptr_t first, uintptr_t end,
                       void (*hint)(const char *start, uint64_t bytes)) const {
  end = std::min(end, uintptr_t(mapping.size()));
  if (first < end)
    hint(mapping.data() + first, end - first);
}

void Streaming::dropUnit(uintptr_t unit) const {
  if (unit != noUnit)
    advise(unit * unitBytes, (unit + 1) * unitBytes, platform::dropPages);
}

void Streaming::prefetch(const void *start, int64_t bytes) const {
  const uintptr_t page = platform::pageBytes();
  if (!contains(start, bytes))
    return;
  uintptr_t first =
      uintptr_t(static_cast<const char *>(start) - mapping.data());
  advise(first / page * page, first + uintptr_t(bytes),
         platform::prefetchPages);
}

void Streaming::fetch(void *to, const void *start, int64_t bytes) const {
  uint64_t done = 0;
  if (file && contains(start, bytes))
    done = file->readAt(
        to, uint64_t(bytes),
        uint64_t(static_cast<const char *>(start) - mapping.data()));
  memcpy(static_cast<char *>(to) + done,
         static_cast<const char *>(start) + done, uint64_t(bytes) - done);
}

void Streaming::release(int64_t thread, const void *start, int64_t bytes) {
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
  uintptr_t &own = waiting[size_t(thread)];
  if (own < unit || own > last)
    dropUnit(own);
  advise(unit * unitBytes, last * unitBytes, platform::dropPages);
  own = last;
}

void Streaming::releaseWaiting() {
  for (uintptr_t &unit : waiting) {
    dropUnit(unit);
    unit = noUnit;
  }
}

} // namespace hone::rt

using hone::rt::Streaming;

extern "C" void hone_prefetch(const hone_frame *frame, const void *start,
                              int64_t bytes) {
  if (frame->streaming)
    reinterpret_cast<Streaming *>(frame->streaming)->prefetch(start, bytes);
}

extern "C" void hone_release(const hone_frame *frame, const void *start,
                             int64_t bytes) {
  if (frame->streaming)
    reinterpret_cast<Streaming *>(frame->streaming)
        ->release(/*thread=*/0, start, bytes);
}

extern "C" void hone_fetch(const hone_frame *frame, void *to, const void *start,
                           int64_t bytes) {
  if (frame->streaming)
    reinterpret_cast<Streaming *>(frame->streaming)->fetch(to, start, bytes);
  else
    memcpy(to, start, uint64_t(bytes));
}
