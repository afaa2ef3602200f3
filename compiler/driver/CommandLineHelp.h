//===- CommandLineHelp.h - The text of a tool's --help --------------------===//

#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace hone {

/// The help of a tool or a command, made from LLVM's own, `said`: its rows, in
/// the columns of all our programs. Other text is returned unchanged.
std::string commandLineHelp(llvm::StringRef said);

} // namespace hone
