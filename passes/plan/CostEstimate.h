//===- CostEstimate.h - How long an entry will take -----------------------===//
//
// For comparing plans of one model on one machine, not for promises: the ops'
// own counts, and costs of a machine (MachineCosts.h). Nothing is measured
// here, so that a plan follows from its spec and the file of costs alone.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/module/Layers.h"
#include "passes/plan/MachineCosts.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

/// The counts of one op of a block, over all calls of the block in a step.
struct KernelCounts {
  std::string block, kernel; ///< as in hone_kernel, but nothing is fused
  StepCounts counts;
  std::string family = {}; ///< see FamilyCounts
};

/// The parts of countFamilies, in the order in which they first run.
std::vector<KernelCounts> countKernels(mlir::ModuleOp module);

/// Counts of the entries of a step of one batch with hone.max_rows rows, each
/// run as often as its repeats are expected to.
FamilyCounts countFamilies(mlir::ModuleOp module);

/// The counts of the entries of a step, each run once, by layer: the calls that
/// make hidden states count for the first, the loss for the last.
std::vector<FamilyCounts> countLayers(mlir::ModuleOp module,
                                      const Layers &layers);

/// The seconds of the longest launch of a step with hone.max_rows rows: that of
/// the op which takes longest, or of one of its tiles of rows.
double longestLaunch(mlir::ModuleOp module, const MachineCosts &costs,
                     bool bfloat16Products);

/// Whether `op` takes about as long as reading its operands does, with
/// hone.max_rows rows (256 if the module does not say): attention of one row
/// would be cheap too.
bool isCheap(mlir::Operation *op);

} // namespace hone
