//===- TaskFormat.h - Tasks as a format of data ---------------------------===//

#pragma once

#include "data/CandidateFormat.h"

#include <memory>
#include <string>

namespace hone::rt {

/// The task of this name; null if there is none.
std::unique_ptr<CandidateFormat> findTask(const std::string &name);

} // namespace hone::rt
