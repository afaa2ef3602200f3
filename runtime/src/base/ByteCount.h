//===- ByteCount.h - Bytes as a person reads them -------------------------===//

#pragma once

#include <cstdint>
#include <string>

namespace hone::rt {

inline double inMebibytes(uint64_t bytes) {
  return double(bytes) / (1024 * 1024);
}

/// "143.2 MiB", "812 B".
std::string describeBytes(uint64_t bytes);

} // namespace hone::rt
