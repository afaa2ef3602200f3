//===- MemoryPlan.cpp - The promised peak, by class -----------------------===//
//
// The peak is reached during one call of one run of the schedule that trains,
// or of the one that compares.
// The table attributes the arena to classes at that call: regions by their
// class, values that cross items as boundary, values that live across calls as
// kept, gradients of a layer as gradient, the call's own scratch and results as
// working memory.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/MemoryPlan.h"

#include "dialects/Hone/Sizes.h"
#include "dialects/Tile/TileDialect.h"
#include "passes/module/ParameterTable.h"
#include "passes/module/Schedule.h"
#include "passes/module/WeightStorage.h"
#include "passes/place/Lifetimes.h"
#include "passes/place/OffsetTable.h"
#include "passes/place/SchedulePlacement.h"
#include "runtime/include/hone/runtime.h"
#include "runtime/src/module/ProcessMemory.h"

#include <numeric>
#include <set>

using namespace mlir;

namespace hone {
namespace {

struct Usage {
  int64_t boundary = 0, kept = 0, working = 0, gradient = 0;

  int64_t total() const { return boundary + kept + working + gradient; }
};

/// A run of the step or of its comparison, and the bytes in use beside its
/// working set.
struct StepRun {
  EntryOp entry;
  int64_t boundary;
};

/// A value of an entry that is in its working set.
struct HeldValue {
  Operation *op;
  SlotAttr slot;
};

/// The rows and the timeline of one placement.
struct PlacedMemory {
  std::vector<MemoryPlan::Row> rows;
  std::vector<MemoryPlan::Moment> timeline;
  int64_t arenaBytes = 0, lowerBound = 0, dumpBytes = 0, accumulationBytes = 0;
};
} // namespace

static SmallVector<HeldValue> heldValues(EntryOp entry) {
  SmallVector<HeldValue> values;
  for (Operation &op : entry.getBodyBlock()) {
    auto slots = op.getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
    if (!slots || isAccumulation(&op))
      continue;
    for (Attribute attr : slots)
      if (auto slot = dyn_cast<SlotAttr>(attr))
        values.push_back({&op, slot});
  }
  return values;
}

namespace {
/// An entry's values that are in use, call by call in their order: each value
/// comes and goes once, so a deep model takes no more time for each layer.
class UsageSweep {
public:
  UsageSweep(ArrayRef<HeldValue> held, unsigned placement);

  /// While `call` runs, which is after those that were asked for before.
  Usage during(CallOp call);

private:
  struct Value {
    Operation *op;
    int64_t first, last, bytes, offset;
  };
  /// Counts the value that stands for `place`, or no longer.
  void count(int64_t place, int64_t sign);
  int64_t &bytesOf(const Value &value) {
    return isa<LayerGradientOp>(value.op) ? inUse.gradient : inUse.kept;
  }

