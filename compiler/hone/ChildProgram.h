//===- ChildProgram.h - Programs that this one starts ---------------------===//

#pragma once

#include "base/Status.h"

#include <string>
#include <vector>

namespace hone {

/// Becomes the program, so that its exit code and its signals are this one's.
/// Returns only with an error: CannotRead.
Status becomeProgram(const std::string &path,
                     const std::vector<std::string> &arguments);

/// Runs the program and waits. A signal to end goes to the program, which
/// reports it. Returns its exit code, 128 + N if signal N ended it. Errors:
/// CannotRead.
Result<int> runProgram(const std::string &path,
                       const std::vector<std::string> &arguments);

struct ProgramOutput {
  int code = 0; ///< as runProgram() has it
  std::string text;
};
/// The same, and returns its standard output; its standard error is dropped.
/// Errors: CannotRead.
Result<ProgramOutput> captureProgram(const std::string &path,
                                     const std::vector<std::string> &arguments);

/// The command as a person types it in a shell.
std::string shellCommand(const std::vector<std::string> &words);

} // namespace hone
