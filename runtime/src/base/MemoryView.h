//===- MemoryView.h - Bytes that may not be where the host sees them ------===//
//
// An address of remote memory is no pointer: the host reads and writes it
// through copies. MemoryView hides which memory it is.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace hone::rt {

class RemoteMemory {
public:
  virtual ~RemoteMemory() = default;

  /// Whether the host reads and writes this memory where it is.
  virtual bool isHostVisible() const = 0;

  /// From and to the host's memory, which is free again on return. Errors:
  /// NoResources, Internal.
  virtual void copyIn(char *to, const void *from, uint64_t bytes) = 0;
  virtual Status copyOut(void *to, const char *from, uint64_t bytes) = 0;
};

/// Bytes that the host reads or writes, wherever they are. Costs nothing where
/// the host can see them.
class MemoryView {
public:
  /// Of the host's memory.
  MemoryView(void *address = nullptr) : start(static_cast<char *>(address)) {}
  MemoryView(RemoteMemory &memory, char *address)
      : remote(memory.isHostVisible() ? nullptr : &memory), start(address) {}

  MemoryView operator+(uint64_t bytes) const {
    MemoryView moved = *this;
    moved.start += bytes;
    return moved;
  }

  /// Calls each(bytes, size) for one part of the first `size` bytes after
  /// another: to read it, or to write all of it. Parts are whole elements of
  /// any type; memory that the host sees is one part. Errors: the first of
  /// each(), or as RemoteMemory::copyOut.
  template <typename Each> Status read(uint64_t size, Each each) const {
    Status status = Status::ok();
    forEachPart(size, [&](char *part, const char *at, uint64_t bytes) {
      if (remote && status.isOk())
        status = remote->copyOut(part, at, bytes);
      if (status.isOk())
        status = each(static_cast<const char *>(part), bytes);
    });
    return status;
  }
  template <typename Each> void write(uint64_t size, Each each) const {
    forEachPart(size, [&](char *part, char *at, uint64_t bytes) {
      each(part, bytes);
      if (remote)
        remote->copyIn(at, part, bytes);
    });
  }

private:
  static constexpr uint64_t PartBytes = 64 * 1024;

  /// Calls each(part, at, bytes): `part` is the host's memory for the bytes
  /// `at`.
  template <typename Each> void forEachPart(uint64_t size, Each each) const {
    if (!remote)
      return each(start, start, size);
    auto buffer = std::make_unique<char[]>(std::min(size, PartBytes));
    for (uint64_t done = 0; done < size; done += PartBytes)
      each(buffer.get(), start + done, std::min(size - done, PartBytes));
  }

  RemoteMemory *remote = nullptr; ///< null: the host sees the bytes
  char *start;
};

} // namespace hone::rt
