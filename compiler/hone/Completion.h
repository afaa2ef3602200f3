//===- Completion.h - The command line, completed by a shell --------------===//

#ifndef HONE_COMPILER_HONE_COMPLETION_H
#define HONE_COMPILER_HONE_COMPLETION_H

#include <string>

namespace hone {

/// A script for bash that completes commands, their options and files, from the
/// options that are registered.
std::string bashCompletion();

} // namespace hone

#endif
