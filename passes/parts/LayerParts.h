//===- LayerParts.h - The layers below and above a cut --------------------===//

#pragma once

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
  /// The same for who asks about `part`; no cut is needed if that is empty.
  static mlir::FailureOr<LayerParts> cutFor(llvm::StringRef part, EntryOp loss,
                                            int64_t below) {
    return part.empty() ? LayerParts() : cut(loss, below);
  }

  /// Which one calls with `prefix` are of; empty: there are none.
  llvm::StringRef partOf(llvm::StringRef prefix) const {
    return parts.lookup(prefix);
  }
  /// Whether they are of `part`; empty: of the whole model.
  bool has(llvm::StringRef part, llvm::StringRef prefix) const {
    return part.empty() || partOf(prefix) == part;
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
