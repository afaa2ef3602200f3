//===- LoadedModule.h - A lowered module in this process ------------------===//
//
// The object file is the one that honec would link; LLVM's in-memory linker
// only loads it.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/Target.h"

#include <cstdint>
#include <memory>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace hone {

class LoadedModule {
public:
  LoadedModule();
  /// Loads the code that `target` emits for the lowered `module`. An error if
  /// this machine cannot run it; one of the system is of the object file, a
  /// temporary.
  static llvm::Expected<LoadedModule>
  load(mlir::ModuleOp module, const Target &target,
       const ModuleDescription &description);
  ~LoadedModule();
  LoadedModule(LoadedModule &&other) noexcept;
  LoadedModule &operator=(LoadedModule &&other) noexcept;

  const hone_module &operator*() const { return *compiled; }
  const hone_module *operator->() const { return compiled; }

private:
  std::unique_ptr<llvm::orc::LLJIT> loader;
  const hone_module *compiled = nullptr;
};

/// Empties the bodies of a lowered module's tasks, for callers that only want
/// to know the launches.
void emptyTasks(mlir::ModuleOp lowered);

/// The first multiple of 64 bytes from `start` on.
inline char *align64(char *start) {
  return start + (64 - reinterpret_cast<uintptr_t>(start) % 64) % 64;
}

} // namespace hone
