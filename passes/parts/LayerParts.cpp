//===- LayerParts.cpp - The layers below and above a cut ------------------===//

#include "passes/parts/LayerParts.h"

#include "passes/module/Layers.h"

using namespace mlir;

namespace hone {

FailureOr<LayerParts> LayerParts::cut(EntryOp loss, int64_t below) {
  const Layers layers = Layers::of(loss);
  if (below > layers.count())
    return loss.emitOpError("has ")
           << layers.count() << " layers, so the cut after layer " << below
           << " leaves none above";
  LayerParts result;
  StringRef part = lower;
  Operation *lossCall =
      loss.getBodyBlock().getTerminator()->getOperand(0).getDefiningOp();
  for (CallOp call : loss.getBody().getOps<CallOp>()) {
    std::optional<int64_t> number = layers.numberOf(call.getPrefix());
    if (call == lossCall || (number && *number >= below))
      part = upper;
    auto [known, isNew] = result.parts.try_emplace(call.getPrefix(), part);
    if (!isNew && known->second != part)
      return call.emitOpError("has the prefix of a layer on the other side of "
                              "the cut");
  }
  return result;
}

} // namespace hone
