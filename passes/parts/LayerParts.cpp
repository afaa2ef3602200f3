//===- LayerParts.cpp - The layers below and above a cut ------------------===//

#include "passes/parts/LayerParts.h"

using namespace mlir;

namespace hone {

FailureOr<LayerParts> LayerParts::cut(EntryOp loss, int64_t below) {
  auto calls = llvm::to_vector(loss.getBody().getOps<CallOp>());
  // The first call makes hidden states, the last one the loss of them.
  if (below + 1 >= static_cast<int64_t>(calls.size()))
    return loss.emitOpError("has ")
           << std::max<int64_t>(int64_t(calls.size()) - 2, 0)
           << " layers, so the cut after layer " << below
           << " leaves none above";
  LayerParts result;
  for (auto [index, call] : llvm::enumerate(calls)) {
    StringRef part = static_cast<int64_t>(index) <= below ? lower : upper;
    auto [known, isNew] = result.parts.try_emplace(call.getPrefix(), part);
    if (!isNew && known->second != part)
      return call.emitOpError("has the prefix of a layer on the other side of "
                              "the cut");
  }
  return result;
}

} // namespace hone
