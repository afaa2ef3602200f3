//===- CudaArchitecture.h - Features of NVIDIA's GPUs ---------------------===//
//
// From the tables of the PTX manual ("Target Architecture") and of the CUDA
// programming guide ("Technical Specifications per Compute Capability"). LLVM
// ends the process where these are wrong, so they are asked first.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/plan/MachineProfile.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace hone {

struct CudaArchitecture {
  llvm::StringLiteral name; ///< "sm_80"
  /// The lowest version of PTX that knows the architecture and all that is
  /// emitted for it, as in LLVM's features: 70 is 7.0.
  unsigned ptxVersion;
  /// Shared memory of a workgroup, at most, on it and on each later
  /// architecture that runs its text: sm_86, sm_89 and sm_120 have less than
  /// sm_80 and sm_90.
  int64_t sharedBytes;
  int64_t multiprocessorBytes; ///< of shared memory, less 1 KiB
  bool copiesInFlight;         ///< `cp.async`
  bool bfloat16Products;       ///< `mma.sync` of bf16
  bool groupProducts;          ///< `wgmma` of bf16
  /// Whether ptxas spills registers of a thread that has the cotangents of wide
  /// keys, with two workgroups on a multiprocessor.
  bool spillsWideKeys;
  MachineProfile profile; ///< see Target::profile()
};

/// Null: not one that Hone knows.
const CudaArchitecture *findCudaArchitecture(llvm::StringRef name);

/// The newest whose programs run on an architecture that Hone does not know,
/// such as sm_80's on an sm_89; null: there is none, or `name` is no such name.
const CudaArchitecture *newestCudaArchitectureFor(llvm::StringRef name);

/// "sm_75, sm_80, sm_90, sm_90a", for people.
std::string knownCudaArchitectures();

} // namespace hone
