//===- RowTiling.cpp - Row-wise ops in tiles of rows ----------------------===//

#include "passes/plan/RowTiling.h"

#include "dialects/Hone/SequenceTiles.h"
#include "passes/place/Lifetimes.h"

using namespace mlir;

namespace hone {

static int64_t bytesOfRow(Value value) {
  return bytesAtRows(value.getType(), 1);
}

static bool canRunInTiles(Operation &op) {
  if (!op.hasTrait<RowWise>())
    return false;
  // A sum over rows is complete only after the last tile.
  for (Value result : op.getResults())
    if (!hasRows(result.getType()) && !result.use_empty() &&
        !isOnlyAddedToGradient(result))
      return false;
  return true;
}

/// Whether `op` is of parameters alone: it may run before all tiles.
static bool isOutsideOfRows(Operation &op) {
  return llvm::none_of(op.getOperandTypes(), hasRows) &&
         llvm::none_of(op.getResultTypes(), hasRows) && isPure(&op);
}

SmallVector<RowRun> findRowRuns(mlir::Block &body) {
  SmallVector<RowRun> runs;
  RowRun run;
  auto finish = [&] {
    if (!run.ops.empty())
      runs.push_back(std::move(run));
    run = {};
  };
  for (Operation &op : body) {
    if (op.hasTrait<Ambient>())
      continue;
    if (auto sink = dyn_cast<GradientOp>(op)) {
      if (llvm::is_contained(run.ops, sink.getValue().getDefiningOp()))
        run.ops.push_back(sink);
      continue;
    }
    if (isOutsideOfRows(op))
      continue;
    if (canRunInTiles(op))
      run.ops.push_back(&op);
    else
      finish();
  }
  finish();
  return runs;
}

llvm::SetVector<Value> RowRun::inputs() const {
  llvm::SetVector<Value> inputs;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (!isAmbient(operand) &&
          !llvm::is_contained(ops, operand.getDefiningOp()))
        inputs.insert(operand);
  return inputs;
}

llvm::SetVector<Value> RowRun::outputs() const {
  llvm::SetVector<Value> outputs;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      for (Operation *user : result.getUsers())
        if (!llvm::is_contained(ops, user))
          outputs.insert(result);
  return outputs;
}

bool RowRun::isWideInside() const {
  llvm::SetVector<Value> border = inputs(), leaving = outputs();
  border.insert_range(leaving);
  int64_t widest = 0;
  for (Value value : border)
    if (hasRows(value.getType()))
      widest = std::max(widest, bytesOfRow(value));
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (hasRows(result.getType()) && !border.contains(result) &&
          bytesOfRow(result) > widest)
        return true;
  return false;
}

/// As tileRun, with slices of `inputs`, ambient values, in the tiles, too.
static RowTilesOp tileWith(const RowRun &run, int64_t rows,
                           llvm::SetVector<Value> inputs) {
  llvm::SetVector<Value> outputs = run.outputs();
  inputs.insert_range(run.inputs());
  Operation *last = run.ops.back();
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  auto tiles = RowTilesOp::create(builder, run.ops.front()->getLoc(),
                                  ValueRange(outputs.getArrayRef()).getTypes(),
                                  rows, inputs.getArrayRef());
  mlir::Block &body = tiles.getBody().emplaceBlock();
  for (Value input : inputs)
    body.addArgument(input.getType(), input.getLoc());
  builder.setInsertionPointToEnd(&body);
  auto returned =
      ReturnOp::create(builder, tiles.getLoc(), outputs.getArrayRef());
  for (auto [index, output] : llvm::enumerate(outputs)) {
    Value(output).replaceUsesWithIf(
        tiles.getResult(index), [&](OpOperand &use) {
          return use.getOwner() != returned &&
                 !llvm::is_contained(run.ops, use.getOwner());
        });
  }
  for (Operation *op : run.ops)
    op->moveBefore(returned);
  for (auto [index, input] : llvm::enumerate(inputs))
    Value(input).replaceUsesWithIf(
        body.getArgument(index),
        [&](OpOperand &use) { return use.getOwner()->getBlock() == &body; });
  return tiles;
}

RowTilesOp tileRun(const RowRun &run, int64_t rows) {
  return tileWith(run, rows, /*inputs=*/{});
}

/// Whether the run has values that are neither results nor inputs.
static bool hasValueInside(const RowRun &run) {
  llvm::SetVector<Value> leaving = run.outputs();
  return llvm::any_of(run.ops, [&](Operation *op) {
    return llvm::any_of(op->getResults(), [&](Value result) {
      return !leaving.contains(result);
    });
  });
}

std::optional<SequenceRun> findSequenceRun(mlir::Block &body) {
  SequenceRun found;
  for (InputOp input : body.getOps<InputOp>())
    if (input.getName() == "sequence_starts")
      found.inputs.insert(input.getResult());
  if (found.inputs.empty())
    return std::nullopt;
  for (Operation &op : body.without_terminator()) {
    if (op.hasTrait<Ambient>() || isOutsideOfRows(op))
      continue;
    if (!isOfSequences(&op))
      return std::nullopt;
    for (Value operand : op.getOperands())
      if (isAmbient(operand) && hasRows(operand.getType()))
        found.inputs.insert(operand);
    found.run.ops.push_back(&op);
  }
  if (!hasValueInside(found.run))
    return std::nullopt;
  return found;
}

RowTilesOp tileSequences(const SequenceRun &sequences, int64_t rows,
                         int64_t longest) {
  RowTilesOp tiles = tileWith(sequences.run, rows, sequences.inputs);
  setLongestSequence(tiles, longest);
  return tiles;
}

int64_t sequenceTileRows(ModuleOp module) {
  int64_t rows = 0;
  module.walk([&](RowTilesOp tiles) {
    if (longestSequence(tiles) > 0)
      rows = std::max<int64_t>(rows, tiles.getTileRows());
  });
  return rows;
}

} // namespace hone
