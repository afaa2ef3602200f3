//===- LayerParts.h - The parts of a model, by layers ---------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

#include "llvm/ADT/StringMap.h"

namespace hone {

/// Layers in order, cut into parts: calls that make the hidden states are of
/// the first part, the loss of the last.
class LayerParts {
public:
  static constexpr size_t mostParts = 64;

  /// One part more than `ends`, which count the layers below each cut and
  /// rise. Above the last cut there is the loss at least. Without `names` two
  /// parts are `lower` and `upper`, and more are part1, part2, ... Fails with a
  /// diagnostic if there are fewer layers, if cuts do not rise, if names are
  /// not one for each part and all different, or if a prefix is in two parts.
  static mlir::FailureOr<LayerParts>
  cut(EntryOp loss, llvm::ArrayRef<int64_t> ends,
      llvm::ArrayRef<std::string> names = {});
  /// In the order of their layers; none: the model is not cut.
  llvm::ArrayRef<std::string> names() const { return order; }
  llvm::StringRef last() const { return order.back(); }

  /// The part of calls with `prefix`; empty: there are no parts.
  llvm::StringRef partOf(llvm::StringRef prefix) const {
    auto found = parts.find(prefix);
    return found == parts.end() ? llvm::StringRef() : order[found->second];
  }
  /// Whether they are of `part`; empty: of the whole model.
  bool has(llvm::StringRef part, llvm::StringRef prefix) const {
    return part.empty() || partOf(prefix) == part;
  }
  /// Whether they are of one of `some`; empty: of the whole model.
  bool hasAny(llvm::ArrayRef<std::string> some, llvm::StringRef prefix) const {
    return some.empty() || llvm::is_contained(some, partOf(prefix));
  }

private:
  std::vector<std::string> order;
  llvm::StringMap<size_t> parts;
};

/// A choice of layers; null: all of them.
using LayerFilter = llvm::function_ref<bool(llvm::StringRef prefix)>;

inline bool hasLayer(LayerFilter filter, llvm::StringRef prefix) {
  return !filter || filter(prefix);
}

} // namespace hone
