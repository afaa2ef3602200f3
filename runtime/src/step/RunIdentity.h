//===- RunIdentity.h - A run's identity, and its numerics -----------------===//
//
// Two lists of named values. A folder's run goes on only with its own. Threads,
// memory plan, tiles and streaming are in neither, since no bit depends on
// them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "formats/Checkpoint.h"
#include "module/Module.h"
#include "module/Settings.h"

#include <string>
#include <vector>

namespace hone::rt {

/// Of a run of `steps` steps with `settings`, on data of the name `data`.
/// `more` are settings of the program's own that say something: a run stays the
/// same one when programs learn another.
CheckpointIdentity identityOf(const Module &module, const Settings &settings,
                              const std::vector<const Setting *> &more,
                              const std::string &data, uint64_t steps);

/// "NAME (was X, now Y), ..." for each name whose values differ; of two lists
/// with commas only the items that the other lacks. Empty: none differs.
std::string describeDifferences(const CheckpointFields &before,
                                const CheckpointFields &now);

} // namespace hone::rt
