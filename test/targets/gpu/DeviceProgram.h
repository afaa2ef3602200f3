//===- DeviceProgram.h - Compile tile IR and run it as PTX ----------------===//
//
// The host half runs in this process; what it launches runs on the machine of
// test/gpu/ptx, which reports races, reads of what nobody wrote and divergent
// barriers.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_TEST_TARGETS_GPU_DEVICEPROGRAM_H
#define HONE_TEST_TARGETS_GPU_DEVICEPROGRAM_H

#include "test/gpu/ptx/Machine.h"

#include "targets/host/LoadedModule.h"

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

  ptx::Machine &machine();

private:
  class PtxDevice;

  LoadedModule loaded;
  int64_t arenaBytes;
  std::unique_ptr<PtxDevice> device;
  hone_frame frame = {};
};

} // namespace hone

#endif // HONE_TEST_TARGETS_GPU_DEVICEPROGRAM_H
