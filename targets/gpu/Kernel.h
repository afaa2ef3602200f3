//===- Kernel.h - A kernel's shape, for all passes of this folder ---------===//
//
// A workgroup has 256 threads in one dimension on all hardware: shapes of tiles
// and orders of sums follow from it. A subgroup is 32 neighbours, by
// definition.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <algorithm>

namespace hone::simt {

inline constexpr int64_t kThreads = 256;
inline constexpr int64_t kLanes = 32;
inline constexpr int64_t kSubgroups = kThreads / kLanes;

/// The features of a device that kernels may use.
struct DeviceFeatures {
  int64_t sharedBytes = 49152; ///< of a workgroup, at most
  /// Threads go on while 16 bytes of theirs are on the way to shared memory.
  bool copiesInFlight = false;
  /// Subgroups multiply matrices of bfloat16.
  bool matrixUnits = false;
  /// Four subgroups multiply matrices of bfloat16 that are in shared memory.
  bool groupMatrixUnits = false;
  /// A thread with the cotangents of wide keys spills registers, with two
  /// workgroups on a multiprocessor.
  bool spillsWideKeys = false;
  /// Shared memory of a multiprocessor, where it has more than one workgroup
  /// may use.
  int64_t multiprocessorBytes = 0;

  /// Bytes that each of `workgroups` on one multiprocessor may use.
  int64_t sharedBytesOfEach(int64_t workgroups) const {
    return std::min(sharedBytes,
                    std::max(sharedBytes, multiprocessorBytes) / workgroups);
  }
};

/// The symbol of the device half.
inline constexpr llvm::StringLiteral kDeviceModule = "device";

/// Attributes of a kernel. i64: bytes of dynamic shared memory.
inline constexpr llvm::StringLiteral kSharedBytesAttrName = "tile.shared_bytes";
/// i64: workgroups that a multiprocessor should have registers for, if not two.
inline constexpr llvm::StringLiteral kWorkgroupsAttrName = "tile.workgroups";
/// String, for people: "BLOCK: OP SITE".
inline constexpr llvm::StringLiteral kNameAttrName = "tile.kernel_name";
/// Attribute of a module. String: the text of its kernels.
inline constexpr llvm::StringLiteral kDeviceCodeAttrName = "tile.device_code";

inline mlir::Attribute sharedSpace(mlir::MLIRContext *context) {
  return mlir::gpu::AddressSpaceAttr::get(
      context, mlir::gpu::GPUDialect::getWorkgroupAddressSpace());
}

/// `type` in shared memory.
inline mlir::MemRefType sharedType(mlir::MemRefType type) {
  return mlir::MemRefType::Builder(type).setMemorySpace(
      sharedSpace(type.getContext()));
}

} // namespace hone::simt
