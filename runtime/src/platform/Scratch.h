//===- Scratch.h - A file for values that do not fit into memory ----------===//
//
// Its bytes are read by their writer, once, and should not take memory in the
// system's cache meanwhile.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "platform/Files.h"

#include <cstdint>

namespace hone::rt::platform {

/// Gives `file` room for its first `size` bytes, so that to write there fails
/// for no lack of it, as far as the file system can promise that.
Error reserve(const File &file, uint64_t size);

/// All of them, or an error.
Error writeAt(const File &file, const void *bytes, uint64_t size,
              uint64_t offset);

/// From now on reads and writes pass the system's cache by, or no longer do.
/// Places in the file, sizes and addresses are then multiples of `directBlock`.
/// False: this file knows no such way.
bool passCacheBy(const File &file, bool passes);
constexpr uint64_t directBlock = 4096;

/// Brings cached bytes of [offset, offset + size) to the disk and lets the
/// cache go, as far as the system does either. An error if bytes could not be
/// written.
Error dropCache(const File &file, uint64_t offset, uint64_t size);

} // namespace hone::rt::platform
