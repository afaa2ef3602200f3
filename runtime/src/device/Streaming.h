//===- Streaming.h - Which pages of the weights are resident --------------===//
//
// One for each program that runs: it lets go of pages of its own mapping, and
// its threads wait with units of their own.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "hone/runtime.h"
#include "platform/Files.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace hone::rt {

class Streaming {
public:
  /// Of a mapped file that outlives it, by threads below `threads`. Nothing
  /// outside of the mapping is ever let go. `file` is the same, if it is open.
  Streaming(std::string_view mapping, unsigned threads,
            const platform::File *file = nullptr);

  /// See hone_prefetch and hone_release, which is of thread 0.
  void prefetch(const void *start, int64_t bytes) const;
  /// See hone_fetch. Bytes that a read of the file does not give come from its
  /// mapping.
  void fetch(void *to, const void *start, int64_t bytes) const;
  void release(int64_t thread, const void *start, int64_t bytes);
  /// Lets go of the units that threads wait with.
  void releaseWaiting();

  hone_streaming *handle() { return reinterpret_cast<hone_streaming *>(this); }

private:
  bool contains(const void *start, int64_t bytes) const;
  /// Gives `hint` for [first, end) of the mapping, as offsets; `first` is a
  /// multiple of the page size.
  void advise(uintptr_t first, uintptr_t end,
              void (*hint)(const char *start, uint64_t bytes)) const;
  void dropUnit(uintptr_t unit) const;

  std::string_view mapping;
  const platform::File *file;
  /// By thread: the unit that it let go last, and that is still there.
  std::vector<uintptr_t> waiting;
};

} // namespace hone::rt
