//===- CommandLine.h - How a tool begins and ends -------------------------===//

#pragma once

#include "base/Status.h"

#include <string>

namespace hone {

/// Call first in main(), after llvm::InitLLVM and before there are options:
/// LLVM's own flags go, of which one is called stop-after. From here on a
/// signal ends the tool with 128 + its number and a refused allocation with 71,
/// without the output that it was writing; beyond a limit on file size, or into
/// a closed pipe, only the write fails. Output is checked at exit.
void beginTool();

/// Standard output is checked when the tool ends: 74, unless the reader of a
/// pipe has gone, which had enough. beginTool() calls it.
void checkOutputAtExit();

/// Signals wait while one of these lives: for a child that would go on writing
/// when the tool is gone, such as a linker.
class SignalsWait {
public:
  SignalsWait();
  ~SignalsWait();
  SignalsWait(const SignalsWait &) = delete;
  SignalsWait &operator=(const SignalsWait &) = delete;
};

/// Reads the command line into the tool's llvm::cl options; --help prints
/// `overview` and exits. Errors: Usage.
Status parseCommandLine(int argc, char **argv, const char *overview);

/// The error as it is printed: in hone's words, if it is hone that was called.
std::string inWords(const Status &status);

/// Prints the error, if there is one. Returns the exit code.
int reportStatus(const Status &status);

} // namespace hone
