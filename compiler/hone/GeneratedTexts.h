//===- GeneratedTexts.h - A model's texts before training and after it ----===//

#pragma once

#include "base/Status.h"

#include <string>

namespace hone {

/// Lets the program `generate` go on with the prompts of the samples in the
/// report of the run in `folder`, without its adapter and with it, and appends
/// both to the report. Takes about a minute at most: prompts that it does not
/// come to are left out. Returns how many there are. Errors: CannotRead.
Result<unsigned> addGeneratedTexts(const std::string &folder,
                                   const std::string &generate);

} // namespace hone
