//===- SelectLayers.h - Which layers have a backward in a step ------------===//
//
// Selective backpropagation (Park et al. 2026, "LCSB"): a step runs the
// backwards of some layers, and the cotangent goes through the others
// unchanged, or by its exact derivative. A rule chooses the layers
// (SelectionRule.h); here a derived gradient is changed so that some backwards
// do not run.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/methods/Method.h"
#include "passes/parts/LayerParts.h"

#include <optional>

namespace hone {

/// The prefixes of the layers of `loss` that can be selected, in their order:
/// those of `layers` before the loss itself whose blocks have trainable
/// parameters.
llvm::SmallVector<llvm::StringRef>
selectableLayers(EntryOp loss, LayerFilter layers = nullptr);

/// The counts of layers of `part` for the rules of methods.
LayerCounts countLayers(EntryOp loss, const LayerParts &cut,
                        llvm::StringRef part);

/// Whether a call among `layers` that makes hidden states of nothing but the
/// batch trains: a table of tokens or of positions, say.
bool trainsSource(EntryOp loss, LayerFilter layers = nullptr);

/// How many layers of `layers` train nothing and are above one that does: a
/// gradient goes through them exactly.
int64_t countConstantLayers(EntryOp loss, LayerFilter layers = nullptr);

/// Whether `gradient` has gradients of parameters below `layers`, to which the
/// cotangent has to come through all of them.
bool trainsBelow(EntryOp gradient, LayerFilter layers = nullptr);

/// Numbers that an entry with a selection takes, an i32 for each layer that may
/// be selected, in the order of the forwards.
enum class LayerNumbers {
  Mask,    ///< not zero: the layer is selected
  Slots,   ///< where its input is kept
  Reaches, ///< not zero: it is selected, or one below it
  Skips,   ///< zero: a cotangent goes through it, and it is not selected
};

/// The numbers that selectLayers adds to the arguments of `gradient`, in this
/// order.
llvm::SmallVector<LayerNumbers> selectedNumbers(EntryOp gradient, bool hasSlots,
                                                LayerFilter layers = nullptr);

/// Gives `all`, a copy of a gradient, arguments for `numbers`, and does not
/// read them. With `slots`, no more of the inputs of `layers` are in memory at
/// a time; the others are computed again (heldInputs).
void selectAllLayers(EntryOp all, llvm::ArrayRef<LayerNumbers> numbers,
                     std::optional<int64_t> slots,
                     LayerFilter layers = nullptr);

/// Makes the backward of each of `layers` of `gradient` conditional on an
/// element of a mask. The backward ends where nothing below reads a cotangent:
/// neither layers below the lowest that is selected nor those that have no
/// parameters to train run then.
///
/// With `slots`, `gradient` keeps block inputs only, and the cotangent goes
/// unchanged through layers that are not selected. Inputs of the others are
/// kept in a pool of `slots` slots. Without `slots`, a layer through which a
/// cotangent goes leaves out only the ops for gradients of parameters.
/// `numbers` are those that the entry gets. Fails with a diagnostic if
/// `gradient` is no such entry.
mlir::LogicalResult selectLayers(EntryOp gradient,
                                 llvm::ArrayRef<LayerNumbers> numbers,
                                 std::optional<int64_t> slots,
                                 LayerFilter layers = nullptr);

/// Stochastic depth (Huang et al. 2016): lets the forwards of `layers` be
/// skipped by the mask that selectLayers made their backwards conditional on.
mlir::LogicalResult skipForwards(EntryOp gradient, LayerFilter layers);

/// The same for evaluation: layer i, with output o for the input h, becomes
/// rests[i] h + weights[i] o. Both, an f64 for each of `layers`, join the
/// arguments.
void scaleLayers(EntryOp loss, LayerFilter layers);

} // namespace hone
