//===- Place.cpp - hone-place ---------------------------------------------===//
//
// Three levels, one algorithm. A block's inner buffers are placed in its
// scratch, once for all layers; an entry's values and the scratch of each of
// its calls in its working set; a schedule's values and the working set of each
// of its runs in the arena. So what a layer needs only while it runs is shared
// by all layers and fills the gaps that kept values leave. Values that an op
// writes one over the other are one buffer.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/module/ParameterTable.h"
#include "passes/place/Lifetimes.h"
#include "passes/place/SchedulePlacement.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_PLACE
#include "passes/Passes.h.inc"

/// Of a vector over all trainable elements.
static int64_t vectorBytes(const ParameterTable &parameters, Type element) {
  if (!element)
    return 0;
  return parameters.trainableElements() * element.getIntOrFloatBitWidth() / 8;
}

namespace {

/// Collects the buffers of one body and writes their offsets back as
/// attributes.
class BodyPlacement {
public:
  /// Of `rows` rows; matrices of up to `apartColumns` columns share no memory.
  BodyPlacement(mlir::Block &body, int64_t rows, int64_t apartColumns = 0)
      : lifetimes(body), shared(body, lifetimes), rows(rows),
        apartColumns(apartColumns),
        end(lifetimes.position(body.getTerminator())) {}

  void addResults(Operation *op);
  void addWorkspace(Operation *op);
  /// Memory for the body that `op` runs.
  void addScratch(Operation *op, int64_t bytes);

  /// Places everything; returns the bytes used.
  int64_t place();

private:
  /// What will be one element of an attribute.
  struct Home {
    std::optional<size_t> buffer; ///< index; none: not memory of this body
    int64_t first = 0, last = 0;  ///< in use by this op's value
    Attribute elsewhere = {};     ///< if there is no buffer
  };
  struct Record {
    Operation *op;
    StringRef name;
    SmallVector<Home> homes;
    bool isList;
  };
  Home add(Buffer buffer, bool isApart = false) {
    buffers.push_back(buffer);
    if (isApart)
      std::tie(buffers.back().first, buffers.back().last) =
          std::pair(int64_t(0), end);
    return {buffers.size() - 1, buffer.first, buffer.last};
  }
  bool isApart(ShapedType type) const {
    return type.getRank() == 2 && type.getDimSize(1) <= apartColumns;
  }
  Home homeOf(OpResult result);

  Lifetimes lifetimes;
  SharedMemory shared;
  int64_t rows, apartColumns, end;
  std::vector<Buffer> buffers;
  /// First values of chains to their buffer.
  llvm::DenseMap<Value, size_t> bufferOf;
  std::vector<Record> records;
};

/// Creates regions, one after the other.
class RegionBuilder {
public:
  explicit RegionBuilder(ModuleOp module)
      : module(module), builder(OpBuilder::atBlockBegin(module.getBody())) {}

  void add(const Twine &name, MemoryClass memoryClass, int64_t bytes) {
    RegionOp::create(builder, module.getLoc(), name.str(), memoryClass, next,
                     bytes);
    skip(ArenaPlan::align(bytes));
  }
  void skip(int64_t bytes) { next += bytes; }
  int64_t end() const { return next; }

private:
  ModuleOp module;
  OpBuilder builder;
  int64_t next = 0;
};

struct Place : impl::PlaceBase<Place> {
  using PlaceBase::PlaceBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto rows = maxRows(module);
    if (failed(rows))
      return signalPassFailure();
    for (BlockOp block : module.getOps<BlockOp>())
      setScratch(block, placeOps(block.getBody().front(), *rows));
    auto parameters = ParameterTable::build(module);
    if (failed(parameters))
      return signalPassFailure();
    SymbolTable symbols(module);
    int64_t accumulation = 0;
    for (EntryOp entry : module.getOps<EntryOp>()) {
      placeEntry(entry, symbols, *rows);
      accumulation = std::max(accumulation, placeWindows(entry, *rows));
    }
    GradientPlace gradient = findGradientPlace(module);
    RegionBuilder regions(module);
    placeVectors(module, *parameters, gradient, regions);
    if (failed(placeCaches(module, symbols, regions)))
      return signalPassFailure();
    auto addAccumulation = [&] {
      if (accumulation > 0)
        regions.add("accumulation", MemoryClass::Accumulation, accumulation);
    };
    if (accumulates)
      addAccumulation();
    std::vector<SchedulePlacement> schedules;
    int64_t batches = 1, scalarBytes = 0;
    for (ScheduleOp schedule : module.getOps<ScheduleOp>()) {
      schedules.emplace_back(Schedule(schedule), *rows);
      batches = std::max(batches, schedules.back().batchSlots());
      scalarBytes = std::max(scalarBytes, schedules.back().scalarBytes());
    }
    int64_t batchBase = regions.end();
    if (failed(placeInputs(module, *rows, regions)))
      return signalPassFailure();
    int64_t batchBytes = regions.end() - batchBase;
    regions.skip((batches - 1) * batchBytes);
    int64_t scalarBase = regions.end();
    if (scalarBytes > 0)
      regions.add("scalars", MemoryClass::Batch, scalarBytes);
    int64_t base = regions.end(), most = 0;
    for (SchedulePlacement &schedule : schedules)
      most = std::max(most,
                      schedule.place(base, scalarBase, batchBase, batchBytes));
    // Without a schedule, each entry runs for itself.
    for (EntryOp entry : module.getOps<EntryOp>())
      if (schedules.empty())
        most = std::max(most, scratchBytes(entry));
    Builder builder(module);
    module->setAttr(HoneDialect::getArenaBytesAttrName(),
                    builder.getI64IntegerAttr(base + most));
    regions.skip(most);
    if (gradient == GradientPlace::BehindArena)
      regions.add("gradient", MemoryClass::Gradient,
                  vectorBytes(*parameters, parameters->gradientElement()));
    if (!accumulates)
      addAccumulation();
  }

