//===- Memory.h - The memory of a device ----------------------------------===//
//
// Addresses are those of a range in which nothing is mapped, so that a host
// that uses one as a pointer ends there. Between allocations is at least one
// unused line: the byte beyond an end belongs to no allocation.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Shadow.h"

#include <map>
#include <memory>

namespace hone::ptx {

struct Region {
  uint64_t start = 0, bytes = 0;
};

class Memory {
public:
  ~Memory();

  /// `capacity`: the most bytes of all allocations together. False: the system
  /// refuses the address range.
  bool create(uint64_t capacity);

  /// 0: no room.
  uint64_t allocate(uint64_t bytes, uint64_t alignment = 256);
  bool free(uint64_t address);

  /// The allocation that holds all of it, or null.
  const Region *find(uint64_t address, uint64_t bytes) const;
  /// The last one that begins at or before `address`, or null.
  const Region *nearest(uint64_t address) const;
  /// each(region) for all allocations, by address.
  template <typename Each> void visit(Each each) const {
    for (const auto &[start, region] : regions)
      each(*region);
  }
  bool contains(uint64_t address) const { return address - base < range; }

  /// Where the machine has these bytes; only of addresses in an allocation.
  char *data(uint64_t address) { return backing + (address - base); }
  uint64_t offset(uint64_t address) const { return address - base; }
  Shadow &shadow() { return bytesShadow; }

  uint64_t capacity() const { return limit; }
  uint64_t used() const { return taken; }
  uint64_t peak() const { return most; }
  /// Grows when an allocation goes: earlier look-ups are stale.
  uint64_t generation() const { return changes; }

private:
  uint64_t base = 0, range = 0, limit = 0, taken = 0, most = 0, changes = 0;
  char *backing = nullptr;
  std::map<uint64_t, std::unique_ptr<Region>> regions;
  Shadow bytesShadow;
};

} // namespace hone::ptx
