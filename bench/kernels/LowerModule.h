//===- LowerModule.h - Blocks of the Hone dialect, as tile ops ------------===//

#pragma once

#include "targets/Target.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <utility>

namespace hone {

/// The module `text` in tile ops, as text, and the bytes of its arena; with
/// `rounds` its products have operands of bfloat16. `program` names the program
/// in the message with which it ends if that fails.
std::pair<std::string, int64_t> lowerModule(llvm::StringRef program,
                                            llvm::StringRef text, bool rounds,
                                            Target &target);

} // namespace hone
