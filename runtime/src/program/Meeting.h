//===- Meeting.h - Where programs of one model meet -----------------------===//

#pragma once

#include "program/Options.h"

#include <string>
#include <vector>

namespace hone::rt {

/// Turns --serve, --connect, --keys and --admit into --exchange grpc and its
/// --exchange-at; nothing if neither of the first two is given. Errors:
/// MissingOption, OptionsDisagree, WrongOption.
Status meetOverNetwork(Options &options);

/// Checks that a program can meet the programs `peers` at the addresses of the
/// options, as far as it can tell before it meets one. It listens from then on.
/// Errors: NoEngine, NoMeeting.
Status checkMeeting(const Options &options,
                    const std::vector<std::string> &peers);

} // namespace hone::rt
