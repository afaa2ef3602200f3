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

} // namespace hone::rt
