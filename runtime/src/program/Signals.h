//===- Signals.h - Stopping politely --------------------------------------===//
//
// The first SIGINT or SIGTERM only sets a flag that the trainer reads between
// steps; the second ends the process at once. Either way a later run resumes.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_PROGRAM_SIGNALS_H
#define HONE_RUNTIME_PROGRAM_SIGNALS_H

#include "base/Status.h"

namespace hone::rt {

/// Installs the handlers. Call once, before threads are started.
void installStopHandlers();

/// Success while the run should go on, else Interrupted or Terminated.
ExitCode stopRequested();

} // namespace hone::rt

#endif
