//===- ProgramFolder.h - Programs and their weights, all or none ----------===//
//
// A program maps the weights beside it, whose digests it has: they are written
// first, under temporary names, and all appear together.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/driver/PhaseTimes.h"
#include "compiler/weights/WeightWriter.h"
#include "targets/ModuleDescription.h"
#include "targets/Target.h"

namespace hone {

/// A program of a folder: its lowered module, and the module's description,
/// without the weights.
struct FolderProgram {
  std::string name;
  mlir::ModuleOp module;
  ModuleDescription description;
};

struct ProgramFolder {
  std::string path;
  std::vector<FolderProgram> programs; ///< which have the same weights
  WeightFile weights;
  const WeightIndex &tensors; ///< of the model
  const Target &target;
  std::vector<std::string> archives; ///< see findRuntimeArchives
  std::string linker;                ///< see LinkRequest
  bool describesQuantization;        ///< on standard output
  /// Written in place of the weights, which have no digests then; or null.
  const std::string *manifest = nullptr;
  /// A library of the programs' models in their place, see ModelLibrary.h.
  bool isLibrary = false;
  /// Copied beside programs that exchange messages; see findEngines.
  std::vector<std::string> engines = {};
};

/// Makes `folder`, unless it is there, and waits for another honec that writes
/// it. On an error nothing new is in it.
/// Errors: CannotCreate, LinkFailed, those of writeWeights.
Status writeFolder(ProgramFolder folder, PhaseTimes &times);

/// mkdir -p with the mode of the umask.
std::error_code createFolder(const std::string &path);

} // namespace hone
