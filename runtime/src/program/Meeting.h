//===- Meeting.h - Where programs of one model meet -----------------------===//

#pragma once

#include "program/Options.h"

namespace hone::rt {

/// What --serve, --connect, --keys and --admit say, as --exchange grpc and its
/// --exchange-at; nothing if neither of the first two is given. Errors:
/// MissingOption, OptionsDisagree, WrongOption.
Status meetOverNetwork(Options &options);

} // namespace hone::rt
