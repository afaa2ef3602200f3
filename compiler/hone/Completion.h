//===- Completion.h - The command line, completed by a shell --------------===//

#pragma once

#include <string>

namespace hone {

/// A script for bash that completes commands, their options and files, from the
/// options that are registered.
std::string bashCompletion();

} // namespace hone
