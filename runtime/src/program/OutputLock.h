//===- OutputLock.h - One run at a time in an output folder ---------------===//
//
// Held until the process ends, however it ends: the system drops the lock of
// a killed process. The file "lock" itself stays and means nothing.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_PROGRAM_OUTPUTLOCK_H
#define HONE_RUNTIME_PROGRAM_OUTPUTLOCK_H

#include "base/Status.h"

#include <string>

namespace hone::rt {

class OutputLock {
public:
  OutputLock() = default;
  ~OutputLock();
  OutputLock(const OutputLock &) = delete;
  OutputLock &operator=(const OutputLock &) = delete;

  /// `directory` must exist. Errors: Usage when another process holds it;
  /// CannotCreate.
  Status acquire(const std::string &directory);

private:
  int file = -1;
};

} // namespace hone::rt

#endif
