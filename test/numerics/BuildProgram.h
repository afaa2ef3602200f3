//===- BuildProgram.h - A module from text as a program for one target ----===//

#pragma once

#include "compiler/selfcheck/EntryProgram.h"
#include "targets/Target.h"

namespace hone {

/// Exits with a message if `ir` cannot be compiled. `bfloat16Products`:
/// products may round their operands.
EntryProgram buildProgram(llvm::StringRef ir, const Target &target,
                          bool bfloat16Products);

} // namespace hone
