//===- DeviceProgram.h - Compile tile IR and run a device's text of it ----===//
//
// The host half runs in this process. Its launches are executed as text: PTX by
// the machine of test/gpu/ptx, which reports races, reads of unwritten memory
// and divergent barriers; Metal's language by test/gpu/metal, on fibres.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "test/gpu/ptx/Machine.h"

#include "targets/host/LoadedModule.h"

#include <memory>

namespace hone {

class DeviceProgram {
public:
  /// Compiles `ir`, in which `hone_entry_main` works on an arena of this many
  /// bytes. Exits with a message if that fails. Of `options`, Metal has the
  /// order alone.
  DeviceProgram(llvm::StringRef ir, int64_t arenaBytes,
                llvm::StringRef target = "nvptx64-nvidia-cuda:sm_80",
                const ptx::Options &options = {});
  ~DeviceProgram();

  /// Runs the entry on a copy of `arena`, which is copied back. Empty, or the
  /// machine's faults.
  std::string run(void *arena, int64_t rows);
  /// The expected contents at `offset` of the arena after the next run, for a
  /// recording of it: numbers of 2 or 4 bytes. Of PTX.
  void expect(int64_t offset, uint8_t bytes, std::vector<ptx::Near> numbers);

  /// Of PTX.
  ptx::Machine &machine();
  /// Of all kernels, where they are counted. Of PTX.
  uint64_t bankConflicts();

private:
  class TextDevice;
  class PtxDevice;
  class MetalDevice;

  LoadedModule loaded;
  int64_t arenaBytes;
  std::unique_ptr<TextDevice> device;
  hone_frame frame = {};
  struct Expected {
    int64_t offset;
    uint8_t bytes;
    std::vector<ptx::Near> numbers;
  };
  std::vector<Expected> expected;
};

/// Executions of instructions whose opcode begins with `opcode`.
uint64_t executionsOf(const ptx::Machine &machine, llvm::StringRef opcode);

} // namespace hone
