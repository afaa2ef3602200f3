//===- Machine.h - The machine's memory and processor ---------------------===//

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hone {

struct Machine {
  /// Bytes that programs can still take without another one being paged out;
  /// 0: the system does not tell.
  uint64_t freeMemory = 0;
  /// The name that decides which instructions `target: native` compiles to.
  std::string processor;

  /// Asks the system.
  static Machine read();
};

/// The free memory of the machine or of the control group (version 2), the less
/// of the two. Arguments are the text of Linux's files; a missing file is
/// empty.
uint64_t freeMemory(const std::string &meminfo, const std::string &limit,
                    const std::string &current);

} // namespace hone
