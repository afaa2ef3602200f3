//===- WeightResidency.cpp - Which weights are in memory at a time --------===//
//
// What is in memory is ranges of the weights file, which grow by what a fault
// may bring in at their ends. Tensors that follow one another in the file, as
// those of a layer do, are one range.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/WeightResidency.h"

#include "passes/module/WeightStorage.h"
#include "runtime/include/hone/runtime.h"

#include <map>

using namespace mlir;

namespace hone {
namespace {

/// The tensors of the weights file that calls read, in the file's order, each
/// in memory or not.
class ResidentTensors {
public:
  void add(StringRef prefix, ParameterOp parameter);
  /// After the last add().
  void number();
  void load(StringRef prefix, ParameterOp parameter) {
    set(prefix, parameter, true);
  }
  void release(StringRef prefix, ParameterOp parameter) {
    set(prefix, parameter, false);
  }

  int64_t bytes = 0;  ///< in memory
  int64_t ranges = 0; ///< that they are in

private:
  struct Tensor {
    int64_t index = 0;
    int64_t bytes = 0;
    bool isResident = false;
  };

  void set(StringRef prefix, ParameterOp parameter, bool isResident);

  /// By element type, then by name. Which type comes first does not matter.
  std::map<std::pair<const void *, std::string>, Tensor> tensors;
  std::vector<Tensor *> order; ///< with a null at each end of a type
};

/// Runs entries one after the other.
class Simulation {
public:
  explicit Simulation(ModuleOp module);

  void run(EntryOp entry);
  WeightResidency most;

private:
  void call(CallOp op);
  /// Calls body(parameter) for the frozen ones of a block.
  template <typename Body> void forEachFrozen(StringRef block, Body body) const;
  /// Bytes that are in memory when `rows` rows of a parameter were read.
  int64_t bytesOf(ParameterOp parameter, int64_t rows) const;

  SymbolTable symbols;
  ResidentTensors resident;
  int64_t unit = 0; ///< none if nothing is ever let go
};

} // namespace

static SmallVector<StoredTensor, 3> storedTensors(ParameterOp parameter) {
  return storedTensors(parameter.getType(), parameter.getStoredAttr());
}

static std::pair<const void *, std::string>
keyOf(StringRef prefix, ParameterOp parameter, const StoredTensor &tensor) {
  return {tensor.type.getElementType().getAsOpaquePointer(),
          (prefix + parameter.getName() + tensor.suffix).str()};
}

void ResidentTensors::add(StringRef prefix, ParameterOp parameter) {
  for (const StoredTensor &tensor : storedTensors(parameter))
    tensors[keyOf(prefix, parameter, tensor)].bytes =
        bytesAtRows(tensor.type, 0);
}

void ResidentTensors::number() {
  const void *type = nullptr;
  for (auto &[key, tensor] : tensors) {
    if (key.first != type)
      order.push_back(nullptr);
    type = key.first;
    tensor.index = int64_t(order.size());
    order.push_back(&tensor);
  }
  order.push_back(nullptr);
}

void ResidentTensors::set(StringRef prefix, ParameterOp parameter,
                          bool isResident) {
  int64_t sign = isResident ? 1 : -1;
  for (const StoredTensor &stored : storedTensors(parameter)) {
    Tensor &tensor = tensors.find(keyOf(prefix, parameter, stored))->second;
    if (tensor.isResident == isResident)
      continue;
    tensor.isResident = isResident;
    bytes += sign * tensor.bytes;
    // A range more, or two joined, or one that grows.
    const Tensor *before = order[tensor.index - 1];
    const Tensor *after = order[tensor.index + 1];
    ranges += sign * (1 - (before && before->isResident) -
                      (after && after->isResident));
  }
}

template <typename Body>
void Simulation::forEachFrozen(StringRef block, Body body) const {
  for (ParameterOp parameter :
       symbols.lookup<BlockOp>(block).getBody().getOps<ParameterOp>())
    if (!parameter.getTrainable())
      body(parameter);
}

Simulation::Simulation(ModuleOp module) : symbols(module) {
  for (EntryOp entry : module.getOps<EntryOp>()) {
    for (CallOp call : entry.getBody().getOps<CallOp>())
      for (FlatSymbolRefAttr callee : call.getCallees())
        forEachFrozen(callee.getValue(), [&](ParameterOp parameter) {
          resident.add(call.getPrefix(), parameter);
        });
    if (!entry.getBody().getOps<ReleaseOp>().empty())
      unit = HONE_RESIDENT_UNIT_BYTES;
  }
  resident.number();
}

int64_t Simulation::bytesOf(ParameterOp parameter, int64_t rows) const {
  int64_t bytes = 0;
  for (const StoredTensor &tensor : storedTensors(parameter)) {
    SmallVector<int64_t> shape(tensor.type.getShape());
    shape.front() = std::min(shape.front(), rows);
    bytes += bytesAtRows(tensor.type.clone(shape), 0) + 2 * unit;
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
  now.threadBytes = unit; // hone_release lets a thread's last one wait
  for (FlatSymbolRefAttr callee : op.getCallees())
    forEachFrozen(callee.getValue(), [&](ParameterOp parameter) {
      if (std::optional<int64_t> rows = rowsOfPiece(parameter)) {
        now.bytes += bytesOf(parameter, *rows);
        now.threadBytes += bytesOf(parameter, 1);
      } else {
        resident.load(op.getPrefix(), parameter);
      }
    });
  now.bytes += resident.bytes + 2 * unit * resident.ranges;
  most.bytes = std::max(most.bytes, now.bytes);
  most.threadBytes = std::max(most.threadBytes, now.threadBytes);
}

void Simulation::run(EntryOp entry) {
  for (Operation &op : entry.getBody().front()) {
    if (auto called = dyn_cast<CallOp>(op))
      call(called);
    else if (auto released = dyn_cast<ReleaseOp>(op))
      forEachFrozen(released.getBlock(), [&](ParameterOp parameter) {
        resident.release(released.getPrefix(), parameter);
      });
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
