//===- PlainBlocks.cpp - Blocks as they are where nothing trains ----------===//

#include "passes/derive/PlainBlocks.h"

#include "passes/derive/ScheduleBuilder.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace hone {

static SmallVector<RegularizerOpInterface> regularizers(BlockOp block) {
  SmallVector<RegularizerOpInterface> found;
  block.walk([&](RegularizerOpInterface op) {
    if (op.isRegularizing())
      found.push_back(op);
  });
  return found;
}

void eraseUnreadAmbient(BlockOp block) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(block.getBody().front())))
    if (op.hasTrait<Ambient>() && op.use_empty())
      op.erase();
}

void makePlain(BlockOp block) {
  for (RegularizerOpInterface op : regularizers(block)) {
    OpBuilder builder(op.getOperation());
    op->replaceAllUsesWith(op.buildPlain(builder));
    op->erase();
  }
  eraseUnreadAmbient(block);
}

FailureOr<EntryOp> createPlainCopy(EntryOp entry) {
  auto module = entry->getParentOfType<ModuleOp>();
  SymbolTable symbols(module);
  llvm::StringMap<BlockOp> plain; // by the name of the block
  auto nameOf = [](auto op) { return (op.getSymName() + ".plain").str(); };
  auto isFree = [&](const std::string &name) {
    return checkNamesAreFree(module, {name});
  };
  for (CallOp call : entry.getBodyBlock().getOps<CallOp>()) {
    auto block = symbols.lookup<BlockOp>(call.getBlock());
    if (plain.contains(block.getSymName()) || regularizers(block).empty())
      continue;
    if (failed(isFree(nameOf(block))))
      return failure();
    OpBuilder builder(block);
    builder.setInsertionPointAfter(block);
    auto copy = cast<BlockOp>(builder.clone(*block));
    copy.setSymName(nameOf(block));
    makePlain(copy);
    plain[block.getSymName()] = copy;
  }
  if (plain.empty())
    return entry;
  if (failed(isFree(nameOf(entry))))
    return failure();
  OpBuilder builder(entry);
  builder.setInsertionPointAfter(entry);
  auto copy = cast<EntryOp>(builder.clone(*entry));
  copy.setSymName(nameOf(entry));
  for (CallOp call : copy.getBodyBlock().getOps<CallOp>())
    if (BlockOp block = plain.lookup(call.getBlock()))
      call.setBlock(block.getSymName());
  return copy;
}

void eraseUnrun(EntryOp entry) {
  auto module = entry->getParentOfType<ModuleOp>();
  if (!SymbolTable::symbolKnownUseEmpty(entry, module))
    return;
  entry.erase();
  for (BlockOp block : llvm::make_early_inc_range(module.getOps<BlockOp>()))
    if (SymbolTable::symbolKnownUseEmpty(block, module))
      block.erase();
}

} // namespace hone
