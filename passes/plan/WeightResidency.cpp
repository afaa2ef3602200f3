//===- WeightResidency.cpp - Which weights are in memory at a time --------===//

#include "passes/plan/WeightResidency.h"

#include "passes/module/WeightStorage.h"
#include "runtime/include/hone/runtime.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace hone {
namespace {

/// Runs entries one after the other, on names of weights.
class Simulation {
public:
  explicit Simulation(ModuleOp module) : symbols(module) {
    module.walk([&](ReleaseOp) { streams = true; });
  }

  void run(EntryOp entry);
  WeightResidency most;

private:
  void call(CallOp op);
  void release(ReleaseOp op);
  /// Bytes of `rows` rows of a parameter as it is stored; all if negative.
  int64_t bytesOf(ParameterOp parameter, int64_t rows) const;

  SymbolTable symbols;
  bool streams = false;
  llvm::StringMap<int64_t> resident; ///< bytes by name
};

} // namespace

int64_t Simulation::bytesOf(ParameterOp parameter, int64_t rows) const {
  int64_t bytes = 0;
  for (const StoredTensor &tensor :
       storedTensors(parameter.getType(), parameter.getStoredAttr())) {
    SmallVector<int64_t> shape(tensor.type.getShape());
    if (rows >= 0)
      shape.front() = std::min(shape.front(), rows);
    bytes += bytesAtRows(tensor.type.clone(shape), 0);
    // Whole units of pages are mapped, at both ends of a range.
    bytes += streams ? 2 * HONE_RESIDENT_UNIT_BYTES : 0;
  }
  return bytes;
}

/// Rows of `parameter` that are read before they are let go again, if ops that
/// do so are its only readers.
static std::optional<int64_t> rowsOfPiece(ParameterOp parameter) {
  int64_t rows = 0;
  for (Operation *user : parameter.getResult().getUsers()) {
    auto stream = dyn_cast<StreamOpInterface>(user);
    if (!stream || !stream.getStreamed())
      return std::nullopt;
    rows = std::max(rows, stream.getPieceRows());
  }
  return rows;
}

void Simulation::call(CallOp op) {
  WeightResidency now;
  auto read = [&](ParameterOp parameter) {
    if (parameter.getTrainable())
      return;
    if (std::optional<int64_t> rows = rowsOfPiece(parameter)) {
      now.bytes += bytesOf(parameter, *rows);
      now.threadBytes += bytesOf(parameter, 1);
    } else {
      resident[(op.getPrefix() + parameter.getName()).str()] =
          bytesOf(parameter, -1);
    }
  };
  for (FlatSymbolRefAttr callee : op.getCallees())
    for (ParameterOp parameter : symbols.lookup<BlockOp>(callee.getValue())
                                     .getBody()
                                     .getOps<ParameterOp>())
      read(parameter);
  for (const auto &entry : resident)
    now.bytes += entry.second;
  most.bytes = std::max(most.bytes, now.bytes);
  most.threadBytes = std::max(most.threadBytes, now.threadBytes);
}

void Simulation::release(ReleaseOp op) {
  auto block = symbols.lookup<BlockOp>(op.getBlock());
  for (ParameterOp parameter : block.getBody().getOps<ParameterOp>())
    resident.erase((op.getPrefix() + parameter.getName()).str());
}

void Simulation::run(EntryOp entry) {
  for (Operation &op : entry.getBody().front()) {
    if (auto called = dyn_cast<CallOp>(op))
      call(called);
    else if (auto released = dyn_cast<ReleaseOp>(op))
      release(released);
  }
}

WeightResidency WeightResidency::of(ModuleOp module) {
  Simulation simulation(module);
  // Twice: what one entry leaves behind is there when the next begins.
  for (int round = 0; round < 2; ++round)
    for (EntryOp entry : module.getOps<EntryOp>())
      simulation.run(entry);
  return simulation.most;
}

} // namespace hone
