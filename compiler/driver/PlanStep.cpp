//===- PlanStep.cpp - residuals: planned ----------------------------------===//

#include "compiler/driver/PlanStep.h"

#include "base/Counted.h"
#include "dialects/Hone/Numerics.h"
#include "dialects/Hone/SequenceTiles.h"
#include "passes/derive/ActivityAnalysis.h"
#include "passes/methods/Methods.h"
#include "passes/methods/StepSettings.h"
#include "passes/module/Schedule.h"
#include "passes/place/Lifetimes.h"
#include "passes/plan/MemoryPlan.h"
#include "passes/selection/SelectLayers.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <limits>
#include <list>
#include <map>

using namespace hone;
using namespace mlir;

/// The slowdown against block-wise recompute that a smaller peak may cost when
/// no budget is given.
static constexpr double defaultSlowdown = 1.05;

namespace {

/// Runs the passes under one plan after the other.
class PlanJudge {
public:
  PlanJudge(ModuleOp imported, const rt::Settings &settings,
            const StepOptions &options, const Target &target,
            const MachineCosts &costs, int64_t threads, bool streams)
      : imported(imported), settings(settings), options(options),
        target(target), costs(costs), threads(threads), streams(streams) {}

  /// Finds layers whose forward and backward are apart; false if there is
  /// nothing to plan, or the model cannot be derived, which is reported when
  /// the phase runs.
  bool findLayers();
  /// The peak of `plan` is of anonymous memory, with as much of the mapped as
  /// there is more than `mappedForFree`.
  std::optional<PlanCost> judge(const StepPlan &plan, int64_t mappedForFree);
  std::optional<MemoryPlan> memoryOf(const StepPlan &plan);
  /// Lowers `plan` to find what each thread and the kernels' tables need; false
  /// if that was known. Until then judge() counts the sizes found for plans
  /// with the same tiles.
  bool findSizes(const StepPlan &plan);

  bool tilesSequences() const { return tiledSequences(imported) > 0; }
  bool isForDevice() const { return domainOf(target) != MemoryDomain::Host; }

  /// How many plans were placed, and how many of them sized.
  int64_t placedPlans() const { return placed.size(); }
  int64_t sizedPlans() const { return sizes.size(); }

  int64_t layers = 0;

private:
  LoweredSizes sizesOf(const StepPlan &plan) const;
  /// A copy of the module after phases Derive and Place, and as much of Lower
  /// as finds sizes if asked for; null if a pass fails.
  OwningOpRef<ModuleOp> run(const StepPlan &plan, bool findsSizes);
  /// The module after phase Derive, which knows nothing of tiles: plans that
  /// differ in these alone share it. Null if a pass fails.
  ModuleOp derive(const StepPlan &plan, const StepOptions &planned);

  ModuleOp imported;
  const rt::Settings &settings;
  const StepOptions &options;
  const Target &target;
  const MachineCosts &costs;
  int64_t threads;
  bool streams;
  /// Placements, without the memory of threads and tables; none if a pass
  /// fails.
  std::map<StepPlan, std::optional<MemoryPlan>> placed;
  std::map<StepPlan, LoweredSizes> sizes;
  /// Of the plans that were asked for last, newest first.
  std::list<std::pair<StepPlan, OwningOpRef<ModuleOp>>> derived;
};

} // namespace

MemoryDomain hone::domainOf(const Target &target) {
  if (target.hasHostKernels())
    return MemoryDomain::Host;
  return target.hasOwnMemory() ? MemoryDomain::Device
                               : MemoryDomain::SharedDevice;
}

void hone::applyPlan(const PlannedStep &planned, StepOptions &options) {
  options.streamWeights = planned.streams;
  options.residuals = planned.plan.residuals(planned.layers);
  options.recomputedInputs = planned.plan.recomputedInputs;
  options.roundedInputs = planned.plan.roundedInputs;
  if (planned.plan.offloadedInputs > 0) // else as the spec has it
    options.offloadedInputs = planned.plan.offloadedInputs;
  options.rematerialize = true;
  options.tileRows = planned.plan.tileRows;
  options.forwardTileRows = planned.plan.forwardTileRows;
}

