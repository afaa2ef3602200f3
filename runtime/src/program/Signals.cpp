//===- Signals.cpp - Stopping politely ------------------------------------===//
//
// Exit codes are 128 + signal, as a shell would report them. Faults of the
// program itself keep their default: a core is worth more than an exit code.
//
//===----------------------------------------------------------------------===//

#include "program/Signals.h"

#include "base/Process.h"
#include "platform/Signals.h"

#include <atomic>

namespace hone::rt {

static std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free); // or a signal could hang

static void onSignal(int signal, bool isAsked) {
  // Others come in pairs by themselves: SIGHUP after SIGTERM when a session
  // ends, SIGXCPU every second.
  if (received != 0 && isAsked)
    endProcess(ExitCode(128 + signal));
  if (received == 0)
    received = signal;
}

void installSignalHandlers() {
  platform::handleEndingSignals(onSignal);
  platform::ignoreWriteSignals();
}

bool takeInterrupt() {
  int interrupt = int(ExitCode::Interrupted) - 128;
  return received.compare_exchange_strong(interrupt, 0);
}

ExitCode stopRequested() {
  return received == 0 ? ExitCode::Success : ExitCode(128 + received);
}

} // namespace hone::rt
