//===- Streaming.h - Which pages of the weights are resident --------------===//
//
// One for each program that runs: what it lets go is of its own mapping, and
// its threads wait with units of their own.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "hone/runtime.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace hone::rt {

class Streaming {
public:
  /// Of a mapped file that outlives it, by threads below `threads`. Nothing
  /// outside of the mapping is ever let go.
  Streaming(std::string_view mapping, unsigned threads);

  /// See hone_prefetch and hone_release.
  void prefetch(const void *start, int64_t bytes) const;
  void release(int64_t thread, const void *start, int64_t bytes);
  /// Lets go what threads wait with.
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
  /// By thread: the unit that it let go last, and that is still there.
  std::vector<uintptr_t> waiting;
};

} // namespace hone::rt
