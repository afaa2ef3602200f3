//===- Layers.h - The layers of a model, by number ------------------------===//
//
// A layer is all calls with one prefix, forward and backward: so its number
// belongs to the prefix, and a module says it once (`hone.layers`). Calls that
// make hidden states of the batch, or the loss of them, are no layers.
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
  /// The prefixes of layers in the order of their numbers; a repeated prefix is
  /// the same layer.
  explicit Layers(llvm::ArrayRef<llvm::StringRef> prefixes);

  /// As the module of `loss` says. Without `hone.layers`: the calls of `loss`
  /// in order, without the call that makes hidden states, which reads no result
  /// of another call, and the one that makes the loss.
  static Layers of(EntryOp loss);
  /// The same of the module's one loss; none without one.
  static Layers of(mlir::ModuleOp module);

  /// By number.
  llvm::ArrayRef<std::string> names() const { return prefixes; }
  int64_t count() const { return prefixes.size(); }
  /// None if `prefix` is of no layer.
  std::optional<int64_t> numberOf(llvm::StringRef prefix) const;
  bool has(llvm::StringRef prefix) const { return numbers.contains(prefix); }

  /// Writes `hone.layers`.
  void writeTo(mlir::ModuleOp module) const;

private:
  llvm::SmallVector<std::string> prefixes; ///< by number
  llvm::StringMap<int64_t> numbers;
};

} // namespace hone
