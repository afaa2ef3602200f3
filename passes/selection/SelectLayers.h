//===- SelectLayers.h - Which layers have a backward in a step ------------===//
//
// Selective backpropagation (Park et al. 2026, "LCSB"): a step runs the
// backwards of some layers, and the cotangent goes through the others
// unchanged, or by its exact derivative. Which ones is a rule
// (SelectionRule.h); that some do not run is a change of a derived gradient,
// here.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PASSES_SELECTION_SELECTLAYERS_H
#define HONE_PASSES_SELECTION_SELECTLAYERS_H

#include "passes/parts/LayerParts.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace hone {

/// The prefixes of the layers of `loss` that can be selected, in their order:
/// those of `layers` before the loss itself whose blocks have trainable
/// parameters.
llvm::SmallVector<llvm::StringRef>
selectableLayers(EntryOp loss, LayerFilter layers = nullptr);

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

/// Stochastic depth (Huang et al. 2016): lets the forwards of `layers` be
/// skipped by the mask that selectLayers made their backwards conditional on.
mlir::LogicalResult skipForwards(EntryOp gradient, LayerFilter layers);

/// The same for evaluation: layer i, with output o for the input h, becomes
/// rests[i] h + weights[i] o. Both, an f64 for each of `layers`, join the
/// arguments.
void scaleLayers(EntryOp loss, LayerFilter layers);

} // namespace hone

#endif
