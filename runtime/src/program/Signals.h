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

/// Call once, before anything is written and before threads are started.
/// Signals that were ignored, as SIGHUP by nohup, stay so, except the three.
void installSignalHandlers();

/// Success while the program should go on, else 128 + the signal's number.
ExitCode stopRequested();

/// Whether SIGINT asked the program to stop, and forgets it: a person may end
/// one task of a program and go on.
bool takeInterrupt();

} // namespace hone::rt