/// Runs the passes of `phases` without a word; false if one fails.
static bool runSilently(ModuleOp module,
                        llvm::function_ref<void(OpPassManager &)> phases) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  pm.enableVerifier(false);
  phases(pm);
  ScopedDiagnosticHandler silence(module.getContext(),
                                  [](Diagnostic &) { return success(); });
  return succeeded(pm.run(module));
}

ModuleOp PlanJudge::derive(const StepPlan &plan, const StepOptions &planned) {
  // Derived modules that are kept for the next height of tiles, with about
  // 2,048 layers in all: a deep model's modules are large.
  const auto mostKept = static_cast<size_t>(
      std::clamp<int64_t>(2048 / std::max<int64_t>(layers, 1), 1, 64));
  StepPlan untiled = plan;
  untiled.tileRows = untiled.forwardTileRows = 0;
  auto found = llvm::find_if(derived, [&](const auto &known) {
    return !(known.first < untiled) && !(untiled < known.first);
  });
  if (found != derived.end()) {
    derived.splice(derived.begin(), derived, found);
    return derived.front().second.get();
  }
  OwningOpRef<ModuleOp> module(imported.clone());
  StepSettings::write(settings, *module);
  if (!runSilently(*module, [&](OpPassManager &pm) {
        buildPhase(pm, CompilerPhase::Derive, planned, &target);
      }))
    module = {};
  derived.emplace_front(untiled, std::move(module));
  if (derived.size() > mostKept)
    derived.pop_back();
  return derived.front().second.get();
}

OwningOpRef<ModuleOp> PlanJudge::run(const StepPlan &plan, bool findsSizes) {
  StepOptions planned;
  planned.copyOptionValuesFrom(options);
  applyPlan({plan, layers, streams}, planned);
  planned.verifies = false; // the plan that is chosen will be
  if (!findsSizes)          // of all rows
    planned.halvings = 0;
  ModuleOp shared = derive(plan, planned);
  if (!shared)
    return {};
  OwningOpRef<ModuleOp> module(shared.clone());
  if (!runSilently(*module, [&](OpPassManager &pm) {
        buildPhase(pm, CompilerPhase::Place, planned, &target);
        if (findsSizes)
          buildSizing(pm, target);
      }))
    return {};
  return module;
}

bool PlanJudge::findLayers() {
  ScopedDiagnosticHandler silence(imported.getContext(),
                                  [](Diagnostic &) { return success(); });
  FailureOr<EntryOp> loss = findLossEntry(imported);
  if (failed(loss))
    return false;
  // Then only tiles are planned.
  if (!choosesResiduals(settings))
    return memoryOf(StepPlan()).has_value();
  FailureOr<int64_t> derived = countDerivedLayers(*loss, settings);
  if (failed(derived))
    return false;
  layers = *derived;
  return layers > 0 && memoryOf(StepPlan());
}

std::optional<MemoryPlan> PlanJudge::memoryOf(const StepPlan &plan) {
  auto [known, isNew] = placed.try_emplace(plan);
  if (isNew)
    if (OwningOpRef<ModuleOp> module = run(plan, /*findsSizes=*/false))
      if (FailureOr<MemoryPlan> memory = MemoryPlan::readTotals(
              *module, domainOf(target), settings.parts.size());
          succeeded(memory))
        known->second = std::move(*memory);
  std::optional<MemoryPlan> memory = known->second;
  if (memory)
    memory->setSizes(sizesOf(plan));
  return memory;
}

std::optional<PlanCost> PlanJudge::judge(const StepPlan &plan,
                                         int64_t mappedForFree) {
  std::optional<MemoryPlan> memory = memoryOf(plan);
  if (!memory)
    return std::nullopt;
  // A device's plan has no budget of resident memory.
  int64_t mapped = memory->mappedPeak(threads);
  return PlanCost{
      memory->budgeted(threads) + std::max<int64_t>(mapped - mappedForFree, 0),
      costs.seconds(
          memory->families,
          imported->hasAttr(HoneDialect::getRoundedProductsAttrName()),
          memory->offloaded.perBatch)};
}

