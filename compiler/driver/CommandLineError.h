//===- CommandLineError.h - What is wrong with a command line -------------===//

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
/// since an empty text would stand for a default that nobody asked for. What
/// follows the first that is no option is another program's if `passesOn`, and
/// so is what follows `--`. Errors: WrongOption.
Status checkEmptyArguments(const std::string &command,
                           const std::vector<std::string> &arguments,
                           bool passesOn);

} // namespace hone
