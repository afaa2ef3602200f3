//===- ByteCount.h - Bytes as a person reads them -------------------------===//

#pragma once

#include <cstdint>
#include <string>

namespace hone::rt {

/// "143.2 MiB", "812 B".
std::string describeBytes(uint64_t bytes);

} // namespace hone::rt
