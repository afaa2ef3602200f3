//===- RunName.h - The run that a folder's checkpoints are of -------------===//
//
// Programs that train together keep one name in all their folders, and in those
// of the best adapters, so that files of two runs are not taken for one's.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace hone::rt {

/// The 16 hexadecimal digits that `line`, with its end, has and nothing else;
/// empty: it is none of a run's name.
std::string_view runNameDigits(std::string_view line);

/// 0: the folder has none. Errors: DamagedCheckpoint; as MappedFile::open.
Result<uint64_t> readRunName(const std::string &folder);
/// Durable when it returns. Errors: as writeFile.
Status writeRunName(const std::string &folder, uint64_t name);

} // namespace hone::rt
