//===- Memory.cpp - The memory of a device --------------------------------===//

#include "Memory.h"

#include <algorithm>
#include <sys/mman.h>

namespace hone::ptx {

static constexpr uint64_t kGap = 256;

bool Memory::create(uint64_t capacity) {
  limit = capacity;
  // Half as much again, for gaps.
  range = (capacity + capacity / 2 + (16 << 20)) / 4096 * 4096;
  void *addresses = mmap(nullptr, range, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void *bytes = mmap(nullptr, range, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses == MAP_FAILED || bytes == MAP_FAILED)
    return false;
  base = reinterpret_cast<uint64_t>(addresses);
  backing = static_cast<char *>(bytes);
  return bytesShadow.reserve(range);
}

Memory::~Memory() {
  if (!backing)
    return;
  munmap(backing, range);
  munmap(reinterpret_cast<void *>(base), range);
}

uint64_t Memory::allocate(uint64_t bytes, uint64_t alignment) {
  if (bytes == 0 || bytes > limit - taken)
    return 0;
  alignment = std::max<uint64_t>(alignment, 16);
  // The first hole that is large enough.
  uint64_t at = (base + kGap + alignment - 1) / alignment * alignment;
  for (const auto &[start, region] : regions) {
    if (at + bytes + kGap <= start)
      break;
    at = (start + region->bytes + kGap + alignment - 1) / alignment * alignment;
  }
  if (at + bytes + kGap > base + range)
    return 0;
  regions[at] = std::make_unique<Region>(Region{at, bytes});
  taken += bytes;
  most = std::max(most, taken);
  bytesShadow.setWritten(offset(at), bytes, false);
  return at;
}

bool Memory::free(uint64_t address) {
  auto found = regions.find(address);
  if (found == regions.end())
    return false;
  taken -= found->second->bytes;
  // The pages go, too.
  const uint64_t first = (offset(address) + 4095) / 4096 * 4096,
                 end = (offset(address) + found->second->bytes) / 4096 * 4096;
  if (end > first)
    madvise(backing + first, end - first, MADV_DONTNEED);
  regions.erase(found);
  ++changes;
  return true;
}

const Region *Memory::nearest(uint64_t address) const {
  auto after = regions.upper_bound(address);
  return after == regions.begin() ? nullptr : std::prev(after)->second.get();
}

const Region *Memory::find(uint64_t address, uint64_t bytes) const {
  const Region *region = nearest(address);
  if (!region || address - region->start > region->bytes ||
      bytes > region->bytes - (address - region->start))
    return nullptr;
  return region;
}

} // namespace hone::ptx
