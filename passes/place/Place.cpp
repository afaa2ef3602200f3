//===- Place.cpp - hone-place ---------------------------------------------===//
//
// Three levels, one algorithm. A block's inner buffers are placed in its
// scratch, once for all layers; an entry's values and the scratch of each of
// its calls in its working set; a schedule's values and the working set of each
// of its runs in the arena. So all layers share the memory that a layer needs
// only while it runs, and it fills the gaps that kept values leave. Values that
// an op writes one over the other are one buffer. All of it is done once for
// each placement: lifetimes do not depend on rows, only sizes do.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/SequenceTiles.h"
#include "passes/Passes.h"
#include "passes/module/OptimizerState.h"
#include "passes/place/Lifetimes.h"
#include "passes/place/SchedulePlacement.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_PLACE
#include "passes/Passes.h.inc"

namespace {

/// Collects the buffers of one body and writes their offsets back as
/// attributes.
class BodyPlacement {
public:
  /// Matrices of up to `apartColumns` columns share no memory.
  BodyPlacement(mlir::Block &body, ArrayRef<PlacedRows> rows,
                int64_t apartColumns = 0)
      : lifetimes(body), shared(body, lifetimes), rows(rows),
        apartColumns(apartColumns),
        end(lifetimes.position(body.getTerminator())), buffers(rows.size()) {}

  void addResults(Operation *op);
  void addWorkspace(Operation *op);
  /// Memory for the body that `op` runs, of each placement.
  void addScratch(Operation *op, ArrayRef<int64_t> bytes);

  /// Places everything; returns the bytes used in each placement.
  SmallVector<int64_t> place();

private:
  /// Becomes one element of an attribute.
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
  /// `life`, with so many bytes in each placement; for the whole body if it
  /// `isApart`.
  Home add(const Buffer &life, ArrayRef<int64_t> bytes, bool isApart = false);
  bool isApart(ShapedType type) const {
    return type.getRank() == 2 && type.getDimSize(1) <= apartColumns;
  }
  Home homeOf(OpResult result);

  Lifetimes lifetimes;
  SharedMemory shared;
  ArrayRef<PlacedRows> rows;
  int64_t apartColumns, end;
  /// The same buffers for each placement.
  SmallVector<std::vector<Buffer>> buffers;
  /// First values of chains to their buffer.
  llvm::DenseMap<Value, size_t> bufferOf;
  std::vector<Record> records;
};

/// Creates regions, one after the other.
class RegionBuilder {
public:
  explicit RegionBuilder(ModuleOp module)
      : module(module), builder(OpBuilder::atBlockBegin(module.getBody())) {}

  /// `element`: see hone.region.
  void add(const Twine &name, MemoryClass memoryClass, int64_t bytes,
           Type element = {}) {
    auto others = ArrayRef(fewer);
    RegionOp::create(
        builder, module.getLoc(), name.str(), memoryClass, next, bytes,
        llvm::all_of(others, [&](int64_t other) { return other == next; })
            ? DenseI64ArrayAttr()
            : builder.getDenseI64ArrayAttr(others),
        element ? TypeAttr::get(element) : TypeAttr());
    skip(ArenaPlan::align(bytes));
  }
  void skip(int64_t bytes) {
    next += bytes;
    for (int64_t &other : fewer)
      other += bytes;
  }
  /// From now on regions are after the arena, which has `bytes` bytes in each
  /// placement.
  void leaveArena(ArrayRef<int64_t> bytes) {
    next = bytes.front();
    fewer.assign(bytes.begin() + 1, bytes.end());
  }
  int64_t end() const { return next; }

private:
  ModuleOp module;
  OpBuilder builder;
  int64_t next = 0;
  SmallVector<int64_t> fewer; ///< in further placements, after the arena
};

struct Place : impl::PlaceBase<Place> {
  using PlaceBase::PlaceBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    StringRef placed = HoneDialect::getArenaBytesAttrName();
    if (module->hasAttr(placed)) {
      module.emitError("expects no '") << placed << "': it is placed already";
      return signalPassFailure();
    }
    auto most = maxRows(module);
    if (failed(most))
      return signalPassFailure();
    if (halvings > 0)
      module->setAttr(
          HoneDialect::getFewerRowsAttrName(),
          Builder(module).getDenseI64ArrayAttr(halvedRows(*most, halvings)));
    const SmallVector<PlacedRows> rows = placedRows(module);
    for (BlockOp block : module.getOps<BlockOp>())
      setScratch(block, placeOps(block.getBody().front(), rows));
    auto parameters = ParameterTable::build(module);
    if (failed(parameters))
      return signalPassFailure();
    SymbolTable symbols(module);
    int64_t accumulation = 0;
    for (EntryOp entry : module.getOps<EntryOp>()) {
      placeEntry(entry, symbols, rows);
      accumulation = std::max(accumulation, placeWindows(entry, rows.front()));
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
    auto arena = placeSchedules(module, rows, regions);
    if (failed(arena))
      return signalPassFailure();
    setPlacedNumber(module, HoneDialect::getArenaBytesAttrName(),
                    HoneDialect::getFewerArenaBytesAttrName(), *arena);
    regions.leaveArena(*arena);
    if (gradient == GradientPlace::AfterArena)
      regions.add("gradient", MemoryClass::Gradient,
                  parameters->vectorBytes(parameters->gradientElement()));
    if (!accumulates)
      addAccumulation();
  }

