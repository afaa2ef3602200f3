//===- CpuDescription.h - Facts of a CPU that kernels need ----------------===//
//
// Kernels are shaped by these numbers and never by a CPU's name, so a CPU that
// LLVM learns tomorrow gets good tiles today. No MLIR here: it is tested as
// plain values.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "targets/Target.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Triple.h"

namespace hone {

struct CpuDescription {
  unsigned vectorBits = 128;
  unsigned vectorRegisters = 16;
  /// Masked loads and stores cost about as much as plain ones.
  bool maskedMemory = false;
  /// One instruction multiplies pairs of bfloat16 numbers and adds them to f32
  /// sums, in vectors of 512 bits.
  bool bfloat16Dots = false;
  /// One instruction does so for 16 rows and 16 columns: x86's AMX.
  bool bfloat16Unit = false;

  /// The sizes that a kernel on the matrix unit multiplies at a time.
  static constexpr int64_t kUnitRows = 32, kUnitTerms = 32;

  /// Elements of `elementBits` bits in one vector.
  unsigned lanes(unsigned elementBits) const {
    return vectorBits / elementBits;
  }

  /// Vectors side by side in the widest register tile. Two keep 16 registers
  /// busy; with 32, four read the fewest bytes per product.
  unsigned panelVectors() const { return vectorRegisters >= 32 ? 4 : 2; }

  /// Rows of a register tile that is `vectors` wide: as many accumulators as
  /// leave room for one row of the panel and the broadcast element. Above 8
  /// rows the row pointers no longer fit the integer registers.
  unsigned tileRows(unsigned vectors) const;

  unsigned panelWidth(unsigned elementBits) const {
    return panelVectors() * lanes(elementBits);
  }
};

/// Whether the CPU that LLVM calls so begins as many bfloat16 dot products a
/// cycle as multiply-adds of f32, which do half the work. Features do not say
/// it.
bool hasFastBFloat16Dots(llvm::StringRef cpu);

/// Reads the vector unit out of LLVM's subtarget features. `hasFeature` is
/// asked for names as in `-mattr`, without the sign.
CpuDescription
describeCpu(llvm::Triple::ArchType arch,
            llvm::function_ref<bool(llvm::StringRef)> hasFeature);

} // namespace hone