  static void setScratch(Operation *op, int64_t bytes) {
    op->setAttr(HoneDialect::getScratchBytesAttrName(),
                Builder(op).getI64IntegerAttr(bytes));
  }

  /// Places what computes; returns the bytes of scratch.
  int64_t placeOps(mlir::Block &body, int64_t rows) const {
    BodyPlacement placement(body, rows, apartColumns);
    for (Operation &op : body.without_terminator()) {
      placement.addResults(&op);
      placement.addWorkspace(&op);
      if (auto tiles = dyn_cast<RowTilesOp>(op))
        placement.addScratch(
            tiles, placeOps(tiles.getBody().front(), rowsOfTile(tiles, rows)));
    }
    return placement.place();
  }

  static void placeEntry(EntryOp entry, SymbolTable &symbols, int64_t rows) {
    BodyPlacement placement(entry.getBodyBlock(), rows);
    for (Operation &op : entry.getBodyBlock()) {
      if (!isAccumulation(&op))
        placement.addResults(&op);
      if (auto call = dyn_cast<CallOp>(op))
        placement.addScratch(call, scratchBytes(call, symbols));
    }
    setScratch(entry, placement.place());
  }

  /// What the region `accumulation` holds; returns its bytes.
  static int64_t placeWindows(EntryOp entry, int64_t rows) {
    BodyPlacement placement(entry.getBodyBlock(), rows);
    for (Operation &op : entry.getBodyBlock())
      if (isAccumulation(&op))
        placement.addResults(&op);
    return placement.place();
  }

  enum class GradientPlace { None, Arena, BehindArena };
  /// Where the gradient of all parameters is. A step that updates layer by
  /// layer or along directions never has all of it, but who differentiates
  /// does, and so does each comparison.
  static GradientPlace findGradientPlace(ModuleOp module);
  /// Theta, its gradient, a copy for comparisons and the optimizer's state.
  static void placeVectors(ModuleOp module, const ParameterTable &parameters,
                           GradientPlace gradient, RegionBuilder &regions);
  /// The caches of each layer, in the order of the calls.
  static LogicalResult placeCaches(ModuleOp module, const SymbolTable &symbols,
                                   RegionBuilder &regions);
  /// The inputs of one batch.
  static LogicalResult placeInputs(ModuleOp module, int64_t rows,
                                   RegionBuilder &regions);
};

} // namespace

BodyPlacement::Home BodyPlacement::homeOf(OpResult result) {
  Attribute unit = UnitAttr::get(result.getContext());
  if (!lifetimes.needsMemory(result))
    return {std::nullopt, 0, 0, unit};
  OpResult last = shared.last(result), first = shared.first(result);
  if (!lifetimes.needsMemory(last)) {
    mlir::Block *body = result.getOwner()->getBlock();
    auto returned = body->getTerminator()->getOperands();
    int64_t index = llvm::find(returned, last) - returned.begin();
    return {std::nullopt, 0, 0,
            ResultSlotAttr::get(result.getContext(), index)};
  }
  Buffer own = lifetimes.buffer(result, rows);
  if (result == first) {
    Buffer whole = own;
    whole.last = lifetimes.buffer(last, rows).last;
    bufferOf[result] =
        *add(whole, isApart(cast<ShapedType>(result.getType()))).buffer;
  }
  return {bufferOf.at(first), own.first, own.last};
}

void BodyPlacement::addResults(Operation *op) {
  if (op->getNumResults() == 0 || op->hasTrait<Ambient>() ||
      op->hasTrait<View>())
    return;
  Record record{op, HoneDialect::getSlotsAttrName(), {}, true};
  for (OpResult result : op->getResults())
    record.homes.push_back(homeOf(result));
  records.push_back(std::move(record));
}

