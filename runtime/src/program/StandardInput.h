//===- StandardInput.h - Input of programs that no file has ---------------===//

#pragma once

#include "base/Status.h"

#include <string>

namespace hone::rt {

/// Appends to `out` bytes of standard input as soon as there are any; `isEnd`
/// becomes true at its end. Errors: Stopped when a signal asks the program to
/// stop, ReadFailed.
Status readSome(std::string &out, bool &isEnd);

} // namespace hone::rt
