//===- Offload.cpp - Values that rest in a file between two calls ---------===//

#include "dialects/Hone/HoneOps.h"

using namespace mlir;

namespace hone {

/// The first op after `after` that uses `value`.
static Operation *firstUse(Value value, Operation *after) {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers())
    if (after->isBeforeInBlock(user) &&
        (!first || user->isBeforeInBlock(first)))
      first = user;
  return first;
}

LogicalResult OffloadOp::verify() {
  auto type = cast<RankedTensorType>(getX().getType());
  // (C1)
  if (type.getRank() < 1 || !type.isDynamicDim(0) ||
      type.getNumDynamicDims() != 1)
    return emitOpError("expects rows in the first dimension alone but got ")
           << type;
  // (C2)
  int64_t offset = getOffset();
  if (offset < 0 || offset % alignment != 0)
    return emitOpError("expects an offset that is a multiple of ")
           << alignment << " and not negative, but got " << offset;
  // (C3)
  if (llvm::none_of(getX().getUsers(), [&](Operation *user) {
        return isa<AwaitOp>(user) && (*this)->isBeforeInBlock(user);
      }))
    return emitOpError("expects a 'hone.await' of 'x' after it");
  return success();
}

LogicalResult ReloadOp::verify() {
  // (C1)
  OffloadOp written;
  for (auto offload : (*this)->getBlock()->getOps<OffloadOp>()) {
    if (!offload->isBeforeInBlock(*this))
      break;
    if (offload.getOffset() == getOffset())
      written = offload;
  }
  if (!written || written.getX().getType() != getX().getType())
    return emitOpError("expects a 'hone.offload' of a ")
           << getX().getType() << " to " << getOffset() << " before it";
  // (C2)
  if (!isa_and_present<AwaitOp>(firstUse(getX(), *this)))
    return emitOpError("expects 'hone.await' to use the result first");
  return success();
}

LogicalResult AwaitOp::verify() {
  // (C1)
  if (getX().getDefiningOp<ReloadOp>() ||
      llvm::any_of(getX().getUsers(), llvm::IsaPred<OffloadOp>))
    return success();
  return emitOpError("expects 'x' to be offloaded or reloaded");
}

} // namespace hone
