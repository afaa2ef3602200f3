//===- CommandLineError.h - What is wrong with a command line -------------===//

#pragma once

#include "base/Status.h"

#include "llvm/ADT/StringRef.h"

namespace hone {

/// The error that LLVM's parser printed as `said`, in this project's form.
/// `command`: as a person writes it, such as "hone finetune"; `usage`: with its
/// arguments. Errors: WrongOption, always.
Status commandLineError(llvm::StringRef command, llvm::StringRef usage,
                        llvm::StringRef said);

} // namespace hone
