//===- CommandLineError.h - Errors of a command line ----------------------===//

#pragma once

#include "base/Status.h"

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace hone {

/// The error that LLVM's parser printed as `said`, in this project's form.
/// `command`: as a person writes it, such as "hone finetune"; `usage`: with its
/// arguments. Errors: WrongOption, always.
Status commandLineError(llvm::StringRef command, llvm::StringRef usage,
                        llvm::StringRef said);

/// Of the arguments of `command` (without the tool's name): none may be empty,
/// since an empty text would stand for a default that nobody asked for.
/// Arguments after `--` are another program's, and with `passesOn` those after
/// the first that is no option, too. Errors: WrongOption.
Status checkEmptyArguments(const std::string &command,
                           const std::vector<std::string> &arguments,
                           bool passesOn);

} // namespace hone
