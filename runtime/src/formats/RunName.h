//===- RunName.h - The run that a folder's checkpoints are of -------------===//
//
// Programs that train together keep one name in all their folders, and in those
// of the best adapters, so that what two runs wrote is not taken for one's.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <cstdint>
#include <string>

namespace hone::rt {

/// 0: the folder has none. Errors: DamagedCheckpoint; as MappedFile::open.
Result<uint64_t> readRunName(const std::string &folder);
/// Durable when it returns. Errors: as writeFile.
Status writeRunName(const std::string &folder, uint64_t name);

} // namespace hone::rt
