//===- CudaArchitecture.h - What an NVIDIA GPU can do ---------------------===//
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
  int64_t sharedBytes;   ///< of a workgroup, at most
  bool copiesInFlight;   ///< `cp.async`
  bool bfloat16Products; ///< `mma.sync` of bf16
  bool groupProducts;    ///< `wgmma` of bf16
  /// Whether ptxas spills registers of a thread that has the cotangents of wide
  /// keys, with two workgroups on a multiprocessor.
  bool spillsWideKeys;
  MachineProfile profile; ///< see Target::profile()
};

/// Null: not one that Hone knows.
const CudaArchitecture *findCudaArchitecture(llvm::StringRef name);

/// "sm_75, sm_80, sm_90, sm_90a", for people.
std::string knownCudaArchitectures();

} // namespace hone
