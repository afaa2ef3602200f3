//===- TangentCopy.h - The loss and its slope along a direction -----------===//

#ifndef HONE_PASSES_DERIVE_TANGENTCOPY_H
#define HONE_PASSES_DERIVE_TANGENTCOPY_H

#include "passes/derive/LayerParts.h"

#include "mlir/IR/BuiltinOps.h"
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
  /// second result. Parameters of the layers that `moves` has are moved. Fails
  /// with a diagnostic if a name is taken, nothing trains, or an op has no
  /// tangent.
  mlir::FailureOr<EntryOp> create(EntryOp entry, llvm::StringRef name,
                                  LayerFilter moves);

private:
  /// The copy of `block` whose arguments `active` have tangents, and whose
  /// parameters do if they are `moved`.
  mlir::FailureOr<TangentBlock>
  copyOf(BlockOp block, const llvm::BitVector &active, bool moved);
  mlir::FailureOr<TangentBlock> makeCopy(BlockOp block,
                                         const llvm::BitVector &active,
                                         bool moved, llvm::StringRef name);
  /// Replaces `call`, and adds tangents of its results to `tangents`.
  mlir::LogicalResult
  writeCall(CallOp call, mlir::OpBuilder &builder, mlir::Value key, bool moved,
            llvm::DenseMap<mlir::Value, mlir::Value> &tangents);

  /// By block, arguments and whether parameters move.
  std::map<std::tuple<std::string, std::vector<bool>, bool>, TangentBlock>
      copies;
  llvm::StringMap<unsigned> numbers; ///< of copies, by block
};

} // namespace hone

#endif
