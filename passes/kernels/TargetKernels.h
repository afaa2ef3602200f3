//===- TargetKernels.h - Kernels that a target has of its own -------------===//
//
// Most ops are best served by tile ops, which every target lowers. Where a
// machine wants another algorithm for a whole op, such as attention without
// strips, its target emits that op itself.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/kernels/KernelBuilder.h"

#include <string>

namespace hone {

class TargetKernels {
public:
  virtual ~TargetKernels() = default;

  /// The dialect of their ops beside tile ops; empty: none.
  virtual llvm::StringRef dialect() const { return {}; }

  /// Emits code for `op`, which keeps to the rules of hone-verify-tiles; false,
  /// with nothing emitted, leaves the op to the kernels of all targets.
  virtual bool emit(mlir::Operation *op, KernelBuilder &k) const = 0;

  /// See `hone.attention_iterations`; 0: attention needs no memory for it.
  virtual int64_t attentionIterations() const { return 0; }

  /// See `hone.product_tiles`; 0: products are not cut into parts.
  virtual int64_t productTiles() const { return 0; }

  /// How loops over the products of `op` are cut, for at most `rows` rows.
  virtual tile::Blocks blocksOf(mlir::Operation *, int64_t,
                                const KernelSettings &settings) const {
    return settings.blocks;
  }

  /// Whether a thin product of an adapter whose sides both are of bfloat16 is
  /// `rounded`, which leaves the order of its sums to the target.
  virtual bool roundsThinProducts() const { return false; }

  /// A message that says what the target expects of `op` and what it found,
  /// where it has no code for an op of that size; empty: it has.
  virtual std::string refusal(mlir::Operation *) const { return {}; }
};

} // namespace hone