  static void setScratch(Operation *op, ArrayRef<int64_t> bytes) {
    setPlacedNumber(op, HoneDialect::getScratchBytesAttrName(),
                    HoneDialect::getFewerScratchBytesAttrName(), bytes);
  }

  /// Places the values of a body that computes; returns the bytes of scratch.
  SmallVector<int64_t> placeOps(mlir::Block &body,
                                ArrayRef<PlacedRows> rows) const {
    BodyPlacement placement(body, rows, apartColumns);
    for (Operation &op : body.without_terminator()) {
      placement.addResults(&op);
      placement.addWorkspace(&op);
      auto tiles = dyn_cast<RowTilesOp>(op);
      if (!tiles)
        continue;
      SmallVector<PlacedRows> ofTile;
      for (PlacedRows each : rows)
        ofTile.push_back(rowsOfTile(tiles, each));
      auto bytes = placeOps(tiles.getBody().front(), ofTile);
      for (int64_t &each : bytes)
        each += bytesBeforeSequences(tiles);
      placement.addScratch(tiles, bytes);
    }
    return placement.place();
  }

  /// The scratch of `op` in each placement.
  template <typename... Of>
  static SmallVector<int64_t> scratchOf(size_t placements, Of &&...op) {
    SmallVector<int64_t> bytes;
    for (unsigned i = 0; i < placements; ++i)
      bytes.push_back(scratchBytes(op..., i));
    return bytes;
  }

  static void placeEntry(EntryOp entry, SymbolTable &symbols,
                         ArrayRef<PlacedRows> rows) {
    BodyPlacement placement(entry.getBodyBlock(), rows);
    for (Operation &op : entry.getBodyBlock()) {
      if (!isAccumulation(&op))
        placement.addResults(&op);
      if (auto call = dyn_cast<CallOp>(op))
        placement.addScratch(call, scratchOf(rows.size(), call, symbols));
    }
    setScratch(entry, placement.place());
  }

  /// Places the windows in the region `accumulation`, in which nothing has
  /// rows; returns its bytes.
  static int64_t placeWindows(EntryOp entry, PlacedRows rows) {
    auto windows = entry.getBody().getOps<LayerGradientOp>();
    if (llvm::none_of(windows,
                      [](Operation *op) { return isAccumulation(op); }))
      return 0;
    BodyPlacement placement(entry.getBodyBlock(), rows);
    for (Operation &op : entry.getBodyBlock())
      if (isAccumulation(&op))
        placement.addResults(&op);
    return placement.place().front();
  }

  enum class GradientPlace { None, Arena, AfterArena };
  /// Where the gradient of all parameters is. A step that updates layer by
  /// layer or along directions never has all of it, but a run that writes
  /// gradients out does, and so does each comparison.
  static GradientPlace findGradientPlace(ModuleOp module);
  /// Theta, its gradient, a copy for comparisons and the optimizer's state.
  static void placeVectors(ModuleOp module, const ParameterTable &parameters,
                           GradientPlace gradient, RegionBuilder &regions);
  /// The caches of each layer, in the order of the calls.
  static LogicalResult placeCaches(ModuleOp module, const SymbolTable &symbols,
                                   RegionBuilder &regions);
  /// The inputs of batches, the scalars, and above them the memory of
  /// schedules; returns the bytes of the arena in each placement.
  static FailureOr<SmallVector<int64_t>>
  placeSchedules(ModuleOp module, ArrayRef<PlacedRows> rows,
                 RegionBuilder &regions);
  /// The inputs of one batch, of which all placements have the same: a few
  /// bytes a row.
  static LogicalResult placeInputs(ModuleOp module, int64_t rows,
                                   RegionBuilder &regions);
};

} // namespace

BodyPlacement::Home BodyPlacement::add(const Buffer &life,
                                       ArrayRef<int64_t> bytes, bool isApart) {
  for (auto [placement, own] : llvm::zip_equal(buffers, bytes)) {
    placement.push_back(life);
    Buffer &buffer = placement.back();
    buffer.bytes = own;
    if (isApart) {
      buffer.first = 0;
      buffer.last = end;
    }
  }
  return {buffers.front().size() - 1, life.first, life.last};
}

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
  Buffer own = lifetimes.buffer(result, rows.front());
  if (result == first) {
    Buffer whole = own;
    whole.last = lifetimes.buffer(last, rows.front()).last;
    SmallVector<int64_t> bytes;
    for (PlacedRows each : rows)
      bytes.push_back(bytesIn(result.getType(), each));
    bufferOf[result] =
        *add(whole, bytes, isApart(cast<ShapedType>(result.getType()))).buffer;
  }
  return {bufferOf.at(first), own.first, own.last};
}

