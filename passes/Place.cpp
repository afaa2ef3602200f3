//===- Place.cpp - hone-place ---------------------------------------------===//
//
// Two levels, one algorithm. A block's inner buffers are placed in its
// scratch, once for all layers; an entry's values and the scratch of each of
// its calls are placed in the arena. So what a layer needs only while it runs
// is shared by all layers and fills the gaps that kept values leave.
//
//===----------------------------------------------------------------------===//

#include "passes/Lifetimes.h"
#include "passes/ParameterTable.h"
#include "passes/Passes.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_PLACE
#include "passes/Passes.h.inc"

namespace {

/// Collects the buffers of one body and writes their offsets back as
/// attributes.
class BodyPlacement {
public:
  BodyPlacement(mlir::Block &body, int64_t rows)
      : lifetimes(body), rows(rows) {}

  void addResults(Operation *op);
  void addWorkspace(Operation *op);
  void addScratch(CallOp call, int64_t bytes);

  /// Places everything; offsets start at `base`. Returns the bytes used.
  int64_t place(int64_t base);

private:
  /// Attribute `name` of `op`, one element for each index into `buffers`,
  /// unit where the index is none.
  struct Record {
    Operation *op;
    StringRef name;
    SmallVector<std::optional<size_t>> indices;
    bool isList;
  };
  std::optional<size_t> add(Buffer buffer) {
    buffers.push_back(buffer);
    return buffers.size() - 1;
  }

  Lifetimes lifetimes;
  int64_t rows;
  std::vector<Buffer> buffers;
  std::vector<Record> records;
};

struct Place : impl::PlaceBase<Place> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto rows = maxRows(module);
    if (failed(rows))
      return signalPassFailure();
    for (BlockOp block : module.getOps<BlockOp>())
      placeBlock(block, *rows);
    FailureOr<int64_t> base = placeRegions(module, *rows);
    if (failed(base))
      return signalPassFailure();
    int64_t most = 0;
    SymbolTable symbols(module);
    for (EntryOp entry : module.getOps<EntryOp>())
      most = std::max(most, placeEntry(entry, symbols, *rows, *base));
    Builder builder(module);
    module->setAttr(HoneDialect::getArenaBytesAttrName(),
                    builder.getI64IntegerAttr(*base + most));
  }

  static void placeBlock(BlockOp block, int64_t rows) {
    BodyPlacement placement(block.getBody().front(), rows);
    for (Operation &op : block.getBody().front().without_terminator()) {
      placement.addResults(&op);
      placement.addWorkspace(&op);
    }
    int64_t bytes = placement.place(0);
    block->setAttr(HoneDialect::getScratchBytesAttrName(),
                   Builder(block).getI64IntegerAttr(bytes));
  }

  static int64_t placeEntry(EntryOp entry, SymbolTable &symbols, int64_t rows,
                            int64_t base) {
    BodyPlacement placement(entry.getBody().front(), rows);
    for (CallOp call : entry.getBody().getOps<CallOp>()) {
      placement.addResults(call);
      auto bytes = symbols.lookup(call.getBlock())
                       ->getAttrOfType<IntegerAttr>(
                           HoneDialect::getScratchBytesAttrName());
      placement.addScratch(call, bytes.getInt());
    }
    return placement.place(base);
  }

  /// Creates the regions and returns the bytes they take.
  static FailureOr<int64_t> placeRegions(ModuleOp module, int64_t rows);
};

} // namespace

void BodyPlacement::addResults(Operation *op) {
  if (op->getNumResults() == 0)
    return;
  Record record{op, HoneDialect::getSlotsAttrName(), {}, true};
  for (OpResult result : op->getResults())
    record.indices.push_back(lifetimes.needsMemory(result)
                                 ? add(lifetimes.buffer(result, rows))
                                 : std::nullopt);
  records.push_back(std::move(record));
}

void BodyPlacement::addWorkspace(Operation *op) {
  auto workspace = dyn_cast<WorkspaceOpInterface>(op);
  if (!workspace)
    return;
  Record record{op, HoneDialect::getWorkspaceAttrName(), {}, true};
  for (MemRefType type : workspace.getWorkspace(rows))
    record.indices.push_back(
        add(lifetimes.during(op, bytesAtRows(type, rows))));
  if (!record.indices.empty())
    records.push_back(std::move(record));
}

void BodyPlacement::addScratch(CallOp call, int64_t bytes) {
  records.push_back({call,
                     HoneDialect::getScratchAttrName(),
                     {add(lifetimes.during(call, bytes))},
                     false});
}

int64_t BodyPlacement::place(int64_t base) {
  int64_t bytes = ArenaPlan::place(buffers);
  for (const Record &record : records) {
    Builder builder(record.op->getContext());
    SmallVector<Attribute> slots;
    for (std::optional<size_t> index : record.indices) {
      if (!index) {
        slots.push_back(builder.getUnitAttr());
        continue;
      }
      const Buffer &buffer = buffers[*index];
      slots.push_back(SlotAttr::get(builder.getContext(), base + buffer.offset,
                                    buffer.bytes, buffer.first, buffer.last));
    }
    record.op->setAttr(record.name, record.isList
                                        ? Attribute(builder.getArrayAttr(slots))
                                        : slots.front());
  }
  return bytes;
}

FailureOr<int64_t> Place::placeRegions(ModuleOp module, int64_t rows) {
  auto parameters = ParameterTable::build(module);
  if (failed(parameters))
    return failure();
  int64_t next = 0;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto region = [&](const Twine &name, MemoryClass memoryClass,
                    int64_t bytes) {
    RegionOp::create(builder, module.getLoc(), name.str(), memoryClass, next,
                     bytes);
    next += ArenaPlan::align(bytes);
  };

  int64_t vector = 0;
  for (const Parameter &parameter : parameters->trainable())
    vector += bytesAtRows(parameter.type, rows);
  unsigned states = 0;
  module.walk([&](UpdateOpInterface update) {
    states = std::max(states, update.getNumStateVectors());
  });
  region("theta", MemoryClass::Adapter, vector);
  region("gradient", MemoryClass::Gradient, vector);
  for (unsigned state = 0; state < states; ++state)
    region("state" + Twine(state), MemoryClass::Optimizer, vector);

  llvm::StringMap<Type> inputs;
  LogicalResult result = success();
  module.walk([&](InputOp input) {
    auto [known, isNew] = inputs.try_emplace(input.getName(), input.getType());
    if (isNew)
      region("input." + input.getName(), MemoryClass::Batch,
             bytesAtRows(input.getType(), rows));
    else if (known->second != input.getType()) {
      input.emitOpError("expects the input to have one type, but it is ")
          << known->second << " elsewhere";
      result = failure();
    }
  });
  llvm::StringMap<Type> outputs;
  module.walk([&](OutputOp output) {
    Type type = output.getValue().getType();
    auto [known, isNew] = outputs.try_emplace(output.getName(), type);
    if (isNew)
      region("output." + output.getName(), MemoryClass::Batch,
             bytesAtRows(type, rows));
    else if (known->second != type) {
      output.emitOpError("expects the output to have one type, but it is ")
          << known->second << " elsewhere";
      result = failure();
    }
  });
  if (failed(result))
    return failure();
  return next;
}

} // namespace hone
