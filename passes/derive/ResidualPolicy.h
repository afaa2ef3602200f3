//===- ResidualPolicy.h - The values kept for the backward ----------------===//
//
// Pure: no IR. A policy answers three questions: which of an op's alternatives
// its adjoint is built from, which of the values that adjoints read are kept
// when their block runs forward, and whether the backward recomputes only the
// missing values or the block as a whole. Every policy keeps the inputs of a
// block.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace hone {

class ResidualPolicy {
public:
  /// `mesp`:    nothing is kept but block inputs, and adjoints recompute all
  ///            that they can (h = xA): MeSP.
  /// `store-h`: as mesp, but h is kept from the forward pass: the ablation of
  ///            MeSP, section 5.
  /// `mebp`:    block inputs; the whole block is run again, and within it
  ///            everything is kept that an automatic differentiator keeps.
  /// `narrow`:  as mesp, but values inside the block that are no wider than
  ///            its inputs are kept, unless cheap ops recompute them from
  ///            values at hand: attention is not run again, the MLP is.
  /// `products`: everything that an adjoint reads is kept, but for values that
  ///            cheap ops recompute from others (JAX: dots_saveable).
  /// `full`:    everything that an adjoint reads is kept; nothing is
  ///            recomputed.
  ///
  /// The last three may keep inner values in bfloat16: `narrow-bfloat16`.
  enum class Kind { Mesp, StoreH, Mebp, Narrow, Products, Full };

  explicit ResidualPolicy(Kind kind, bool rounds = false)
      : kind(kind), rounds(rounds) {}
  /// The policy named `name`, as in specs and pass options.
  static std::optional<ResidualPolicy> parse(llvm::StringRef name);
  /// All names, for messages.
  static llvm::StringRef names();
  std::string name() const;
  bool operator==(const ResidualPolicy &other) const {
    return kind == other.kind && rounds == other.rounds;
  }
  bool operator<(const ResidualPolicy &other) const {
    return std::tie(kind, rounds) < std::tie(other.kind, other.rounds);
  }

  /// Which of `count` alternatives, listed cheapest in compute first and in
  /// memory last, for an op that trains parameters or one that does not.
  unsigned chooseAlternative(unsigned count, bool trains) const {
    bool cheapest = kind == Kind::Full || kind == Kind::Products ||
                    kind == Kind::Mebp || (kind == Kind::StoreH && trains);
    return cheapest ? 0 : count - 1;
  }
  /// Whether a value inside a block is kept from forward to backward. `narrow`:
  /// no wider than the block's inputs. `cheap`: element-wise ops compute it
  /// from values that are kept anyway.
  bool keepsInnerValue(bool narrow, bool cheap) const {
    return kind == Kind::Full || (kind == Kind::Products && !cheap) ||
           (kind == Kind::Narrow && narrow && !cheap);
  }
  /// The same for the auxiliary result of an op (h of a LoRA linear).
  bool keepsAuxiliary(bool trains, bool narrow) const {
    return kind == Kind::Full || kind == Kind::Products ||
           (kind == Kind::StoreH && trains) || (kind == Kind::Narrow && narrow);
  }
  /// Whether inner values are kept in bfloat16. Auxiliary results never are:
  /// they are few, and a rounded log-sum-exp scales every probability of a row.
  bool roundsInnerValues() const { return rounds; }
  /// Whether the backward runs ops again whose results it does not read.
  bool recomputesWholeBlock() const { return kind == Kind::Mebp; }

private:
  Kind kind;
  bool rounds;
};

/// The policy of each layer, in the order in which they run forward, and how
/// many of their inputs are not kept but computed again.
class ResidualPlan {
public:
  ResidualPlan(ResidualPolicy policy) : runs({{policy, 0}}) {}

  /// `POLICY` for all layers, or `POLICY*COUNT+POLICY*COUNT...`. Empty if
  /// `text` is neither.
  static std::optional<ResidualPlan> parse(llvm::StringRef text);
  std::string str() const;

  /// Whether the plan is for `layers` layers.
  bool isFor(int64_t layers) const;
  ResidualPolicy policyOf(int64_t layer) const;
  /// The suffix of blocks derived under `policy`: nothing if it is the only
  /// one.
  std::string variantOf(ResidualPolicy policy) const;
  std::vector<std::string> variants() const;

private:
  struct Run {
    ResidualPolicy policy;
    int64_t count; ///< 0: all layers
  };
  explicit ResidualPlan(std::vector<Run> runs) : runs(std::move(runs)) {}
  std::vector<Run> runs;
};

/// Which of `count` block inputs are kept until the backward reads them, if
/// `recomputed` are not: the fewest are run again, each once.
///
/// Inputs are computed one from the other. When the backward begins, the
/// K = count - recomputed that are kept are in memory: no plan that recomputes
/// fewer could have fewer. The others are restored segment by segment, each
/// from the kept input before it, when the backward comes to its last; segments
/// are as long as K inputs in memory at that time allow. (A chain of
/// checkpoints as in Griewank and Walther 2000, with one recomputation each.)
/// Empty if K is too small: K (K + 1) / 2 + K < count.
std::optional<std::vector<bool>> keptInputs(int64_t count, int64_t recomputed);

/// How a backward reads `count` inputs, the last first, with at most `most` in
/// memory at a time, however few that are. Element `i` has those that stay in
/// memory when input `i` is computed again from the last before it that is
/// there, itself among them; the last element has those that the forward keeps.
/// No order runs fewer forwards (Griewank and Walther 2000, "revolve").
std::vector<std::vector<int64_t>> heldInputs(int64_t count, int64_t most);

} // namespace hone
