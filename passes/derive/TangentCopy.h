//===- TangentCopy.h - The loss and its slope along a direction -----------===//

#pragma once

#include "passes/parts/LayerParts.h"

#include "llvm/ADT/BitVector.h"

#include <map>
#include <tuple>

namespace hone {

/// A copy of a block for one set of arguments that have tangents. Its arguments
/// are the block's, their tangents and the key; its results the block's and
/// their tangents.
struct TangentBlock {
  BlockOp block; ///< null: nothing has a tangent
  llvm::BitVector activeResults;
};

/// Copies of entries that carry the derivative along a random direction of
/// trainable parameters beside each value. Between blocks there are a value and
/// its tangent, and nothing is kept. Blocks that nothing moves before or in are
/// shared; of the others there is a copy for each set of arguments that have
/// tangents, `@block.tangent`, which all entries share.
class TangentCopies {
public:
  /// Adds `@name`, a copy of `entry`, which returns the loss, with the key of
  /// `hone.direction` for an argument and the derivative of the loss for a
  /// second result. Parameters of the layers that `moves` has are moved; with
  /// `scaled`, which are then all layers with such parameters, another argument
  /// has a factor for each one's direction, an f64. Fails with a diagnostic if
  /// a name is taken, nothing trains, or an op has no tangent.
  mlir::FailureOr<EntryOp> create(EntryOp entry, llvm::StringRef name,
                                  LayerFilter moves,
                                  llvm::ArrayRef<llvm::StringRef> scaled = {});

private:
  /// How parameters of a call move: not at all, along a direction, or along a
  /// scaled one.
  enum class Moves { No, Whole, Scaled };

  /// The copy of `block` whose arguments `active` have tangents, and whose
  /// parameters do if they move.
  mlir::FailureOr<TangentBlock>
  copyOf(BlockOp block, const llvm::BitVector &active, Moves moves);
  mlir::FailureOr<TangentBlock> makeCopy(BlockOp block,
                                         const llvm::BitVector &active,
                                         Moves moves, llvm::StringRef name);
  /// Replaces `call`, and adds tangents of its results to `tangents`. `scale`
  /// is that of its layer, if it has one.
  mlir::LogicalResult
  writeCall(CallOp call, mlir::OpBuilder &builder, mlir::Value key, bool moved,
            mlir::Value scale,
            llvm::DenseMap<mlir::Value, mlir::Value> &tangents);

  /// By block, arguments and how parameters move.
  std::map<std::tuple<std::string, std::vector<bool>, Moves>, TangentBlock>
      copies;
  llvm::StringMap<unsigned> numbers; ///< of copies, by block
};

} // namespace hone
