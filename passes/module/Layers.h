//===- Layers.h - The layers of a model, by number ------------------------===//
//
// A layer is what all calls with one prefix run, forward and backward: so its
// number belongs to the prefix, and a module says it once (`hone.layers`). What
// makes hidden states of the batch, and what makes the loss of them, are none.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Hone/HoneOps.h"

#include "llvm/ADT/StringMap.h"

#include <optional>

namespace hone {

class Layers {
public:
  Layers() = default;
  /// The prefixes of layers in the order of their numbers; one that is there
  /// again is the layer that it was.
  explicit Layers(llvm::ArrayRef<llvm::StringRef> prefixes);

  /// As the module of `loss` says. Without `hone.layers`: the calls of `loss`
  /// in order, but for what makes hidden states, which reads nothing that
  /// another call made, and what makes the loss.
  static Layers of(EntryOp loss);
  /// The same of the module's one loss; none without one.
  static Layers of(mlir::ModuleOp module);

  /// By number.
  llvm::ArrayRef<std::string> names() const { return prefixes; }
  int64_t count() const { return prefixes.size(); }
  /// None for what is no layer.
  std::optional<int64_t> numberOf(llvm::StringRef prefix) const;
  bool has(llvm::StringRef prefix) const { return numbers.contains(prefix); }

  /// Writes `hone.layers`.
  void writeTo(mlir::ModuleOp module) const;

private:
  llvm::SmallVector<std::string> prefixes; ///< by number
  llvm::StringMap<int64_t> numbers;
};

} // namespace hone
