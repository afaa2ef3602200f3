//===- CudaDriver.h - NVIDIA's driver, if it is there ---------------------===//

#pragma once

#include "base/Status.h"
#include "device/CudaApi.h"
#include "device/DeviceName.h"

#include <string_view>
#include <vector>

namespace hone::rt {

/// Facts of a device before it is used.
struct CudaDescription {
  DeviceName name;
  int capability = 0; ///< 10 major + minor: 80 for sm_80
  uint64_t bytes = 0; ///< of its memory
  int multiprocessors = 0;
};

/// The functions of libcuda.so.1.
struct CudaDriver : cuda::Functions {
  /// Errors: NoDriver.
  static Result<CudaDriver> load();

  /// Errors: NoDriver, DeviceFailed.
  Result<std::vector<CudaDescription>> devices() const;

  /// Has the current context reserve the least: it keeps a stack of 1 KiB for
  /// each thread that the device can hold, 264 MiB on an H100, until it is told
  /// that kernels have none, and they call neither printf nor malloc. Before
  /// any kernel is loaded. A driver that refuses has its own sizes.
  void reserveLeast() const;

  /// "out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
  std::string describe(cuda::Code code) const;

  int version = 0; ///< 1000 major + 10 minor, of CUDA
};

/// The name of the file that has ptxas's code of `text` for these devices
/// alone, which starts at once, while the driver compiles a text for seconds.
std::string assembledCodeName(std::string_view text, int capability);

/// "12.4" of a version as the driver has it.
std::string describeCudaVersion(int version);

/// A table of the devices that programs can run on, for a person.
/// Errors: NoDriver, DeviceFailed.
Result<std::string> listCudaDevices();

} // namespace hone::rt
