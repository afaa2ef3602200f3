//===- RecentNames.h - The newest names of messages -----------------------===//
//
// A session knows by them which messages come twice. They are many, so each
// takes 32 bytes, in the order in which they came, and is found by lists of
// names with the same hash, the newest first.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "exchange/Frame.h"

#include <memory>
#include <vector>

namespace hone::rt {

class RecentNames {
public:
  /// The newest `most`, up to 65535.
  explicit RecentNames(uint32_t most);
  /// Memory of so many.
  static constexpr uint64_t bytes(uint32_t most) {
    return most * (sizeof(Entry) + sizeof(uint16_t));
  }

  bool contains(const MessageName &name) const;
  /// One that it does not contain; forgets the oldest of too many.
  void insert(const MessageName &name);
  void clear();

private:
  struct Entry {
    uint64_t step, channel, index;
    uint32_t schedule;
    uint16_t older; ///< as `newest`
  };

  uint32_t listOf(const MessageName &name) const;
  void forget(uint32_t place);

  /// The place of each list's newest name, counted from 1; 0: it is empty.
  std::vector<uint16_t> newest;
  /// Not written, and so not resident, until there are so many.
  std::unique_ptr<Entry[]> entries;
  const uint32_t most;
  uint32_t count = 0, next = 0;
};

} // namespace hone::rt
