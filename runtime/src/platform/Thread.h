//===- Thread.h - A thread whose stack has a known size -------------------===//
//
// That is why it is not std::thread. Locks and clocks are the standard
// library's.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <system_error>

namespace hone::rt::platform {

class Thread {
public:
  /// Runs run(argument) on a thread with a stack of `stackBytes`, or the least
  /// that the system has. To be joined.
  std::error_code start(uint64_t stackBytes, void *(*run)(void *argument),
                        void *argument);
  void join() const;

private:
  uintptr_t id = 0;
};

} // namespace hone::rt::platform
