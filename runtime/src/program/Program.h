//===- Program.h - The training program without its main() ----------------===//
//
// A separate function so that tests can link the runtime, and so that a
// training binary is this, a main() of one line and the generated object.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Process.h"
#include "data/CandidateFormat.h"
#include "hone/runtime.h"

#include <memory>
#include <string>

namespace hone::rt {

/// The task of a name, where the program has tasks.
using FindTask = std::unique_ptr<CandidateFormat>(const std::string &name);

/// Runs the command line and returns the exit code; see base/Status.h.
int runProgram(const hone_module &compiled, int argc, char **argv,
               ProcessUse use = ProcessUse::Shared,
               FindTask *findTask = nullptr);

} // namespace hone::rt
