//===- Signals.cpp - Stopping politely ------------------------------------===//
//
// Exit codes are 128 + signal, as a shell would report them.
//
//===----------------------------------------------------------------------===//

#include "program/Signals.h"

#include <csignal>
#include <unistd.h>

namespace hone::rt {

static volatile sig_atomic_t received = 0;

static void onSignal(int signal) {
  if (received != 0)
    _exit(128 + signal);
  received = signal;
}

void installStopHandlers() {
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART; // a write in progress is not cut short
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

ExitCode stopRequested() {
  switch (received) {
  case SIGINT:
    return ExitCode::Interrupted;
  case SIGTERM:
    return ExitCode::Terminated;
  default:
    return ExitCode::Success;
  }
}

} // namespace hone::rt
