//===- ResidualPolicy.h - What the forward pass keeps for the backward ----===//
//
// Pure: no IR. A policy answers three questions: which of an op's alternatives
// its adjoint is built from, which of the values that adjoints read are kept
// when their block runs forward, and whether the backward recomputes only what
// is still missing or the block as a whole. The inputs of a block are kept by
// every policy.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PASSES_RESIDUALPOLICY_H
#define HONE_PASSES_RESIDUALPOLICY_H

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace hone {

class ResidualPolicy {
public:
  /// `mesp`:    nothing is kept but block inputs, and adjoints recompute what
  ///            they can (h = xA): MeSP.
  /// `store-h`: as mesp, but h is kept from the forward pass: the ablation of
  ///            MeSP, section 5.
  /// `mebp`:    block inputs; the whole block is run again, and within it
  ///            everything is kept that an automatic differentiator keeps.
  /// `full`:    everything that an adjoint reads is kept; nothing is
  ///            recomputed.
  enum class Kind { Mesp, StoreH, Mebp, Full };

  explicit ResidualPolicy(Kind kind) : kind(kind) {}
  /// The policy named `name`, as in specs and pass options.
  static std::optional<ResidualPolicy> parse(llvm::StringRef name);
  /// All names, for messages.
  static llvm::StringRef names();

  /// Which of `count` alternatives, listed cheapest in compute first and in
  /// memory last, for an op that trains parameters or one that does not.
  unsigned chooseAlternative(unsigned count, bool trains) const {
    bool cheapest = kind == Kind::Full || kind == Kind::Mebp ||
                    (kind == Kind::StoreH && trains);
    return cheapest ? 0 : count - 1;
  }
  /// Whether values inside a block are kept from forward to backward.
  bool keepsInnerValues() const { return kind == Kind::Full; }
  /// The same for the auxiliary result of an op (h of a LoRA linear).
  bool keepsAuxiliary(bool trains) const {
    return kind == Kind::Full || (kind == Kind::StoreH && trains);
  }
  /// Whether the backward runs ops again whose results it does not read.
  bool recomputesWholeBlock() const { return kind == Kind::Mebp; }

private:
  Kind kind;
};

} // namespace hone

#endif
