//===- PlanStep.cpp - residuals: planned ----------------------------------===//

#include "compiler/PlanStep.h"

#include "dialects/Hone/Numerics.h"
#include "dialects/Tile/TileDialect.h"
#include "passes/Lifetimes.h"
#include "passes/MemoryPlan.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace hone;
using namespace mlir;
using rt::ExitCode;
using rt::Result;
using rt::Status;

/// The slowdown against block-wise recompute that a smaller peak may cost when
/// no budget is given.
static constexpr double defaultSlowdown = 1.05;

namespace {

/// Runs the passes under one plan after the other.
class PlanJudge {
public:
  PlanJudge(ModuleOp imported, const StepOptions &options, const Target &target,
            const MachineProfile &profile, int64_t threads)
      : imported(imported), options(options), target(target), profile(profile),
        threads(threads) {}

  /// Layers whose forward and backward are apart; none if the model cannot be
  /// derived, which is reported when the phase runs.
  int64_t countLayers();
  std::optional<PlanCost> judge(const StepPlan &plan);
  /// Lowers `plan` to find what each thread needs; true if it is more than
  /// what judge() counted so far.
  bool updateThreadBytes(const StepPlan &plan);

  int64_t layers = 0;

private:
  /// A copy of the module after phases Derive and Place, and Lower if asked
  /// for; null if a pass fails.
  OwningOpRef<ModuleOp> run(const StepPlan &plan, bool lowers);

  ModuleOp imported;
  const StepOptions &options;
  const Target &target;
  MachineProfile profile;
  int64_t threads, threadBytes = 0;
};

} // namespace

void hone::applyPlan(const PlannedStep &planned, StepOptions &options) {
  options.residuals = planned.plan.residuals(planned.layers);
  options.recomputedInputs = planned.plan.recomputedInputs;
  options.roundedInputs = planned.plan.roundedInputs;
  options.rematerialize = true;
  options.tileRows = planned.plan.tileRows;
  options.forwardTileRows = planned.plan.forwardTileRows;
}

OwningOpRef<ModuleOp> PlanJudge::run(const StepPlan &plan, bool lowers) {
  StepOptions planned;
  planned.copyOptionValuesFrom(options);
  applyPlan({plan, layers}, planned);
  OwningOpRef<ModuleOp> module(imported.clone());
  PassManager pm(module->getContext(), ModuleOp::getOperationName());
  pm.enableVerifier(false);
  buildPhase(pm, Phase::Derive, planned, &target);
  buildPhase(pm, Phase::Place, planned, &target);
  if (lowers)
    buildPhase(pm, Phase::Lower, planned, &target);
  ScopedDiagnosticHandler silence(module->getContext(),
                                  [](Diagnostic &) { return success(); });
  if (failed(pm.run(*module)))
    return {};
  return module;
}

int64_t PlanJudge::countLayers() {
  OwningOpRef<ModuleOp> module = run(StepPlan(), /*lowers=*/false);
  if (!module)
    return 0;
  layers = 0;
  auto gradient = SymbolTable(*module).lookup<EntryOp>("gradient");
  for (CallOp call : gradient.getBody().getOps<CallOp>())
    layers += call.getBlock().ends_with(".backward");
  return layers;
}

std::optional<PlanCost> PlanJudge::judge(const StepPlan &plan) {
  OwningOpRef<ModuleOp> module = run(plan, /*lowers=*/false);
  if (!module)
    return std::nullopt;
  FailureOr<MemoryPlan> memory = MemoryPlan::read(*module, threadBytes);
  if (failed(memory))
    return std::nullopt;
  return PlanCost{memory->peak(threads),
                  memory->counts.seconds(profile, options.bfloat16Products)};
}

bool PlanJudge::updateThreadBytes(const StepPlan &plan) {
  OwningOpRef<ModuleOp> module = run(plan, /*lowers=*/true);
  auto bytes = module ? (*module)->getAttrOfType<IntegerAttr>(
                            tile::TileDialect::kThreadBytesAttrName)
                      : IntegerAttr();
  if (!bytes || bytes.getInt() <= threadBytes)
    return false;
  threadBytes = bytes.getInt();
  return true;
}

static std::string inMebibytes(int64_t bytes) {
  // Rounded up: a budget of what is printed must be enough.
  int64_t hundredths = llvm::divideCeil(bytes * 100, int64_t(1) << 20);
  std::string fraction = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + "." +
         std::string(2 - fraction.size(), '0') + fraction + "MiB";
}

Result<PlannedStep> hone::planStep(ModuleOp module, const MemoryBudget &budget,
                                   bool mayRound, const std::string &place,
                                   const StepOptions &options,
                                   const Target &target,
                                   const MachineProfile &profile,
                                   int64_t threads) {
  FailureOr<int64_t> rows = maxRows(module);
  PlanJudge judge(module, options, target, profile, threads);
  if (failed(rows) || judge.countLayers() == 0)
    return PlannedStep{StepPlan(), 1};

  while (true) {
    StepPlanner planner(
        judge.layers, mayRound, numerics::kGradientRows, *rows,
        [&](const StepPlan &plan) { return judge.judge(plan); });
    StepPlan untiled;
    if (budget.kind == MemoryBudget::Kind::None)
      return PlannedStep{planner.fastest(), judge.layers};
    if (budget.kind == MemoryBudget::Kind::Default)
      return PlannedStep{planner.smallestWithin(defaultSlowdown *
                                                planner.cost(untiled)->seconds),
                         judge.layers};
    std::optional<StepPlan> plan = planner.fastestWithin(budget.bytes);
    StepPlan smallest = plan ? *plan : planner.smallest();
    // A thread's scratch is known only after lowering.
    if (judge.updateThreadBytes(smallest))
      continue;
    if (plan)
      return PlannedStep{*plan, judge.layers};
    int64_t least = planner.cost(smallest)->peakBytes;
    return Status::error(
        ExitCode::Usage,
        {place + ": train.memory_budget",
         "expected at least " + inMebibytes(least) + " (" +
             std::to_string(least) + " bytes, the smallest plan for " +
             std::to_string(*rows) + " rows and " + std::to_string(threads) +
             " threads) but found " + std::to_string(budget.bytes) + " bytes",
         "raise the budget to " + inMebibytes(least) +
             ", or lower max_seq_length or lora.r"});
  }
}
