//===- TileProgram.h - Compile tile IR and run it in this process ---------===//
//
// The device is serial and runs iterations backwards, so code that relies on an
// order fails.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/host/LoadedModule.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hone {

/// Text of `hone_entry_main` with `body` inside. `%arena` is the arena and
/// `%rows` the frame's row count as an index; constants are `%c0`, `%c1`.
std::string entryFunction(llvm::StringRef body);

/// Text of `%name`, a view of `type` at byte `offset` of the arena.
std::string arenaView(llvm::StringRef name, int64_t offset,
                      llvm::StringRef type);

class TileProgram {
public:
  /// Compiles `ir` for "native" or a narrower level of the same architecture,
  /// see compileTiles.
  TileProgram(llvm::StringRef ir, llvm::StringRef target = "native",
              ModuleDescription description = defaultDescription());

  ~TileProgram();

  /// One entry, "main", in hone_entry_main.
  static ModuleDescription defaultDescription();

  /// Runs entry 0 on `arena`, whose first byte is 64-byte aligned.
  void run(void *arena, int64_t rows, const void *const *weights = nullptr);

  const hone_module &module() const { return *loaded; }

private:
  class BackwardDevice;

  LoadedModule loaded;
  std::unique_ptr<BackwardDevice> device;
  std::vector<char> scratch;
};

/// The code of `target` for `ir`, loaded into this process. Exits with a
/// message if that fails: a test cannot go on.
LoadedModule
compileTiles(llvm::StringRef ir, llvm::StringRef target,
             ModuleDescription description = TileProgram::defaultDescription());

/// Whether this machine has the features of `target` ("x86-64-v4").
bool canRun(llvm::StringRef target);

} // namespace hone
