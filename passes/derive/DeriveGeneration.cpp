//===- DeriveGeneration.cpp - hone-derive-generation ----------------------===//
//
// The entry stays the line of calls that it is. Only the last block returns
// another value, so the loss becomes logits.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/derive/PlainBlocks.h"
#include "passes/derive/ScheduleBuilder.h"
#include "passes/module/Schedule.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_DERIVEGENERATION
#include "passes/Passes.h.inc"

namespace {

struct DeriveGeneration : impl::DeriveGenerationBase<DeriveGeneration> {
  using DeriveGenerationBase::DeriveGenerationBase;

  void runOnOperation() override {
    if (failed(derive(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult derive(ModuleOp module);
  LogicalResult continueCalls(EntryOp entry);
};

} // namespace

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
            "reads a value that is not there when a sequence is continued");
        diag.attachNote(op->getLoc()) << "it is made here";
        return diag;
      }
    from.replaceAllUsesWith(to);
  }
  op->erase();
  return success();
}

/// Rewrites the body of `block`, in place, to compute new rows of one sequence
/// of up to `positions` tokens. Ops whose rows stand for themselves stay,
/// others are asked (ContinuationOpInterface); the block's type follows their
/// results. Ambient values that nothing reads any more are removed. Fails with
/// a diagnostic at an op that knows no way.
static LogicalResult continueBlock(BlockOp block, int64_t positions) {
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

/// Everything but `entry` and the blocks that it calls.
static void eraseOthers(ModuleOp module, EntryOp entry) {
  llvm::StringSet<> called;
  for (CallOp call : entry.getBody().getOps<CallOp>())
    called.insert(call.getBlock());
  for (Operation &op : llvm::make_early_inc_range(*module.getBody())) {
    auto block = dyn_cast<BlockOp>(op);
    if (block ? !called.contains(block.getName())
              : isa<EntryOp, ScheduleOp>(op) && &op != entry.getOperation())
      op.erase();
  }
}

/// Gives each call the types that its block returns now.
static LogicalResult retypeCalls(EntryOp entry, const SymbolTable &symbols) {
  mlir::Block &body = entry.getBodyBlock();
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
    auto call = cast<CallOp>(op);
    auto block = symbols.lookup<BlockOp>(call.getBlock());
    if (TypeRange(call.getValues()) != TypeRange(block.getArgumentTypes()))
      return call.emitOpError(
          "reads a value that is not there when a sequence is continued");
    if (call.getResultTypes() == TypeRange(block.getResultTypes()))
      continue;
    OpBuilder builder(call);
    auto made =
        CallOp::create(builder, call.getLoc(), block.getResultTypes(),
                       block.getName(), call.getPrefix(), call.getValues());
    call.replaceAllUsesWith(made.getResults());
    call.erase();
  }
  entry.setFunctionType(
      FunctionType::get(entry.getContext(), entry.getArgumentTypes(),
                        body.getTerminator()->getOperandTypes()));
  return success();
}

LogicalResult DeriveGeneration::continueCalls(EntryOp entry) {
  SymbolTable symbols(getOperation());
  llvm::SetVector<Operation *> blocks;
  for (Operation &op : entry.getBodyBlock().without_terminator()) {
    auto call = dyn_cast<CallOp>(op);
    if (!call || call.getMask())
      return op.emitOpError("stands in the loss, of which every call runs when "
                            "text is generated");
    auto block = symbols.lookup<BlockOp>(call.getBlock());
    if (!block)
      return call.emitOpError("expects '")
             << call.getBlock() << "' to be a 'hone.block'";
    blocks.insert(block);
  }
  for (Operation *block : blocks)
    if (failed(continueBlock(cast<BlockOp>(block), positions)))
      return failure();
  return retypeCalls(entry, symbols);
}

LogicalResult DeriveGeneration::derive(ModuleOp module) {
  if (rows < 1 || positions < rows)
    return module.emitError("expects rows to be at least 1 and positions at "
                            "least as many, but got ")
           << rows.getValue() << " and " << positions.getValue();
  FailureOr<EntryOp> found = findLossEntry(module);
  if (failed(found))
    return failure();
  EntryOp entry = *found;
  eraseOthers(module, entry);
  if (failed(continueCalls(entry)))
    return failure();
  Type returned = entry.getResultTypes().front();
  if (cast<RankedTensorType>(returned).getRank() != 1)
    return entry.emitOpError("expects the loss to be that of an output head, "
                             "which has logits");
  entry.setSymName(stringifyPurpose(Purpose::Generate));
  Builder builder(module.getContext());
  module->setAttr(HoneDialect::getMaxRowsAttrName(),
                  builder.getI64IntegerAttr(rows));
  module->setAttr(HoneDialect::getMaxPositionsAttrName(),
                  builder.getI64IntegerAttr(positions));
  // One row is read as fast as memory allows, or it agrees to the bit with
  // those of a long piece. Speed wins, since people wait for it.
  module->setAttr(HoneDialect::getAnyOrderProductsAttrName(),
                  builder.getUnitAttr());

  ScheduleBuilder schedule(module, Purpose::Generate);
  Value batch = schedule.load();
  schedule.report(schedule.run(entry, {}, batch)[0], "logits");
  return success();
}

} // namespace hone
