//===- Identity.h - What a run is, and how its numbers are computed -------===//
//
// Two lists of named values. A folder's run goes on only with its own; what no
// bit depends on is in neither: threads, memory plan, tiles, streaming.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_PROGRAM_IDENTITY_H
#define HONE_RUNTIME_PROGRAM_IDENTITY_H

#include "data/Dataset.h"
#include "formats/Checkpoint.h"
#include "module/Module.h"
#include "program/Options.h"

#include <string>

namespace hone::rt {

/// Of a run of `steps` steps on what Dataset::name() calls `data`.
CheckpointIdentity identityOf(const Module &module, const Options &options,
                              const std::string &data, uint64_t steps);

/// "NAME (was X, now Y), ..." for each name whose values differ; of two lists
/// with commas only the items that the other lacks. Empty: none differs.
std::string describeDifferences(const CheckpointFields &before,
                                const CheckpointFields &now);

} // namespace hone::rt

#endif
