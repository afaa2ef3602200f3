//===- Machine.h - What a run may take of this machine --------------------===//

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hone {

struct Machine {
  /// Bytes that programs can still take without another one being paged out;
  /// 0: the system does not tell.
  uint64_t freeMemory = 0;
  /// What decides which instructions target: native compiles to.
  std::string processor;

  /// Asks the system.
  static Machine read();
};

/// What Linux says of memory, as its files have it; a file that is not there is
/// empty. The less of what the machine and the control group (version 2) have.
uint64_t freeMemory(const std::string &meminfo, const std::string &limit,
                    const std::string &current);

} // namespace hone