  unsigned placement;
  std::vector<Value> values; ///< in the order in which they begin
  std::vector<size_t> byEnd;
  size_t begun = 0, ended = 0;
  /// A result may be written over an operand, so one place is counted once: as
  /// the first of the values that are in use there.
  llvm::DenseMap<int64_t, std::set<size_t>> places;
  Usage inUse; ///< nothing as working
};
} // namespace

UsageSweep::UsageSweep(ArrayRef<HeldValue> held, unsigned placement)
    : placement(placement) {
  for (auto [op, slot] : held)
    if (int64_t bytes = slot.bytesIn(placement))
      values.push_back({op, slot.getFirst(), slot.getLast(),
                        ArenaPlan::align(bytes), slot.offsetIn(placement)});
  llvm::stable_sort(
      values, [](const Value &a, const Value &b) { return a.first < b.first; });
  byEnd.resize(values.size());
  std::iota(byEnd.begin(), byEnd.end(), 0);
  llvm::stable_sort(byEnd, [&](size_t a, size_t b) {
    return values[a].last < values[b].last;
  });
}

void UsageSweep::count(int64_t place, int64_t sign) {
  const std::set<size_t> &here = places[place];
  if (!here.empty())
    bytesOf(values[*here.begin()]) += sign * values[*here.begin()].bytes;
}

Usage UsageSweep::during(CallOp call) {
  auto scratch =
      call->getAttrOfType<SlotAttr>(HoneDialect::getScratchAttrName());
  const int64_t now = scratch.getFirst();
  auto change = [&](size_t index, bool begins) {
    const int64_t place = values[index].offset;
    count(place, -1);
    begins ? (void)places[place].insert(index)
           : (void)places[place].erase(index);
    count(place, +1);
  };
  for (; begun < values.size() && values[begun].first <= now; ++begun)
    change(begun, true);
  for (; ended < byEnd.size() && values[byEnd[ended]].last < now; ++ended)
    change(byEnd[ended], false);
  Usage usage = inUse;
  usage.working = ArenaPlan::align(scratch.bytesIn(placement));
  // Values that the call makes, or is the last to read, count as its own.
  auto own = [&](size_t index) {
    const Value &value = values[index];
    if (isa<LayerGradientOp, PoolOp>(value.op) ||
        *places[value.offset].begin() != index)
      return;
    usage.kept -= value.bytes;
    usage.working += value.bytes;
  };
  for (size_t i = ended; i < byEnd.size() && values[byEnd[i]].last == now; ++i)
    own(byEnd[i]);
  for (size_t i = begun; i > 0 && values[i - 1].first == now; --i)
    if (values[i - 1].op == call && values[i - 1].last != now)
      own(i - 1);
  return usage;
}

/// Bytes of `schedule` in use during `run`, its own working set apart.
static int64_t boundaryDuring(const Schedule &schedule, RunOp run,
                              unsigned placement) {
  int64_t now = schedule.itemOf(run).position, bytes = 0;
  auto ownSet = run->getAttrOfType<SlotAttr>(HoneDialect::getScratchAttrName());
  llvm::SmallDenseSet<int64_t> sets = {ownSet.offsetIn(placement)};
  auto add = [&](SlotAttr slot) {
    if (slot.getFirst() <= now && now <= slot.getLast())
      bytes += slot.getCount() * ArenaPlan::align(slot.bytesIn(placement));
  };
  for (const Schedule::Item &item : schedule.items()) {
    auto slots =
        item.op->getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
    for (OpResult result : item.op->getResults())
      if (!isa<BatchType>(result.getType()) && !isScalar(result.getType()))
        add(cast<SlotAttr>(slots[result.getResultNumber()]));
    // Working sets of other lanes; runs of one lane share one.
    auto set =
        item.op->getAttrOfType<SlotAttr>(HoneDialect::getScratchAttrName());
    if (set && set.bytesIn(placement) > 0 &&
        sets.insert(set.offsetIn(placement)).second)
      add(set);
  }
  return bytes;
}

/// Bytes of the batches in flight beside the first.
static int64_t otherBatchBytes(ModuleOp module) {
  int64_t bytes = 0;
  auto add = [&](Operation *maker) {
    auto slots =
        maker->getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
    auto slot = cast<SlotAttr>(slots[0]);
    bytes = std::max(bytes, (slot.getCount() - 1) * slot.getBytes());
  };
  module.walk([&](LoadOp load) { add(load); });
  module.walk([&](ReceiveOp receive) {
    if (receive.getInputs())
      add(receive);
  });
  return bytes;
}

static bool generates(ModuleOp module) {
  return Schedule::find(module, Purpose::Generate).has_value();
}

static SmallVector<StepRun> runsOfStep(ModuleOp module, unsigned placement) {
  SmallVector<StepRun> runs;
  SymbolTable symbols(module);
  for (Purpose purpose :
       {Purpose::Train, Purpose::Compare, Purpose::Generate}) {
    std::optional<Schedule> schedule = Schedule::find(module, purpose);
    if (!schedule && purpose == Purpose::Train && !generates(module))
      for (EntryOp entry : entriesOfStep(module))
        runs.push_back({entry, 0});
    if (!schedule)
      continue;
    for (const Schedule::Item &item : schedule->items()) {
      auto run = dyn_cast<RunOp>(item.op);
      if (!run)
        continue;
      int64_t boundary = boundaryDuring(*schedule, run, placement);
      for (EntryOp entry : entriesOf(run, symbols))
        runs.push_back({entry, boundary});
    }
  }
  return runs;
}

/// `trainsModel`: the run's result is a model.
static rt::ProcessFacts
factsOf(ModuleOp module, const ParameterTable &parameters, bool trainsModel) {
  rt::ProcessFacts facts;
  facts.writesModel = trainsModel && !generates(module);
  facts.offloads = OffloadedBytes::of(module).file > 0;
  for (const Parameter &parameter : parameters.frozen())
    for (const StoredTensor &tensor :
         storedTensors(parameter.type, parameter.storage)) {
      facts.inFile.add(parameter.name.size() + tensor.suffix.size());
      ++facts.weights;
    }
  for (const Parameter &parameter : parameters.trainable()) {
    facts.trainables.add(parameter.name.size());
    if (parameter.isLoaded())
      facts.inFile.add(parameter.name.size());
  }
  for (ScheduleOp schedule : module.getOps<ScheduleOp>())
    schedule.walk([&](Operation *op) {
      ++facts.items;
      facts.values += op->getNumResults();
    });
  if (Schedule::find(module, Purpose::Compare))
    facts.compared = parameters.layers().size() + 1;
  if (std::optional<int64_t> positions = mostPositions(module))
    module.walk([&](LogitsOp logits) {
      facts.logits = logits.getY().getType().getDimSize(0);
      facts.positions = *positions;
    });
  return facts;
}

/// Whether the op neither makes nor reads a value on the host. Scalars of runs
/// are an exception: see isMirrored.
static bool isOfDevice(Operation *op) {
  return isa<RunOp, RepeatOp, LoadOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

/// Whether the host may use the value, or the one that a repeat carries in its
/// place.
static bool isMirrored(OpResult value) {
  auto isUsed = [](Value value) {
    return !llvm::all_of(value.getUsers(), isOfDevice);
  };
  if (isScalar(value.getType()) || !isOfDevice(value.getOwner()) ||
      isUsed(value))
    return true;
  auto repeat = dyn_cast<RepeatOp>(value.getOwner());
  return repeat &&
         isUsed(repeat.getBody().front().getArgument(value.getResultNumber()));
}

/// Runs `each` for the results of `op` that have a place.
static void forEachSlot(Operation *op,
                        llvm::function_ref<void(OpResult, SlotAttr)> each) {
  auto slots = op->getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (slots && i < slots.size())
      if (auto slot = dyn_cast<SlotAttr>(slots[i]))
        each(result, slot);
}

/// Bytes on the host of batches that `schedule` sends or receives: each
/// exchange has its own for each batch under way.
static int64_t stagedBytes(ScheduleOp schedule) {
  int64_t bytes = 0, batches = 0;
  const int64_t rows =
      maxRows(schedule->getParentOfType<ModuleOp>()).value_or(0);
  auto stage = [&](auto exchange) {
    if (DictionaryAttr inputs = exchange.getInputsAttr())
      for (NamedAttribute input : inputs)
        bytes += bytesAtRows(cast<TypeAttr>(input.getValue()).getValue(), rows);
  };
  schedule.walk([&](Operation *op) {
    forEachSlot(op, [&](OpResult value, SlotAttr slot) {
      if (isa<BatchType>(value.getType()))
        batches = std::max(batches, slot.getCount());
    });
    llvm::TypeSwitch<Operation *>(op).Case<SendOp, ReceiveOp>(stage);
  });
  return bytes * batches;
}

/// An upper bound of the values that a run mirrors: in each schedule those that
/// items other than runs of entries make or use, and scalars, which entries may
/// read. The calls that it may postpone are as rt::postponedCalls says.
static rt::DeviceFacts deviceFactsOf(ModuleOp module) {
  rt::DeviceFacts facts;
  auto add = [&](OpResult value, SlotAttr slot) {
    facts.values += slot.getCount();
    if (!isMirrored(value))
      return;
    facts.mirrors += slot.getCount();
    if (!isa<BatchType>(value.getType()))
      facts.mirroredBytes +=
          slot.getCount() * llvm::alignTo(slot.getBytes(), 8);
  };
  for (ScheduleOp schedule : module.getOps<ScheduleOp>()) {
    facts.stagedBytes += stagedBytes(schedule);
    schedule.walk([&](Operation *op) {
      forEachSlot(op, add);
      if (isa<ScalarOp>(op))
        facts.postponed.add(1, op->getNumOperands() + op->getNumResults());
      else if (auto repeat = dyn_cast<RepeatOp>(op))
        facts.postponed.add(repeat.getCarried().size(), 2);
    });
  }
  return facts;
}

namespace {
/// Bytes of regions, which are there during the whole step.
struct RegionBytes {
  llvm::SmallVector<int64_t> byClass =
      llvm::SmallVector<int64_t>(getMaxEnumValForMemoryClass() + 1);
  int64_t total = 0;

  void add(MemoryClass memoryClass, int64_t bytes) {
    byClass[static_cast<unsigned>(memoryClass)] += bytes;
    total += bytes;
  }
  int64_t of(MemoryClass memoryClass) const {
    return byClass[static_cast<unsigned>(memoryClass)];
  }
};

/// The call during which most is in use beside them.
struct WorstCall {
  Usage usage;
  std::string name;
};
} // namespace

/// Regions beyond the arena, for which only some runs have memory, are not
/// summed: `plan` takes their bytes.
static RegionBytes sumRegions(ModuleOp module, unsigned placement,
                              PlacedMemory &plan) {
  RegionBytes regions;
  for (RegionOp region : module.getOps<RegionOp>()) {
    const int64_t bytes = ArenaPlan::align(region.getBytes());
    if (region.offsetIn(placement) < plan.arenaBytes)
      regions.add(region.getMemoryClass(), bytes);
    else if (region.getMemoryClass() == MemoryClass::Accumulation)
      plan.accumulationBytes += bytes;
    else
      plan.dumpBytes += bytes;
  }
  regions.add(MemoryClass::Batch, otherBatchBytes(module));
  return regions;
}

/// Follows the step through its calls. Each is a moment of `timeline`, where
/// `regions` are in use, too.
static WorstCall findWorst(ModuleOp module, unsigned placement, int64_t regions,
                           std::vector<MemoryPlan::Moment> &timeline) {
  WorstCall worst;
  for (const StepRun &run : runsOfStep(module, placement)) {
    UsageSweep sweep(heldValues(run.entry), placement);
    for (CallOp call : EntryOp(run.entry).getBody().getOps<CallOp>()) {
      Usage usage = sweep.during(call);
      usage.boundary = run.boundary;
      std::string name = (call.getBlock() + " " + call.getPrefix()).str();
      if (StringAttr part = EntryOp(run.entry).getPartAttr())
        name = (part.getValue() + ": " + name).str();
      timeline.push_back({name, regions + usage.total()});
      if (usage.total() > worst.usage.total())
        worst = {usage, name};
    }
  }
  return worst;
}

/// The plan's rows, in the order in which they are printed.
static std::vector<MemoryPlan::Row> describeRows(const RegionBytes &regions,
                                                 const WorstCall &worst,
                                                 bool isStep,
                                                 bool trainsModel) {
  std::vector<MemoryPlan::Row> rows;
  auto add = [&](MemoryClass memoryClass, int64_t bytes, std::string note) {
    rows.push_back(
        {stringifyMemoryClass(memoryClass).str(), bytes, std::move(note)});
  };
  auto addSome = [&](MemoryClass memoryClass, std::string note) {
    if (int64_t bytes = regions.of(memoryClass))
      add(memoryClass, bytes, std::move(note));
  };
  const Usage &usage = worst.usage;
  if (trainsModel)
    rows.push_back(
        {"parameters", regions.of(MemoryClass::Adapter), "all that train"});
  else
    add(MemoryClass::Adapter, regions.of(MemoryClass::Adapter),
        "trainable parameters");
  if (isStep)
    add(MemoryClass::Gradient,
        regions.of(MemoryClass::Gradient) + usage.gradient,
        usage.gradient ? "of one layer" : "");
  addSome(MemoryClass::Accumulation, "one layer's gradient of a batch");
  addSome(MemoryClass::Comparison, "the gradient that another has beside");
  if (isStep)
    add(MemoryClass::Optimizer, regions.of(MemoryClass::Optimizer), "");
  addSome(MemoryClass::Cache, "keys and values of all positions");
  add(MemoryClass::Batch, regions.of(MemoryClass::Batch), "inputs and outputs");
  if (usage.boundary > 0)
    rows.push_back({"boundary", usage.boundary,
                    isStep ? "values that cross between parts" : "logits"});
  if (isStep || usage.kept > 0)
    add(MemoryClass::Kept, usage.kept,
        isStep ? "from forward to backward" : "from block to block");
  add(MemoryClass::Working, usage.working,
      "most in " + StringRef(worst.name).rtrim().str());
  return rows;
}

/// Reads placement `placement` of `module`. `trainsModel`: the run's result is
/// a model.
static PlacedMemory readPlacement(ModuleOp module, unsigned placement,
                                  bool trainsModel) {
  PlacedMemory plan;
  plan.arenaBytes =
      placedNumber(module, HoneDialect::getArenaBytesAttrName(),
                   HoneDialect::getFewerArenaBytesAttrName(), placement);
  const RegionBytes regions = sumRegions(module, placement, plan);
  const WorstCall worst =
      findWorst(module, placement, regions.total, plan.timeline);
  plan.rows = describeRows(regions, worst, !generates(module), trainsModel);
  plan.lowerBound = regions.total + worst.usage.total();
  if (plan.arenaBytes > plan.lowerBound)
    plan.rows.push_back(
        {"gaps", plan.arenaBytes - plan.lowerBound, "between buffers"});
  return plan;
}

/// Whether the run's result is a model.
static bool trainsModel(const ParameterTable &parameters) {
  return !parameters.trainable().empty() &&
         llvm::all_of(parameters.trainable(), [](const Parameter &p) {
           return p.init == Init::Pretrained;
         });
}

FailureOr<MemoryPlan> MemoryPlan::read(ModuleOp module, MemoryDomain domain,
                                       size_t parts) {
  FailureOr<MemoryPlan> plan = readTotals(module, domain, parts);
  auto parameters = ParameterTable::build(module);
  if (failed(plan) || failed(parameters))
    return failure();
  PlacedMemory whole = readPlacement(module, 0, trainsModel(*parameters));
  plan->rows = std::move(whole.rows);
  plan->timeline = std::move(whole.timeline);
  plan->lowerBound = whole.lowerBound;
  plan->dumpBytes = whole.dumpBytes;
  plan->accumulationBytes = whole.accumulationBytes;
  const unsigned placements = OffsetTable::of(module).placements();
  const auto rows = placedRows(module);
  for (unsigned i = 1; i < placements; ++i) {
    PlacedMemory placed = readPlacement(module, i, trainsModel(*parameters));
    plan->fewer.push_back(
        {rows[i].rows, std::move(placed.rows), placed.arenaBytes});
  }
  return plan;
}

FailureOr<MemoryPlan>
MemoryPlan::readTotals(ModuleOp module, MemoryDomain domain, size_t parts) {
  if (!module->hasAttr(HoneDialect::getArenaBytesAttrName()))
    return module.emitError("expects a placed module; run hone-place first");
  auto parameters = ParameterTable::build(module);
  if (failed(parameters))
    return failure();
  MemoryPlan plan;
  plan.arenaBytes =
      placedNumber(module, HoneDialect::getArenaBytesAttrName(),
                   HoneDialect::getFewerArenaBytesAttrName(), /*placement=*/0);
  plan.families = countFamilies(module);
  plan.counts = sumOf(plan.families);
  plan.offloaded = OffloadedBytes::of(module);
  plan.stackBytes = HONE_THREAD_STACK_BYTES;
  plan.domain = domain;

  rt::DeviceFacts deviceFacts = deviceFactsOf(module);
  for (RegionOp region : module.getOps<RegionOp>())
    if (region.getMemoryClass() == MemoryClass::Batch)
      deviceFacts.batchBytes += ArenaPlan::align(region.getBytes());
  deviceFacts.hasOwnMemory = domain == MemoryDomain::Device;
  plan.deviceHostBytes = static_cast<int64_t>(rt::deviceHostBytes(deviceFacts));

  rt::ProcessFacts facts =
      factsOf(module, *parameters, trainsModel(*parameters));
  facts.parts = parts;
  plan.processBytes = static_cast<int64_t>(rt::processBytes(facts));
  plan.mappedTableBytes = static_cast<int64_t>(rt::mappedTableBytes(facts));
  bool isLoaded = false;
  for (const Parameter &parameter : parameters->frozen())
    for (const StoredTensor &tensor :
         storedTensors(parameter.type, parameter.storage)) {
      int64_t bytes = bytesAtRows(tensor.type, 0);
      plan.weightBytes += bytes;
      plan.deviceWeightBytes += hone_device_bytes(bytes);
    }
  for (const Parameter &parameter : parameters->trainable()) {
    if (!parameter.isLoaded())
      continue;
    isLoaded = true;
    plan.weightBytes += bytesAtRows(
        storedTensors(parameter.type, parameter.storage).front().type, 0);
  }
  plan.residentWeights = WeightResidency::of(module);
  if (isLoaded) {
    // They are copied piece by piece.
    plan.residentWeights.bytes += 2 * HONE_RESIDENT_UNIT_BYTES;
    plan.residentWeights.threadBytes += 2 * HONE_RESIDENT_UNIT_BYTES;
  }
  return plan;
}

LoweredSizes LoweredSizes::of(ModuleOp lowered) {
  auto bytes = [&](StringRef name) {
    auto found = lowered->getAttrOfType<IntegerAttr>(name);
    return found ? found.getInt() : 0;
  };
  return {bytes(tile::TileDialect::kThreadBytesAttrName),
          bytes(tile::TileDialect::kTableBytesAttrName)};
}

void MemoryPlan::setSizes(const LoweredSizes &sizes) {
  threadBytes = ArenaPlan::align(sizes.threadBytes);
  tableBytes = sizes.tableBytes;
}

int64_t MemoryPlan::peak(int64_t threads) const {
  int64_t arena = isOnDevice() ? deviceHostBytes : arenaBytes;
  return static_cast<int64_t>(
      hone_peak_bytes(arena, processBytes, threadBytes, threads));
}

int64_t MemoryPlan::peakWithFewer(size_t index, int64_t threads) const {
  const int64_t arena = fewer[index].arenaBytes;
  return isOnDevice() ? arena + deviceWeightBytes
                      : static_cast<int64_t>(hone_peak_bytes(
                            arena, processBytes, threadBytes, threads));
}

int64_t MemoryPlan::mappedPeak(int64_t threads) const {
  return static_cast<int64_t>(hone_mapped_bytes(
      weightBytes, residentWeights.bytes, residentWeights.threadBytes,
      tableBytes + mappedTableBytes, threads));
}

} // namespace hone
