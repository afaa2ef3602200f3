//===- Signals.h - Signals that interrupt a process -----------------------===//
//
// Handlers are called on the stack of whichever thread was interrupted and may
// call only async-signal-safe functions.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <vector>

namespace hone::rt::platform {

/// Signals that end a process by default and say nothing of a fault in it.
std::vector<int> endingSignals();

/// Calls handler(signal, isAsked) for each of endingSignals(); `isAsked` says
/// that a person sends it. An ignored signal stays so, unless it is asked.
void handleEndingSignals(void (*handler)(int signal, bool isAsked));

/// Writing to a closed pipe or beyond a limit on file size is from now on an
/// error of that write, and no signal.
void ignoreWriteSignals();

/// Calls handler(address) for an access to a mapped page that its file has no
/// longer. It returns false for an address that is not its own: the access
/// then ends the process as it does by default.
void handleLostPages(bool (*handler)(uintptr_t address));

} // namespace hone::rt::platform
