//===- ByteCount.cpp - Bytes as a person reads them -----------------------===//

#include "base/ByteCount.h"

#include <cstdio>

namespace hone::rt {

std::string describeBytes(uint64_t bytes) {
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
  char text[32];
  if (bytes < 1024) {
    snprintf(text, sizeof(text), "%u B", unsigned(bytes));
    return text;
  }
  double value = double(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 3; ++unit)
    value /= 1024;
  snprintf(text, sizeof(text), "%.1f %s", value, units[unit]);
  return text;
}

} // namespace hone::rt
