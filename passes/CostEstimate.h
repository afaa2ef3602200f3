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

namespace hone {

/// Rates of the whole machine. The nominal ones are those of two cores with
/// AVX-512; what decides a plan is how they stand to each other.
struct MachineProfile {
  /// Floating-point operations in products.
  double flopsPerSecond = 1.5e11;
  /// Bytes of activations read or written.
  double bytesPerSecond = 2e10;
  /// Weights turned from how they are stored into panels, once for each op and
  /// tile of rows.
  double fillsPerSecond = 8e9;
};

/// Seconds of one run of the entry `name` of `module` with hone.max_rows rows.
double estimateSeconds(mlir::ModuleOp module, llvm::StringRef name,
                       const MachineProfile &profile);

} // namespace hone

#endif
