//===- SelectLayers.h - Which layers have a backward in a step ------------===//
//
// Selective backpropagation (Park et al. 2026, "LCSB"): a step runs the
// backwards of some layers, and the cotangent goes through the others
// unchanged, or by its exact derivative. Which ones is a rule; that some do not
// run is a change of a derived gradient. docs/methods/lcsb.md has the formulas.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PASSES_DERIVE_SELECTLAYERS_H
#define HONE_PASSES_DERIVE_SELECTLAYERS_H

#include "passes/derive/LayerParts.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <optional>

namespace hone {

/// layers * ratio rounded up, at least 1, for a ratio in (0, 1]. A product that
/// is whole but for its rounding counts as whole: 0.07 of 100 are 7.
int64_t partOf(int64_t layers, double ratio);

/// How a step selects layers.
struct SelectionRule {
  enum class Kind {
    Uniform,    ///< partOf layers at random
    Bernoulli,  ///< each with the ratio as its probability
    Cyclic,     ///< one of `groups` contiguous groups in turn
    RoundRobin, ///< the next partOf layers, around
  };

  Kind kind;
  double ratio;   ///< in (0, 1]; not of Cyclic
  int64_t groups; ///< positive; of Cyclic only
  int64_t warmup; ///< first steps, which have all layers

  /// The kind that specs and pass options call `name`.
  static std::optional<Kind> parseKind(llvm::StringRef name);
  /// All names, for messages.
  static llvm::StringRef kindNames();

  bool isRandom() const {
    return kind == Kind::Uniform || kind == Kind::Bernoulli;
  }
  /// The formula of ScalarFunctions that makes its mask.
  llvm::StringRef formula() const;
  /// How many of `layers` a step behind the warm-up selects at most.
  int64_t mostOf(int64_t layers) const;
};

/// How many calls of `loss` are layers that can be selected: those of `layers`
/// before the loss itself whose blocks have trainable parameters.
int64_t countSelectableLayers(EntryOp loss, LayerFilter layers = nullptr);

/// Gives `all`, a copy of a gradient, the arguments that selectLayers adds, and
/// does not read them. With `slots`, as few of the inputs of `layers` are kept
/// as can be, but that many; the others are computed again (keptInputs).
void selectAllLayers(EntryOp all, std::optional<int64_t> slots,
                     LayerFilter layers = nullptr);

/// Makes the backward of each of `layers` of `gradient` conditional on an
/// element of `mask`, an argument that joins the entry, an i32 for each in the
/// order of the forwards.
///
/// With `slots`, `gradient` keeps block inputs only, and the cotangent goes
/// unchanged through layers whose element is zero. Inputs of the others are
/// kept in a pool of `slots` slots, in that which another argument says.
/// Without `slots`, what does not run is what only gradients of parameters
/// need. Fails with a diagnostic at what is no such gradient.
mlir::LogicalResult selectLayers(EntryOp gradient, std::optional<int64_t> slots,
                                 LayerFilter layers = nullptr);

} // namespace hone

#endif
