//===- CostEstimate.h - How long an entry will take -----------------------===//
//
// For comparing plans of one model on one machine, not for promises: three
// rates and the ops' own counts. Nothing is measured here, so that a plan
// follows from its spec alone.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PASSES_COSTESTIMATE_H
#define HONE_PASSES_COSTESTIMATE_H

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>

namespace hone {

/// Rates of the whole machine. The nominal ones are those of two cores with
/// AVX-512; what decides a plan is how they stand to each other.
struct MachineProfile {
  double flopsPerSecond = 5e11;
  double bytesPerSecond = 4e10;
  double fillsPerSecond = 1.5e10;
};

/// What one run of an entry asks of the machine.
struct StepCounts {
  int64_t flops = 0;    ///< floating-point operations
  int64_t rowBytes = 0; ///< bytes of activations read or written
  /// Weights turned from how they are stored into panels: once for each op that
  /// reads them and each of its tiles of rows.
  int64_t fills = 0;

  double seconds(const MachineProfile &profile) const {
    return flops / profile.flopsPerSecond + rowBytes / profile.bytesPerSecond +
           fills / profile.fillsPerSecond;
  }
  StepCounts &operator+=(const StepCounts &other) {
    flops += other.flops;
    rowBytes += other.rowBytes;
    fills += other.fills;
    return *this;
  }
};

/// Counts of the entry `name` of `module` with hone.max_rows rows; zero if
/// there is none.
StepCounts countStep(mlir::ModuleOp module, llvm::StringRef name);

} // namespace hone

#endif
