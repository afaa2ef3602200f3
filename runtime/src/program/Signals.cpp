//===- Signals.cpp - Stopping politely ------------------------------------===//
//
// Exit codes are 128 + signal, as a shell would report them. Faults of the
// program itself keep their default: a core is worth more than an exit code.
//
//===----------------------------------------------------------------------===//

#include "program/Signals.h"

#include "base/Process.h"

#include <csignal>

namespace hone::rt {

static volatile sig_atomic_t received = 0;

/// Signals that a person sends.
static bool isAsked(int signal) {
  return signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
}

static void onSignal(int signal) {
  // Others come in pairs by themselves: SIGHUP behind SIGTERM when a session
  // ends, SIGXCPU every second.
  if (received != 0 && isAsked(signal))
    endProcess(ExitCode(128 + signal));
  if (received == 0)
    received = signal;
}

static void stopOn(int signal) {
  struct sigaction action = {};
  // A shell ignores SIGINT and SIGQUIT for what it runs in the background.
  if (sigaction(signal, nullptr, &action) != 0 ||
      (action.sa_handler != SIG_DFL && !isAsked(signal)))
    return;
  action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART; // a write in progress is not cut short
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

void installSignalHandlers() {
  for (int signal : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,
                     SIGTERM, SIGVTALRM, SIGPROF, SIGXCPU})
    stopOn(signal);
#ifdef __linux__
  for (int signal : {SIGIO, SIGPWR, SIGSTKFLT})
    stopOn(signal);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal)
    stopOn(signal);
#endif
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

ExitCode stopRequested() {
  return received == 0 ? ExitCode::Success : ExitCode(128 + received);
}

} // namespace hone::rt
