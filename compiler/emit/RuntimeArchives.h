//===- RuntimeArchives.h - The half that every training binary shares -----===//
//
// There is a set of archives for each machine that binaries are made for; those
// for this machine lie in the folder itself, others below it.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace hone {

/// The kind of file that the archives are linked into.
enum class RuntimeUse { Program, ProgramWithTasks, Library };

/// Paths of the runtime's archives for Target::toolchain() below `folder`, in
/// link order. An error says what to install if there are none.
Result<std::vector<std::string>> findRuntimeArchives(llvm::StringRef folder,
                                                     llvm::StringRef toolchain,
                                                     RuntimeUse use);

/// Paths of the engines there that carry messages between programs of one
/// model: there is one for each of which the build found the dependencies.
std::vector<std::string> findEngines(llvm::StringRef folder,
                                     llvm::StringRef toolchain);

/// Where the archives are of which `tool`, an executable, is installed beside:
/// ../lib/hone from its folder, or ../lib of a build.
std::string runtimeFolderOf(llvm::StringRef tool);

} // namespace hone
