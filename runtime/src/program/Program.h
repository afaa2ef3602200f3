//===- Program.h - The training program without its main() ----------------===//
//
// A separate function so that tests can link the runtime, and so that a
// training binary is this, a main() of one line and the generated object.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_PROGRAM_PROGRAM_H
#define HONE_RUNTIME_PROGRAM_PROGRAM_H

#include "hone/runtime.h"

namespace hone::rt {

/// Runs the command line and returns the exit code; see base/Status.h.
int runProgram(const hone_module &compiled, int argc, char **argv);

} // namespace hone::rt

#endif
