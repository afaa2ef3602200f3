//===- EntryProgram.h - One entry of a module, run in this process --------===//
//
// Placement, kernels and code generation are the real ones, and so is the
// device; only the frame is made by hand. Memory that a run must not read
// is filled with NaN, so a kernel that strays shows it in its result.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "device/Device.h"
#include "targets/host/LoadedModule.h"
#include "threads/Pool.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace hone {

class EntryProgram {
public:
  EntryProgram() = default;
  /// Compiles `module`, which is placed and lowered by that, to run its first
  /// entry, or if it has none the function that its schedule's `hone.scalar`
  /// calls. An error if a pass fails or this machine cannot run the target's
  /// code.
  static llvm::Expected<EntryProgram> build(mlir::ModuleOp module,
                                            const Target &target);

  /// Fills the arena with NaN and zeroes the gradient.
  void reset();
  /// Writes a region from its start on: "theta", "input.x", or a value of the
  /// entry: "argument.0", "result.0". Values are converted to its element type.
  void write(llvm::StringRef region, llvm::ArrayRef<double> values);
  void write(llvm::StringRef region, llvm::ArrayRef<int32_t> values);
  /// The first `count` values of a region.
  std::vector<double> read(llvm::StringRef region, size_t count) const;
  /// The same of one of 32-bit integers.
  std::vector<int32_t> readIntegers(llvm::StringRef region, size_t count) const;
  /// The frozen tensors in the order of their first use. They are not copied.
  void setWeights(std::vector<const void *> tensors) {
    weights = std::move(tensors);
  }
  /// Whether gradients, and with them tensors without a storage, are float32.
  bool hasFloat32Gradients() const {
    return elements.lookup("gradient") == 'f';
  }

  /// On the host's processor, or the device that the kernels are for.
  void run(int64_t rows, rt::Pool &pool);
  /// On any device, with memory of its own for this run. `scratchBytes`: those
  /// of all its threads, see hone_frame::thread_scratch.
  void run(int64_t rows, rt::Device &device, uint64_t scratchBytes);
  /// The compiled module.
  const hone_module &compiled() const { return *loaded; }
  /// Of a thread.
  uint64_t threadBytes() const { return loaded->thread_bytes; }
  /// All that a run reads and writes but the weights.
  llvm::StringRef memory() const {
    return {arena, static_cast<size_t>(boundaryEnd)};
  }
  void setMemory(llvm::StringRef bytes) {
    memcpy(arena, bytes.data(), bytes.size());
  }

private:
  void describe(mlir::ModuleOp placed);
  char elementOf(llvm::StringRef region) const;
  char *at(llvm::StringRef region) const;

  LoadedModule loaded;
  std::string function;  ///< that is run
  bool isScalar = false; ///< it is one of scalars, which the host computes
  llvm::StringMap<int64_t> offsets;
  llvm::StringMap<char> elements;
  int64_t arenaBytes = 0, gradientBytes = 0, gradientEnd = 0;
  /// Where the entry's arguments and results are, after the arena; where its
  /// working set is.
  std::vector<int64_t> boundary;
  int64_t boundaryEnd = 0, work = 0;
  std::vector<const void *> weights;
  std::vector<char> arenaStorage;
  char *arena = nullptr;
};

} // namespace hone
