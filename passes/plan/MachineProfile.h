//===- MachineProfile.h - The rates of a machine --------------------------===//

#pragma once

namespace hone {

/// Rates of the whole machine. The nominal ones are those of two cores with
/// AVX-512, fitted to a 0.5B model's products by storage and rows; only their
/// ratios decide a plan.
struct MachineProfile {
  double flopsPerSecond = 4.75e11; ///< of products with the model's weights
  double bfloat16FlopsPerSecond = 9e11; ///< the same with bfloat16 operands
  /// The rate of all other operations: attention, norms, thin products of LoRA.
  double otherFlopsPerSecond = 2.1e11;
  double bytesPerSecond = 6e10;
  double fillsPerSecond = 3e10;
  /// The cost of a launch, however little it computes. A pool of threads is
  /// woken in microseconds, which is in the rates.
  double launchSeconds = 0;
  /// Whether products of activations, as in attention, have the rates of those
  /// with weights, as on matrix units.
  bool rowProductsAlike = false;
};

} // namespace hone
