//===- FrontWording.h - Messages of other programs, in hone's words -------===//

#pragma once

#include "llvm/ADT/StringRef.h"

namespace hone {

/// From here on messages of this process and of those that it starts use the
/// words that a person wrote after `hone COMMAND`: "-o" for "--output" of
/// train. `source`: the run, spec or model that the command was given.
void speakAs(llvm::StringRef command, llvm::StringRef source);

} // namespace hone
