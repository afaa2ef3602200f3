//===- CommandLine.h - How a tool begins and ends -------------------------===//

#ifndef HONE_COMPILER_DRIVER_COMMANDLINE_H
#define HONE_COMPILER_DRIVER_COMMANDLINE_H

#include "base/Status.h"

namespace hone {

/// Reads the command line into the tool's llvm::cl options; --help prints
/// `overview` and exits. Errors: Usage.
rt::Status parseCommandLine(int argc, char **argv, const char *overview);

/// Prints the error, if there is one. Returns the exit code.
int reportStatus(const rt::Status &status);

} // namespace hone

#endif
