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

/// That a program can meet the programs `peers` where options say,
/// as far as it can be told before anybody is met. It listens from then on.
/// Errors: NoEngine, NoMeeting.
Status checkMeeting(const Options &options,
                    const std::vector<std::string> &peers);

} // namespace hone::rt
