//===- Launch.h - The programs that one launcher started ------------------===//

#pragma once

#include "exchange/Engine.h"
#include "program/Options.h"
#include "step/Transport.h"

#include <string>
#include <vector>

namespace hone::rt {

/// The rank of this program; the only one, if it is to share nothing. Errors:
/// NoEngine, NoMeeting.
Result<EnginePlace> placeOf(const Options &options);

/// How long this program waits for others: --timeout, or until a signal.
Patience patienceOf(const Options &options);

/// Checks that a launcher, if the engine has one, started as many programs as
/// `programs` has. Errors: NoEngine, NoMeeting.
Status checkLaunch(const Options &options,
                   const std::vector<std::string> &programs);

} // namespace hone::rt
