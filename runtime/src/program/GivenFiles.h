//===- GivenFiles.h - Files that the command line names -------------------===//

#pragma once

#include "base/Status.h"
#include "formats/ModelFolder.h"
#include "program/Options.h"

#include <optional>
#include <string>
#include <vector>

namespace hone::rt {

/// The paths of the files that the run leaves at its end in --output, and in
/// best/ below it: the files of `model`, or of an adapter if there is none.
std::vector<std::string> resultFiles(const Options &options,
                                     const std::optional<ModelLayout> &model);

/// Before data is read: no file that the run writes is one that it reads or
/// writes for something else, and those that are written at its end can be.
/// `weights` is the path of the weights. Errors: OptionsDisagree, CannotCreate.
Status checkGivenFiles(const Options &options, const std::string &weights,
                       const std::optional<ModelLayout> &model);

} // namespace hone::rt
