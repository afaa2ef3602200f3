//===- DeviceProgram.h - Compile tile IR and run it as PTX ----------------===//
//
// The device half runs on the machine of test/gpu/ptx, which reports races,
// reads of what nobody wrote and divergent barriers. The host half is
// interpreted op by op.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TEST_TARGETS_GPU_DEVICEPROGRAM_H
#define HONE_TEST_TARGETS_GPU_DEVICEPROGRAM_H

#include "test/gpu/ptx/Machine.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace hone {

class DeviceProgram {
public:
  /// Compiles `ir`, in which `hone_entry_main` works on an arena of this many
  /// bytes. Exits with a message if that fails.
  DeviceProgram(llvm::StringRef ir, int64_t arenaBytes,
                llvm::StringRef target = "nvptx64-nvidia-cuda:sm_80",
                const ptx::Options &options = {});
  ~DeviceProgram();

  /// Runs the entry on a copy of `arena`, which is copied back. Empty, or what
  /// the machine has found.
  std::string run(void *arena, int64_t rows);

  llvm::StringRef text() const { return code; }
  ptx::Machine &machine() { return *executor; }

private:
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string code;
  int64_t arenaBytes;
  std::unique_ptr<hone::ptx::Machine> executor;
  const hone::ptx::Module *kernels = nullptr;
};

} // namespace hone

#endif // HONE_TEST_TARGETS_GPU_DEVICEPROGRAM_H
