//===- LayerParts.h - The layers below and above a cut --------------------===//

#ifndef HONE_PASSES_DERIVE_LAYERPARTS_H
#define HONE_PASSES_DERIVE_LAYERPARTS_H

#include "dialects/Hone/HoneOps.h"

#include "llvm/ADT/StringMap.h"

namespace hone {

/// What makes the hidden states and the first layers are the part `lower`, the
/// others and the loss `upper`.
class LayerParts {
public:
  static constexpr llvm::StringLiteral lower = "lower", upper = "upper";

  /// `below` layers of `loss` are of the lower part; above, there is the loss
  /// at least. Fails with a diagnostic if there are fewer, or a prefix is on
  /// both sides.
  static mlir::FailureOr<LayerParts> cut(EntryOp loss, int64_t below);

  /// Which one calls with `prefix` are of; empty: there are none.
  llvm::StringRef partOf(llvm::StringRef prefix) const {
    return parts.lookup(prefix);
  }

private:
  llvm::StringMap<llvm::StringRef> parts;
};

/// The layers that something is done to; null: all of them.
using LayerFilter = llvm::function_ref<bool(llvm::StringRef prefix)>;

inline bool hasLayer(LayerFilter filter, llvm::StringRef prefix) {
  return !filter || filter(prefix);
}

} // namespace hone

#endif
