//===- PackedWeights.h - Random weights in Hone's own file ----------------===//
//
// Integers are drawn as they are stored, so the file of a model that no float
// would fit on this machine's disk is made in a few MiB of memory.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <string>

namespace hone {

/// Writes the weights file `to` as `manifest` wants it, the path of a file from
/// describeWeights(). Every tensor is a function of `seed`, its name and its
/// place in the manifest alone. On all CPUs. Errors: CannotRead, BadJson;
/// CannotCreate also where the disk lacks the room, before anything is written;
/// WriteFailed.
Status writePackedWeights(const std::string &manifest, uint64_t seed,
                          const std::string &to);

} // namespace hone
