//===- GivenFiles.h - Files that the command line names -------------------===//

#ifndef HONE_RUNTIME_PROGRAM_GIVENFILES_H
#define HONE_RUNTIME_PROGRAM_GIVENFILES_H

#include "base/Status.h"
#include "program/Options.h"

namespace hone::rt {

/// Before anything is read: no file that the run writes is one that it reads or
/// writes for something else, and those that are written at its end can be.
/// `weights` is the path of the weights. Errors: OptionsDisagree, CannotCreate.
Status checkGivenFiles(const Options &options, const std::string &weights);

} // namespace hone::rt

#endif