void BodyPlacement::addWorkspace(Operation *op) {
  auto workspace = dyn_cast<WorkspaceOpInterface>(op);
  if (!workspace)
    return;
  Record record{op, HoneDialect::getWorkspaceAttrName(), {}, true};
  for (MemRefType type : workspace.getWorkspace(rows))
    record.homes.push_back(
        add(lifetimes.during(op, bytesAtRows(type, rows)), isApart(type)));
  if (!record.homes.empty())
    records.push_back(std::move(record));
}

void BodyPlacement::addScratch(Operation *op, int64_t bytes) {
  records.push_back({op,
                     HoneDialect::getScratchAttrName(),
                     {add(lifetimes.during(op, bytes))},
                     false});
}

int64_t BodyPlacement::place() {
  int64_t bytes = ArenaPlan::place(buffers);
  for (const Record &record : records) {
    Builder builder(record.op->getContext());
    SmallVector<Attribute> slots;
    for (const Home &home : record.homes) {
      if (!home.buffer) {
        slots.push_back(home.elsewhere);
        continue;
      }
      const Buffer &buffer = buffers[*home.buffer];
      slots.push_back(SlotAttr::get(builder.getContext(), buffer.offset,
                                    buffer.bytes, home.first, home.last, 1));
    }
    record.op->setAttr(record.name, record.isList
                                        ? Attribute(builder.getArrayAttr(slots))
                                        : slots.front());
  }
  return bytes;
}

static bool compares(ModuleOp module) {
  return Schedule::find(module, Purpose::Compare).has_value();
}

Place::GradientPlace Place::findGradientPlace(ModuleOp module) {
  if (compares(module))
    return GradientPlace::Arena;
  bool updatesLayers = false, isSummed = false, isEstimated = false;
  module.walk([&](Operation *op) {
    isSummed |= isa<GradientOp>(op);
    isEstimated |= isa<EstimateGradientOp>(op);
    auto update = dyn_cast<UpdateOpInterface>(op);
    if (!update)
      return;
    updatesLayers |= bool(update.getLayerGradient());
    isSummed |=
        !update.getLayerGradient() && !update.getDirectionCoefficients();
  });
  if (isSummed && !updatesLayers)
    return GradientPlace::Arena;
  return updatesLayers || isEstimated ? GradientPlace::BehindArena
                                      : GradientPlace::None;
}

void Place::placeVectors(ModuleOp module, const ParameterTable &parameters,
                         GradientPlace gradient, RegionBuilder &regions) {
  int64_t vector = vectorBytes(parameters, parameters.gradientElement());
  unsigned states = 0;
  module.walk([&](UpdateOpInterface update) {
    states = std::max(states, update.getNumStateVectors());
  });
  regions.add("theta", MemoryClass::Adapter,
              vectorBytes(parameters, parameters.thetaElement()));
  if (gradient == GradientPlace::Arena)
    regions.add("gradient", MemoryClass::Gradient, vector);
  if (compares(module)) // after the gradient: see hone_module
    regions.add("comparison", MemoryClass::Comparison, vector);
  for (unsigned state = 0; state < states; ++state)
    regions.add("state" + Twine(state), MemoryClass::Optimizer, vector);
}

LogicalResult Place::placeCaches(ModuleOp module, const SymbolTable &symbols,
                                 RegionBuilder &regions) {
  llvm::StringMap<Type> caches;
  LogicalResult result = success();
  auto place = [&](CallOp call, BlockOp block) {
    for (CacheOp cache : block.getBody().getOps<CacheOp>()) {
      std::string name = cacheRegion(call, cache);
      auto [known, isNew] = caches.try_emplace(name, cache.getType());
      if (isNew) {
        regions.add(name, MemoryClass::Cache, bytesAtRows(cache.getType(), 0));
      } else if (known->second != cache.getType()) {
        cache.emitOpError("expects the cache to have one type in a layer, but "
                          "it is ")
            << known->second << " elsewhere";
        result = failure();
      }
    }
  };
  for (EntryOp entry : module.getOps<EntryOp>())
    if (failed(forEachCall(entry, symbols, place)))
      return failure();
  return result;
}

LogicalResult Place::placeInputs(ModuleOp module, int64_t rows,
                                 RegionBuilder &regions) {
  llvm::StringMap<Type> inputs;
  LogicalResult result = success();
  module.walk([&](InputOp input) {
    auto [known, isNew] = inputs.try_emplace(input.getName(), input.getType());
    if (isNew)
      regions.add("input." + input.getName(), MemoryClass::Batch,
                  bytesAtRows(input.getType(), rows));
    else if (known->second != input.getType()) {
      input.emitOpError("expects the input to have one type, but it is ")
          << known->second << " elsewhere";
      result = failure();
    }
  });
  return result;
}

} // namespace hone
