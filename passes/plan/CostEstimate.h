//===- CostEstimate.h - How long an entry will take -----------------------===//
//
// For comparing plans of one model on one machine, not for promises: a few
// rates and the ops' own counts. Nothing is measured here, so that a plan
// follows from its spec alone.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/module/Layers.h"
#include "passes/plan/MachineProfile.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

/// What one run of an entry asks of the machine.
struct StepCounts {
  int64_t flops = 0;        ///< all floating-point operations
  int64_t productFlops = 0; ///< those of products with the model's weights
  int64_t rowBytes = 0;     ///< bytes of activations read or written
  /// Weights turned from how they are stored into panels: once for each op that
  /// reads them and each of its tiles of rows.
  int64_t fills = 0;
  int64_t fillBytes = 0; ///< what is read for that, as stored
  /// Ops that compute, once for each tile of rows: about as many kernels.
  int64_t launches = 0;

  /// `bfloat16Products`: float32_matmul_precision is medium.
  double seconds(const MachineProfile &profile, bool bfloat16Products) const {
    double productRate = bfloat16Products ? profile.bfloat16FlopsPerSecond
                                          : profile.flopsPerSecond;
    return productFlops / productRate +
           (flops - productFlops) / profile.otherFlopsPerSecond +
           (rowBytes + fillBytes) / profile.bytesPerSecond +
           fills / profile.fillsPerSecond + launches * profile.launchSeconds;
  }
  StepCounts &operator+=(const StepCounts &other) {
    flops += other.flops;
    productFlops += other.productFlops;
    rowBytes += other.rowBytes;
    fills += other.fills;
    fillBytes += other.fillBytes;
    launches += other.launches;
    return *this;
  }
  StepCounts operator*(int64_t times) const {
    return {flops * times, productFlops * times, rowBytes * times,
            fills * times, fillBytes * times,    launches * times};
  }
};

/// What one op of a block asks for, over all calls of the block in a step.
struct KernelCounts {
  std::string block, kernel; ///< as in hone_kernel, but that nothing is fused
  StepCounts counts;
};

/// The parts of countStep, in the order in which they first run.
std::vector<KernelCounts> countKernels(mlir::ModuleOp module);

/// Counts of the entries of a step of one batch with hone.max_rows rows, each
/// run as often as its repeats are expected to.
StepCounts countStep(mlir::ModuleOp module);

/// What the entries of a step ask for by themselves, each run once, of layers:
/// what makes hidden states counts for the first, the loss for the last.
std::vector<StepCounts> countLayers(mlir::ModuleOp module,
                                    const Layers &layers);

/// What the longest launch of a step takes, in seconds, with hone.max_rows
/// rows: that of the op which takes longest, or of one of its tiles of rows.
double longestLaunch(mlir::ModuleOp module, const MachineProfile &profile,
                     bool bfloat16Products);

/// Whether `op` takes about as long as reading its operands does, with
/// hone.max_rows rows (256 if the module does not say): attention of one row
/// would be cheap too.
bool isCheap(mlir::Operation *op);

} // namespace hone
