//===- StandardInput.h - What programs read that no file has --------------===//

#pragma once

#include "base/Status.h"

#include <string>

namespace hone::rt {

/// Appends to `out` what standard input has as soon as there is any; `isEnd`
/// becomes true at its end. Errors: Stopped when a signal asks the program to
/// stop, ReadFailed.
Status readSome(std::string &out, bool &isEnd);

} // namespace hone::rt
