//===- ResidualPolicy.h - What the forward pass keeps for the backward ----===//
//
// Pure: no IR. A policy answers two questions: which of an op's alternatives
// its adjoint is built from, and whether a value that an adjoint reads is kept
// when its block runs forward or recomputed when it runs backward. The inputs
// of a block are kept by every policy.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PASSES_RESIDUALPOLICY_H
#define HONE_PASSES_RESIDUALPOLICY_H

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace hone {

class ResidualPolicy {
public:
  /// `mesp`: nothing is kept but block inputs, and adjoints recompute what
  ///         they can (h = xA), which is MeSP.
  /// `full`: everything that an adjoint reads is kept; nothing is recomputed.
  enum class Kind { Mesp, Full };

  explicit ResidualPolicy(Kind kind) : kind(kind) {}
  /// The policy named `name`, as in specs and pass options.
  static std::optional<ResidualPolicy> parse(llvm::StringRef name);
  /// All names, for messages: "mesp, full".
  static llvm::StringRef names();

  /// Which of `count` alternatives, listed cheapest in compute first and in
  /// memory last.
  unsigned chooseAlternative(unsigned count) const {
    return kind == Kind::Full ? 0 : count - 1;
  }
  /// Whether values inside a block are kept from forward to backward.
  bool keepsInnerValues() const { return kind == Kind::Full; }

private:
  Kind kind;
};

} // namespace hone

#endif