LoweredSizes PlanJudge::sizesOf(const StepPlan &plan) const {
  if (auto known = sizes.find(plan); known != sizes.end())
    return known->second;
  LoweredSizes most;
  for (const auto &[other, found] : sizes)
    if (other.tileRows == plan.tileRows &&
        other.forwardTileRows == plan.forwardTileRows)
      most = {std::max(most.threadBytes, found.threadBytes),
              std::max(most.tableBytes, found.tableBytes)};
  return most;
}

bool PlanJudge::findSizes(const StepPlan &plan) {
  // A device's plan counts neither.
  if (sizes.count(plan) || isForDevice())
    return false;
  OwningOpRef<ModuleOp> module = run(plan, /*findsSizes=*/true);
  sizes[plan] = module ? LoweredSizes::of(*module) : LoweredSizes();
  return true;
}

static std::string inMebibytes(int64_t bytes) {
  // Rounded up: the printed number must be enough as a budget.
  int64_t hundredths = llvm::divideCeil(bytes * 100, int64_t(1) << 20);
  std::string fraction = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + "." +
         std::string(2 - fraction.size(), '0') + fraction + "MiB";
}

PlanRequest PlanRequest::of(const Spec &spec) {
  Streaming streaming = spec.weights.streaming == "true" ? Streaming::Always
                        : spec.weights.streaming == "planned"
                            ? Streaming::Planned
                            : Streaming::Never;
  return {spec,
          spec.train.memory_budget,
          spec.train.resident_budget,
          spec.train.kept_dtype == "bfloat16",
          spec.train.activation_offloading == "planned",
          streaming,
          spec.placeOf("train.memory_budget"),
          spec.placeOf("train.resident_budget"),
          spec.train.selection_ratio.isPlanned()};
}

namespace {

/// The search of one plan, with or without streaming.
class PlanSearch {
public:
  PlanSearch(ModuleOp module, const PlanRequest &request,
             const StepOptions &options, const Target &target,
             const MachineCosts &costs, int64_t threads, bool streams)
      : request(request), judge(module, request.settings, options, target,
                                costs, threads, streams),
        threads(threads), streams(streams), isProgram(!options.part.empty()),
        rows(maxRows(module).value_or(0)) {}

  /// Whether there is anything to plan.
  bool canPlan() { return rows > 0 && judge.findLayers(); }
  Result<PlannedStep> find();
  /// Of the result of find().
  double seconds = 0;
  /// Adds the counts of this search to `plan`.
  void addEffort(Result<PlannedStep> &plan) const {
    if (!plan.isOk())
      return;
    plan.value().placed += judge.placedPlans();
    plan.value().sized += judge.sizedPlans();
  }

private:
  Status tooSmall(const StepPlan &smallest);

  const PlanRequest &request;
  PlanJudge judge;
  int64_t threads;
  bool streams;
  bool isProgram; ///< one of several of a model
  int64_t rows;
};

} // namespace

Status PlanSearch::tooSmall(const StepPlan &smallest) {
  MemoryPlan memory = *judge.memoryOf(smallest);
  bool isMemory = request.memory.isBytes() &&
                  memory.budgeted(threads) > request.memory.bytes();
  int64_t budget = isMemory ? request.memory.bytes() : request.resident.bytes();
  int64_t least =
      isMemory ? memory.budgeted(threads) : memory.residentPeak(threads);
  std::string remedy = "raise the budget to " + inMebibytes(least);
  if (!isMemory && !streams)
    remedy += ", set weights.streaming to planned";
  return Status(
      ErrorCode::BudgetTooSmall,
      isMemory ? request.memoryPlace : request.residentPlace,
      "expected at least " + inMebibytes(least) + " (" + std::to_string(least) +
          " bytes, the smallest plan for " + std::to_string(rows) +
          " rows and " + rt::counted(threads, "thread") + ") but found " +
          inMebibytes(budget) + " (" + std::to_string(budget) + " bytes)",
      remedy + ", or lower max_seq_length, batch_size or lora.r");
}

