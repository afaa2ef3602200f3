//===- Engine.h - Which library carries messages --------------------------===//

#pragma once

#include "base/Status.h"
#include "hone/engine.h"

namespace hone::rt {

/// The engine `name`: of the library hone-exchange-NAME.so in `folder`, or the
/// one that the program was linked with, if that has this name. Errors:
/// NoEngine.
Result<const hone_engine *> findEngine(const std::string &folder,
                                       const std::string &name);

/// Checks that the engine `name`, which was found, can use `address`, the value
/// of `option`, as far as it can tell before it meets a program. Errors:
/// NoEngine;
/// NoMeeting with the engine's reason.
Status checkAddress(const std::string &folder, const std::string &name,
                    const std::string &address, const std::string &option);

/// Which of the programs of one launcher this one is; of no ranks if the engine
/// has no launcher.
struct EnginePlace {
  uint32_t rank = 0, ranks = 1;
};

/// The place that the engine `name` tells. It may wait until all programs have
/// begun. Errors: NoEngine, NoMeeting.
Result<EnginePlace> findPlace(const std::string &folder,
                              const std::string &name);

} // namespace hone::rt
