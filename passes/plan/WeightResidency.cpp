//===- WeightResidency.cpp - Which weights are in memory at a time --------===//
//
// Memory has ranges of the weights file, which grow by what a fault
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

/// Bytes of each thread: the part that it verifies, and the last one before it.
static constexpr int64_t kVerified = 2 * HONE_RESIDENT_UNIT_BYTES;
static_assert(HONE_RESIDENT_UNIT_BYTES % HONE_DIGEST_PART_BYTES == 0);

namespace {

/// The tensors of the weights file that calls read, in the file's order, each
/// in memory or not.
class ResidentTensors {
public:
  struct Tensor {
    int64_t index = 0;
    int64_t bytes = 0;
    bool isResident = false;
  };
  using Tensors = SmallVector<Tensor *, 3>;

  /// Adds the tensors of one layer's parameter. A tensor stays where it is.
  Tensors add(StringRef prefix, ParameterOp parameter);
  /// After the last add().
  void number();
  void load(ArrayRef<Tensor *> list) { set(list, true); }
  void release(ArrayRef<Tensor *> list) { set(list, false); }

  int64_t bytes = 0;  ///< in memory
  int64_t ranges = 0; ///< that they are in

private:
  void set(ArrayRef<Tensor *> list, bool isResident);

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
  /// A frozen parameter of a block.
  struct Frozen {
    ParameterOp op;
    std::optional<int64_t> pieceBytes; ///< if it is read piece by piece
  };
  using TensorsOfBlock = SmallVector<ResidentTensors::Tensors>;

  void call(CallOp op);
  ArrayRef<Frozen> frozenOf(StringRef block);
  /// The tensors of frozenOf() in the layer `prefix`.
  const TensorsOfBlock &tensorsOf(StringRef block, StringRef prefix);
  /// Bytes that are in memory when `rows` rows of a parameter were read.
  int64_t bytesOf(ParameterOp parameter, int64_t rows) const;

  SymbolTable symbols;
  ResidentTensors resident;
  llvm::StringMap<SmallVector<Frozen>> frozen;
  llvm::DenseMap<std::pair<StringRef, StringRef>, TensorsOfBlock> tensors;
  /// A fault at an end of a range in memory may bring in so much more; none if
  /// all that is read stays.
  int64_t unit = 0;
  int64_t waiting = 0; ///< of the last hone_release, still there
};

} // namespace

static std::pair<const void *, std::string>
keyOf(StringRef prefix, ParameterOp parameter, const StoredTensor &tensor) {
  return {tensor.type.getElementType().getAsOpaquePointer(),
          (prefix + parameter.getName() + tensor.suffix).str()};
}

ResidentTensors::Tensors ResidentTensors::add(StringRef prefix,
                                              ParameterOp parameter) {
  Tensors list;
  for (const StoredTensor &stored : storedTensors(parameter)) {
    Tensor &tensor = tensors[keyOf(prefix, parameter, stored)];
    tensor.bytes = bytesAtRows(stored.type, 0);
    list.push_back(&tensor);
  }
  return list;
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

void ResidentTensors::set(ArrayRef<Tensor *> list, bool isResident) {
  int64_t sign = isResident ? 1 : -1;
  for (Tensor *tensor : list) {
    if (tensor->isResident == isResident)
      continue;
    tensor->isResident = isResident;
    bytes += sign * tensor->bytes;
    // A range more, or two joined, or one that grows.
    const Tensor *before = order[tensor->index - 1];
    const Tensor *after = order[tensor->index + 1];
    ranges += sign * (1 - (before && before->isResident) -
                      (after && after->isResident));
  }
}

/// Rows of `parameter` that are read before they are let go again, if ops that
/// do so are its only readers. Rows that are named are not mapped at all.
static std::optional<int64_t> rowsOfPiece(ParameterOp parameter) {
  int64_t rows = 0;
  for (Operation *user : parameter.getResult().getUsers()) {
    auto stream = dyn_cast<StreamOpInterface>(user);
    if (!stream || !stream.getStreamed())
      return std::nullopt;
    if (!stream.readsNamedRows())
      rows = std::max(rows, stream.getPieceRows());
  }
  return rows;
}

Simulation::Simulation(ModuleOp module) : symbols(module) {
  module.walk([&](Operation *op) {
    auto stream = dyn_cast<StreamOpInterface>(op);
    if (isa<ReleaseOp>(op))
      waiting = HONE_RESIDENT_UNIT_BYTES;
    else if (!stream || !stream.getStreamed())
      return;
    unit = HONE_RESIDENT_UNIT_BYTES;
    most.threadBytes = kVerified;
  });
  for (EntryOp entry : module.getOps<EntryOp>())
    for (CallOp call : entry.getBody().getOps<CallOp>())
      for (FlatSymbolRefAttr callee : call.getCallees())
        tensorsOf(callee.getValue(), call.getPrefix());
  resident.number();
}

ArrayRef<Simulation::Frozen> Simulation::frozenOf(StringRef block) {
  auto [list, isNew] = frozen.try_emplace(block);
  if (isNew)
    for (ParameterOp parameter :
         symbols.lookup<BlockOp>(block).getBody().getOps<ParameterOp>()) {
      if (parameter.getTrainable())
        continue;
      Frozen &added = list->second.emplace_back();
      added.op = parameter;
      if (std::optional<int64_t> rows = rowsOfPiece(parameter))
        added.pieceBytes = *rows > 0 ? bytesOf(parameter, *rows) : 0;
    }
  return list->second;
}

const Simulation::TensorsOfBlock &Simulation::tensorsOf(StringRef block,
                                                        StringRef prefix) {
  auto [list, isNew] = tensors.try_emplace({block, prefix});
  if (isNew)
    for (const Frozen &parameter : frozenOf(block))
      list->second.push_back(resident.add(prefix, parameter.op));
  return list->second;
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

void Simulation::call(CallOp op) {
  int64_t bytes = waiting;
  for (FlatSymbolRefAttr callee : op.getCallees())
    for (auto [parameter, list] :
         llvm::zip_equal(frozenOf(callee.getValue()),
                         tensorsOf(callee.getValue(), op.getPrefix()))) {
      if (parameter.pieceBytes)
        bytes += *parameter.pieceBytes;
      else
        resident.load(list);
    }
  bytes += resident.bytes + 2 * unit * resident.ranges;
  most.bytes = std::max(most.bytes, bytes);
}

void Simulation::run(EntryOp entry) {
  for (Operation &op : entry.getBody().front()) {
    if (auto called = dyn_cast<CallOp>(op))
      call(called);
    else if (auto released = dyn_cast<ReleaseOp>(op))
      for (const ResidentTensors::Tensors &list :
           tensorsOf(released.getBlock(), released.getPrefix()))
        resident.release(list);
  }
}

WeightResidency WeightResidency::of(ModuleOp module) {
  Simulation simulation(module);
  // Twice: pages that one entry leaves resident are there when the next begins.
  for (int round = 0; round < 2; ++round)
    for (EntryOp entry : module.getOps<EntryOp>())
      simulation.run(entry);
  return simulation.most;
}

} // namespace hone