void BodyPlacement::addResults(Operation *op) {
  if (op->getNumResults() == 0 || lifetimes.isAmbient(op) ||
      lifetimes.isView(op))
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
  SmallVector<SmallVector<MemRefType>> types;
  for (PlacedRows each : rows)
    types.push_back(workspace.getWorkspace(each.rows));
  for (auto [i, whole] : llvm::enumerate(types.front())) {
    SmallVector<int64_t> bytes;
    for (ArrayRef<MemRefType> own : types)
      bytes.push_back(bytesIn(whole, own[i]));
    record.homes.push_back(
        add(lifetimes.during(op, bytes.front()), bytes, isApart(whole)));
  }
  if (!record.homes.empty())
    records.push_back(std::move(record));
}

void BodyPlacement::addScratch(Operation *op, ArrayRef<int64_t> bytes) {
  records.push_back({op,
                     HoneDialect::getScratchAttrName(),
                     {add(lifetimes.during(op, bytes.front()), bytes)},
                     false});
}

SmallVector<int64_t> BodyPlacement::place() {
  SmallVector<int64_t> bytes;
  for (std::vector<Buffer> &placement : buffers)
    bytes.push_back(ArenaPlan::place(placement));
  for (const Record &record : records) {
    Builder builder(record.op->getContext());
    SmallVector<Attribute> slots;
    for (const Home &home : record.homes) {
      if (!home.buffer) {
        slots.push_back(home.elsewhere);
        continue;
      }
      slots.push_back(
          slotOf(builder, buffers, *home.buffer, home.first, home.last));
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
  return updatesLayers || isEstimated ? GradientPlace::AfterArena
                                      : GradientPlace::None;
}

void Place::placeVectors(ModuleOp module, const ParameterTable &parameters,
                         GradientPlace gradient, RegionBuilder &regions) {
  int64_t vector = parameters.vectorBytes(parameters.gradientElement());
  regions.add("theta", MemoryClass::Adapter,
              parameters.vectorBytes(parameters.thetaElement()));
  if (gradient == GradientPlace::Arena)
    regions.add("gradient", MemoryClass::Gradient, vector);
  if (compares(module)) // after the gradient: see hone_module
    regions.add("comparison", MemoryClass::Comparison, vector);
  const OptimizerState state(module, parameters);
  for (const StateSlot &slot : state.slots())
    regions.add(slot.name, MemoryClass::Optimizer, state.bytesOf(slot),
                slot.isKept ? slot.element : Type());
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

FailureOr<SmallVector<int64_t>> Place::placeSchedules(ModuleOp module,
                                                      ArrayRef<PlacedRows> rows,
                                                      RegionBuilder &regions) {
  std::vector<SchedulePlacement> schedules;
  int64_t batches = 1, scalarBytes = 0;
  for (ScheduleOp schedule : module.getOps<ScheduleOp>()) {
    schedules.emplace_back(Schedule(schedule), rows);
    batches = std::max(batches, schedules.back().batchSlots());
    scalarBytes = std::max(scalarBytes, schedules.back().scalarBytes());
  }
  int64_t batchBase = regions.end();
  if (failed(placeInputs(module, rows.front().most, regions)))
    return failure();
  int64_t batchBytes = regions.end() - batchBase;
  regions.skip((batches - 1) * batchBytes);
  int64_t scalarBase = regions.end();
  if (scalarBytes > 0)
    regions.add("scalars", MemoryClass::Batch, scalarBytes);
  int64_t base = regions.end();
  SmallVector<int64_t> arena(rows.size(), base);
  auto hold = [&](ArrayRef<int64_t> bytes) {
    for (auto [end, own] : llvm::zip_equal(arena, bytes))
      end = std::max(end, base + own);
  };
  for (SchedulePlacement &schedule : schedules)
    hold(schedule.place(base, scalarBase, batchBase, batchBytes));
  // Without a schedule, each entry runs for itself.
  if (schedules.empty())
    for (EntryOp entry : module.getOps<EntryOp>())
      hold(scratchOf(rows.size(), entry));
  return arena;
}

LogicalResult Place::placeInputs(ModuleOp module, int64_t rows,
                                 RegionBuilder &regions) {
  llvm::StringMap<Type> inputs;
  LogicalResult result = success();
  forEachInput(module, [&](Operation *op, StringRef name, Type type) {
    auto [known, isNew] = inputs.try_emplace(name, type);
    if (isNew)
      regions.add("input." + name, MemoryClass::Batch, bytesAtRows(type, rows));
    else if (known->second != type) {
      op->emitOpError("expects the input to have one type, but it is ")
          << known->second << " elsewhere";
      result = failure();
    }
  });
  return result;
}

} // namespace hone
