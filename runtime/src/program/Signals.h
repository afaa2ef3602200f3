//===- Signals.h - Stopping politely --------------------------------------===//
//
// A signal that would end the process only sets a flag, which is read between
// steps and while data is prepared; a later run resumes. A second SIGINT,
// SIGQUIT or SIGTERM ends the process at once. Writing to a closed pipe or
// beyond a limit on file size is an error of that write.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

namespace hone::rt {

/// Call once, before anything is written and before threads are started. What
/// was ignored, as SIGHUP by nohup, stays so, except the three.
void installSignalHandlers();

/// Success while the program should go on, else 128 + the signal's number.
ExitCode stopRequested();

/// Whether SIGINT is what asks the program to stop, and forgets it: a person
/// may end a part of what a program does and go on.
bool takeInterrupt();

} // namespace hone::rt
