//===- WeightDigests.h - Whether the weights are those that were compiled -===//
//
// A training binary knows the SHA-256 of each MiB of its weights file. Parts
// and not the whole: every thread takes some, and a message can say where.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "formats/Safetensors.h"
#include "hone/runtime.h"
#include "threads/Pool.h"

#include <string>
#include <string_view>

namespace hone::rt {

/// The digests of `file`, a mapping, as hone_module::weight_digests has them.
/// At most HONE_RESIDENT_UNIT_BYTES of it are resident for each thread, and
/// none in the end.
std::string digestParts(std::string_view file, Pool &pool);

/// Reads all of `file` once. Errors: BadData naming the first part that differs
/// from the one that `module` was compiled with, and a tensor in it.
Status verifyWeights(const SafetensorsFile &file, const hone_module &module,
                     Pool &pool);

} // namespace hone::rt
