//===- GenerateProgram.h - The program that generates text ----------------===//

#pragma once

#include "base/Process.h"
#include "base/Status.h"
#include "hone/runtime.h"

#include <string>
#include <vector>

namespace hone::rt {

/// Runs the command line of a program whose module generates. `outcome` is
/// Success, or 128 + a signal's number.
Status runGeneration(const hone_module &compiled,
                     const std::vector<std::string> &arguments, ProcessUse use,
                     ExitCode &outcome);

} // namespace hone::rt
