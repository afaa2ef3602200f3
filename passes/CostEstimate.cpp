//===- CostEstimate.cpp - How long an entry will take ---------------------===//

#include "passes/CostEstimate.h"

#include "passes/Lifetimes.h"

using namespace mlir;

namespace hone {

/// Seconds of one op that is not a loop over tiles.
static double secondsOf(Operation *op, int64_t rows,
                        const MachineProfile &profile) {
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost)
    return 0;
  int64_t rowBytes = 0, weights = 0;
  for (Value operand : op->getOperands()) {
    if (hasRows(operand.getType()))
      rowBytes += bytesAtRows(operand.getType(), rows);
    else if (operand.getDefiningOp<ParameterOp>() && cost.getFlops(rows) > 0)
      weights += elementsAtRows(operand.getType(), rows);
  }
  for (Type type : op->getResultTypes())
    if (hasRows(type))
      rowBytes += bytesAtRows(type, rows);
  return cost.getFlops(rows) / profile.flopsPerSecond +
         rowBytes / profile.bytesPerSecond + weights / profile.fillsPerSecond;
}

static double secondsOf(mlir::Block &body, int64_t rows,
                        const MachineProfile &profile) {
  double seconds = 0;
  for (Operation &op : body) {
    auto tiles = dyn_cast<RowTilesOp>(op);
    if (!tiles) {
      seconds += secondsOf(&op, rows, profile);
      continue;
    }
    mlir::Block &inner = tiles.getBody().front();
    int64_t tileRows = rowsOfTile(tiles, rows);
    seconds += rows / tileRows * secondsOf(inner, tileRows, profile);
    if (rows % tileRows)
      seconds += secondsOf(inner, rows % tileRows, profile);
  }
  return seconds;
}

double estimateSeconds(ModuleOp module, StringRef name,
                       const MachineProfile &profile) {
  SymbolTable symbols(module);
  auto entry = symbols.lookup<EntryOp>(name);
  auto rows = maxRows(module);
  if (!entry || failed(rows))
    return 0;
  llvm::DenseMap<Operation *, double> ofBlock;
  double seconds = 0;
  for (CallOp call : entry.getBody().getOps<CallOp>()) {
    auto block = symbols.lookup<BlockOp>(call.getBlock());
    auto [known, isNew] = ofBlock.try_emplace(block, 0);
    if (isNew)
      known->second = secondsOf(block.getBody().front(), *rows, profile);
    seconds += known->second;
  }
  return seconds;
}

} // namespace hone