Result<PlannedStep> PlanSearch::find() {
  bool hasResident = request.resident.isBytes();
  bool hasMemory = request.memory.isBytes();
  // Both budgets as one: mapped memory counts as far as it exceeds the
  // difference.
  int64_t budget =
      hasMemory ? request.memory.bytes() : request.resident.bytes();
  if (hasMemory && hasResident)
    budget = std::min(budget, request.resident.bytes());
  int64_t mappedForFree = hasResident ? request.resident.bytes() - budget
                                      : std::numeric_limits<int64_t>::max();
  while (true) {
    StepPlanner planner(
        judge.layers, request.mayRound, request.mayOffload,
        numerics::kGradientRows, rows,
        [&](const StepPlan &plan) { return judge.judge(plan, mappedForFree); });
    // Each program is planned by itself, and its plan must not change the
    // values that cross.
    if (isProgram)
      planner.keepInputs();
    if (judge.tilesSequences())
      planner.tileSequences();
    auto found = [&](const StepPlan &plan) {
      seconds = planner.cost(plan)->seconds;
      PlannedStep planned{plan, judge.layers, streams};
      if (judge.isForDevice())
        planned.smallestBytes = planner.cost(planner.smallest())->peakBytes;
      return planned;
    };
    if (!hasMemory && !hasResident) {
      if (request.memory.kind() == rt::Budget::Kind::None)
        return found(planner.fastest());
      return found(planner.smallestWithin(defaultSlowdown *
                                          planner.cost(StepPlan())->seconds));
    }
    std::optional<StepPlan> plan = planner.fastestWithin(budget);
    StepPlan smallest = plan ? *plan : planner.smallest();
    // A thread's scratch and tables are known only after lowering.
    if (judge.findSizes(smallest))
      continue;
    if (plan)
      return found(*plan);
    return tooSmall(smallest);
  }
}

static Result<PlannedStep> planWith(ModuleOp module, const PlanRequest &request,
                                    const StepOptions &options,
                                    const Target &target,
                                    const MachineCosts &costs,
                                    int64_t threads) {
  using Streaming = PlanRequest::Streaming;
  PlanSearch mapped(module, request, options, target, costs, threads,
                    request.streaming == Streaming::Always);
  if (!mapped.canPlan())
    return PlannedStep{StepPlan(), 1, request.streaming == Streaming::Always};
  Result<PlannedStep> found = mapped.find();
  mapped.addEffort(found);
  if (request.streaming != Streaming::Planned)
    return found;
  PlanSearch streaming(module, request, options, target, costs, threads,
                       /*streams=*/true);
  if (!streaming.canPlan())
    return found;
  Result<PlannedStep> streamed = streaming.find();
  mapped.addEffort(streamed);
  streaming.addEffort(streamed);
  streaming.addEffort(found);
  bool isNeeded =
      !found.isOk() || (streamed.isOk() && streaming.seconds < mapped.seconds);
  return isNeeded ? streamed : found;
}

Result<PlannedStep> hone::planStep(ModuleOp module, const PlanRequest &request,
                                   const StepOptions &given,
                                   const Target &target,
                                   const MachineCosts &costs, int64_t threads) {
  FailureOr<EntryOp> loss = failure();
  if (request.plansSelection)
    loss = findLossEntry(module);
  int64_t layers = succeeded(loss) ? selectableLayers(*loss).size() : 0;
  if (layers == 0)
    return planWith(module, request, given, target, costs, threads);
  auto planFor = [&](int64_t selected) {
    PlanRequest chosen = request;
    const double ratio = double(selected) / double(layers);
    chosen.settings.train.selection_ratio = ratio;
    Result<PlannedStep> found =
        planWith(module, chosen, given, target, costs, threads);
    if (found.isOk())
      found.value().selectionRatio = ratio;
    return found;
  };
  // A layer more keeps an input more, so the largest is found by halves.
  int64_t least = 1, most = layers;
  while (least < most) {
    int64_t middle = (least + most + 1) / 2;
    if (planFor(middle).isOk())
      least = middle;
    else
      most = middle - 1;
  }
  return planFor(least);
}
