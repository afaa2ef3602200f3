//===- BlockContinuation.cpp - A block for rows that continue a sequence --===//

#include "passes/derive/BlockContinuation.h"

#include "passes/derive/PlainBlocks.h"

using namespace mlir;

namespace hone {

/// Whether new rows are computed as rows always are, or it reads none.
static bool isSameForNewRows(Operation *op) {
  return op->hasTrait<Ambient>() || op->hasTrait<RowWise>() ||
         op->hasTrait<PositionWise>() ||
         llvm::none_of(op->getOperandTypes(), hasRows);
}

/// Replaces `op`, number `index` of those of `block` that are asked.
static LogicalResult continueOp(Operation *op, BlockOp block, unsigned index,
                                int64_t positions) {
  auto asked = dyn_cast<ContinuationOpInterface>(op);
  if (!asked)
    return op->emitOpError(
        "has no rule for rows that continue a sequence "
        "(RowWise, PositionWise or ContinuationOpInterface)");
  std::string kind = op->getName().stripDialect().str();
  if (index > 0)
    kind += std::to_string(index);
  OpBuilder builder(op);
  auto cacheOf = [&](StringRef name, RankedTensorType type) -> Value {
    OpBuilder first = OpBuilder::atBlockBegin(&block.getBody().front());
    auto whole = RankedTensorType::get({positions, type.getDimSize(1)},
                                       type.getElementType());
    return CacheOp::create(first, op->getLoc(), whole,
                           (kind + "." + name).str());
  };
  SmallVector<Value> operands(op->getOperands());
  auto made = asked.buildContinuation(builder, {operands, cacheOf});
  if (failed(made))
    return failure();
  for (auto [from, to] : llvm::zip_equal(op->getResults(), *made)) {
    for (Operation *user : from.getUsers())
      if (from.getType() != to.getType() && !isa<ReturnOp>(user)) {
        InFlightDiagnostic diag = user->emitOpError(
            "reads what is no longer there when a sequence is continued");
        diag.attachNote(op->getLoc()) << "it is made here";
        return diag;
      }
    from.replaceAllUsesWith(to);
  }
  op->erase();
  return success();
}

LogicalResult continueBlock(BlockOp block, int64_t positions) {
  makePlain(block);
  mlir::Block &body = block.getBody().front();
  unsigned asked = 0;
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
    if (!isSameForNewRows(&op) &&
        failed(continueOp(&op, block, asked++, positions)))
      return failure();
  eraseUnreadAmbient(block);
  block.setFunctionType(
      FunctionType::get(block.getContext(), block.getArgumentTypes(),
                        body.getTerminator()->getOperandTypes()));
  return success();
}

} // namespace hone
