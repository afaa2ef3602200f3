//===- CostEstimate.cpp - How long an entry will take ---------------------===//

#include "passes/plan/CostEstimate.h"

#include "passes/module/Schedule.h"
#include "passes/module/WeightStorage.h"
#include "passes/place/Lifetimes.h"

using namespace mlir;

namespace hone {

/// Counts of one op that is not a loop over tiles.
static StepCounts countOp(Operation *op, int64_t rows) {
  StepCounts counts;
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost)
    return counts;
  counts.flops = cost.getFlops(rows);
  for (Value operand : op->getOperands()) {
    if (hasRows(operand.getType()))
      counts.rowBytes += bytesAtRows(operand.getType(), rows);
    auto weight = operand.getDefiningOp<ParameterOp>();
    if (!weight || weight.getTrainable() || weight.getType().getRank() != 2 ||
        counts.flops == 0)
      continue;
    counts.productFlops = counts.flops;
    counts.fills += elementsAtRows(weight.getType(), rows);
    for (const StoredTensor &tensor :
         storedTensors(weight.getType(), weight.getStoredAttr()))
      counts.fillBytes += bytesAtRows(tensor.type, rows);
  }
  for (Type type : op->getResultTypes())
    if (hasRows(type))
      counts.rowBytes += bytesAtRows(type, rows);
  return counts;
}

static StepCounts countBody(mlir::Block &body, int64_t rows) {
  StepCounts counts;
  for (Operation &op : body) {
    auto tiles = dyn_cast<RowTilesOp>(op);
    if (!tiles) {
      counts += countOp(&op, rows);
      continue;
    }
    int64_t tileRows = rowsOfTile(tiles, rows);
    for (int64_t first = 0; first < rows; first += tileRows)
      counts +=
          countBody(tiles.getBody().front(), std::min(tileRows, rows - first));
  }
  return counts;
}

bool isCheap(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost)
    return false;
  auto module = op->getParentOfType<ModuleOp>();
  auto known =
      module->getAttrOfType<IntegerAttr>(HoneDialect::getMaxRowsAttrName());
  int64_t rows = known ? known.getInt() : numerics::kAttentionBlock;
  return cost.getFlops(rows) <=
         CostOpInterface::cheapFlops *
             elementsAtRows(op->getResult(0).getType(), rows);
}

StepCounts countStep(ModuleOp module) {
  SymbolTable symbols(module);
  auto rows = maxRows(module);
  StepCounts counts;
  if (failed(rows))
    return counts;
  llvm::DenseMap<Operation *, StepCounts> ofBlock;
  for (EntryOp entry : entriesOfStep(module))
    (void)forEachCall(entry, symbols, [&](CallOp call, BlockOp block) {
      // As if every condition held: what stands in is cheaper.
      if (block.getSymName() != call.getBlock())
        return;
      auto [known, isNew] = ofBlock.try_emplace(block);
      if (isNew)
        known->second = countBody(block.getBody().front(), *rows);
      counts += known->second;
    });
  return counts;
}

} // namespace hone
