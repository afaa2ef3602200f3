//===- Quantity.h - "100Mbit/s" and "10ms" --------------------------------===//

#pragma once

#include "base/Status.h"

#include <string>

namespace hone::simulate {

// Bounds keep sums of virtual time finite and finer than a launch.

/// Bytes in a second, of a number and bit/s or B/s, of which k, M and G are
/// powers of 1,000. `option` is where it was given. Errors: WrongOption.
Result<double> readRate(const std::string &option, const std::string &text);
/// Of a number and us, ms or s. Errors: WrongOption.
Result<double> readSeconds(const std::string &option, const std::string &text);

} // namespace hone::simulate
