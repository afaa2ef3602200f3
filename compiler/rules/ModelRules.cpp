//===- ModelRules.cpp - Rules between a spec and its model ----------------===//

#include "compiler/rules/ModelRules.h"
#include "compiler/rules/SpecRules.h"
#include "passes/kernels/TargetKernels.h"
#include "passes/methods/Methods.h"
#include "passes/methods/StepSettings.h"
#include "passes/module/Layers.h"
#include "passes/module/ParameterTable.h"
#include "passes/module/Schedule.h"
#include "passes/parts/LayerRange.h"
#include "passes/selection/SelectLayers.h"

#include <map>

using namespace hone;
using namespace mlir;

Status hone::checkTables(ModuleOp module, const Spec &spec,
                         const rt::Integer &positions) {
  constexpr int64_t most = int64_t(1) << 24; // 64 MiB of float32, twice
  int64_t columns = 0;
  module->walk([&](RopeOp op) {
    columns = std::max(columns, int64_t(op.getHeadDim()) / 2);
  });
  if (columns == 0 || positions <= most / columns)
    return Status::ok();
  return Status(ErrorCode::TooManyRows, spec.placeOf(positions.key()),
                "expected at most " + std::to_string(most / columns) +
                    " positions for heads of " + std::to_string(2 * columns) +
                    ", whose rotary embedding is a table, "
                    "but found " +
                    positions.text(),
                "lower it: longer sequences would have to be cut");
}

Status hone::checkKernels(ModuleOp derived, const Spec &spec,
                          const Target &target) {
  const TargetKernels *kernels = target.kernels();
  if (!kernels)
    return Status::ok();
  std::string refusal;
  derived->walk([&](Operation *op) {
    refusal = kernels->refusal(op);
    return refusal.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (refusal.empty())
    return Status::ok();
  return Status(ErrorCode::UnsupportedModel, spec.model,
                target.describe() + ": " + refusal,
                "give --target=native, or a GPU with more shared memory");
}

/// A trainable parameter that calls of two parts read; empty: there is none.
static std::string findShared(EntryOp loss, const LayerParts &cut,
                              const ParameterTable &parameters) {
  SymbolTable symbols(loss->getParentOp());
  std::map<std::string, StringRef> partOf;
  for (CallOp call : loss.getBody().getOps<CallOp>())
    for (ParameterOp op : symbols.lookup<BlockOp>(call.getBlock())
                              .getBody()
                              .getOps<ParameterOp>()) {
      std::string name = (call.getPrefix() + op.getName()).str();
      StringRef part = cut.partOf(call.getPrefix());
      if (op.getTrainable() &&
          partOf.try_emplace(name, part).first->second != part)
        return name;
    }
  return "";
}

/// A symbol of `module` that begins with `prefix`, or is it without its dot;
/// empty: there is none.
static std::string findNameLike(ModuleOp module, StringRef prefix) {
  for (Operation &op : *module.getBody())
    if (auto name = SymbolTable::getSymbolName(&op);
        name && (name.getValue().starts_with(prefix) ||
                 name.getValue() == prefix.drop_back()))
      return name.str();
  return "";
}

static Status refuse(const Spec &spec, const rt::Setting &setting,
                     const std::string &problem, const std::string &remedy) {
  return Status(ErrorCode::BadSpecValue, spec.placeOf(setting.key()), problem,
                remedy);
}

/// Takes the result of LayerParts::cut; its errors are of layers that share a
/// prefix.
static Status takeCut(FailureOr<LayerParts> found, const Spec &spec,
                      const rt::Setting &setting, LayerParts &cut) {
  if (failed(found))
    return refuse(spec, setting,
                  "expected layers with prefixes of their own on both sides of "
                  "each cut",
                  "cut the model elsewhere");
  cut = std::move(*found);
  return Status::ok();
}

/// Cuts the model into the parts of `spec`, which has some.
static Status cutIntoParts(ModuleOp module, const Spec &spec, EntryOp loss,
                           LayerParts &cut) {
  const int64_t count = Layers::of(loss).count();
  const size_t parts = spec.parts.size();
  const rt::PartSettings &lowest = spec.parts[0], &last = spec.parts.back(),
                         &below = spec.parts[parts - 2];
  if (count < int64_t(parts))
    return refuse(spec, lowest.layers,
                  "expected a model of " +
                      (parts == 2 ? "two" : std::to_string(parts)) +
                      " layers or more, one for each part, but it has " +
                      std::to_string(count),
                  "remove parts");
  if (cutsOf(spec).back() >= count)
    return refuse(spec, below.layers,
                  "expected to leave layers to " + last.section +
                      ", but the model has layers 0-" +
                      std::to_string(count - 1) + " and found '" +
                      below.layers + "'",
                  "lower the last layer, or remove parts");
  if (auto range = parseLayerRange(last.layers);
      range && range->last != count - 1)
    return refuse(spec, last.layers,
                  "expected layers up to " + std::to_string(count - 1) +
                      ", the model's last, but found '" + last.layers + "'",
                  "leave " + last.layers.key() + " out to have all the others");
  for (const auto &part : spec.parts)
    if (std::string taken = findNameLike(module, part->prefix); !taken.empty())
      return refuse(spec, part->layers,
                    "expected a part whose name the model does not use, but "
                    "it has '" +
                        taken + "'",
                    "give the part another name than '" + part->part + "'");
  return takeCut(cutParts(spec, loss), spec, lowest.layers, cut);
}

/// Cuts the model where train.module_cuts says.
static Status cutIntoModules(const Spec &spec, EntryOp loss, LayerParts &cut) {
  const int64_t count = Layers::of(loss).count();
  const rt::Words &modules = spec.train.module_cuts;
  std::vector<int64_t> ends;
  for (const std::string &end : modules)
    ends.push_back(parseLayerRange(end)->last);
  if (ends.back() >= count)
    return refuse(spec, modules,
                  "expected cuts below the model's " + std::to_string(count) +
                      " layers but found " + modules.back(),
                  "lower it");
  return takeCut(LayerParts::cut(loss, ends, spec.programs()), spec, modules,
                 cut);
}

static Status checkNothingIsShared(const Spec &spec, EntryOp loss,
                                   const LayerParts &cut,
                                   const ParameterTable &parameters) {
  if (cut.names().empty())
    return Status::ok();
  const std::string shared = findShared(loss, cut, parameters);
  if (shared.empty())
    return Status::ok();
  const bool isOfParts = spec.hasParts();
  return refuse(
      spec,
      isOfParts ? static_cast<const rt::Setting &>(spec.parts[0].layers)
                : spec.train.modules,
      std::string("expected ") + (isOfParts ? "parts" : "modules") +
          " that share nothing that trains, but '" + shared + "' is read in " +
          (cut.names().size() == 2 ? "both" : "two"),
      std::string("remove ") +
          (isOfParts ? "parts" : spec.train.modules.key()) +
          ", train adapters, or set " + spec.weights.untie.key() +
          " if it is the head's, too");
}

/// That each module trains something, and each part.
static Status checkAllTrain(const Spec &spec, const LayerParts &cut,
                            const ParameterTable &parameters) {
  const auto trains = [&](StringRef name) {
    return llvm::any_of(parameters.layers(), [&](const TrainableLayer &layer) {
      return cut.has(name, layer.prefix);
    });
  };
  if (!spec.hasParts())
    for (const std::string &name : cut.names())
      if (!trains(name))
        return refuse(spec, spec.train.modules,
                      "expected parameters to train in every module, but " +
                          name + " has none",
                      "lower it, or set " + spec.train.module_cuts.key());
  for (const rt::MethodSettings *method : spec.methods())
    if (StringRef part = partOf(spec, *method); !part.empty() && !trains(part))
      return refuse(spec, spec.parts[placeOf(spec, *method)].layers,
                    "expected parameters to train in parts." + part.str() +
                        " but there are none",
                    "cut the model elsewhere, or remove parts");
  return Status::ok();
}

Status hone::checkLayers(ModuleOp module, const Spec &spec) {
  ScopedDiagnosticHandler silence(module->getContext(),
                                  [](Diagnostic &) { return success(); });
  FailureOr<EntryOp> loss = findLossEntry(module);
  if (failed(loss))
    return Status::ok(); // reported when the step is derived
  LayerParts cut;
  if (spec.hasParts())
    HONE_TRY(cutIntoParts(module, spec, *loss, cut));
  if (!spec.train.module_cuts.empty() && spec.train.modules > 1)
    HONE_TRY(cutIntoModules(spec, *loss, cut));
  FailureOr<ParameterTable> parameters = ParameterTable::build(module);
  if (failed(parameters))
    return Status::ok(); // the same
  HONE_TRY(checkNothingIsShared(spec, *loss, cut, *parameters));
  HONE_TRY(checkAllTrain(spec, cut, *parameters));
  return checkMethods(spec, [&](const rt::MethodSettings &own) {
    return countLayers(*loss, cut, partOf(spec, own));
  });
}

std::vector<std::string> hone::notesOnLayers(ModuleOp module,
                                             const Spec &spec) {
  ScopedDiagnosticHandler silence(module->getContext(),
                                  [](Diagnostic &) { return success(); });
  std::vector<std::string> notes;
  FailureOr<EntryOp> loss = findLossEntry(module);
  FailureOr<LayerParts> cut =
      succeeded(loss) ? cutParts(spec, *loss) : LayerParts();
  if (failed(loss) || failed(cut))
    return notes; // reported when the step is derived
  for (const rt::MethodSettings *method : spec.methods()) {
    if (!spec.isRead(method->selection) || method->unselected != "identity")
      continue;
    auto isOwn = [&](StringRef prefix) {
      return cut->has(partOf(spec, *method), prefix);
    };
    if (int64_t constant = countConstantLayers(*loss, isOwn))
      notes.push_back(
          method->selection.key() + " is of the " +
          std::to_string(selectableLayers(*loss, isOwn).size()) +
          " layers that have something to train; a gradient goes through the " +
          std::to_string(constant) +
          " others above the lowest of them exactly, whatever " +
          method->unselected.key() + " says, and their inputs are kept");
  }
  return notes;
}

/// A trainable parameter that parts of `given` share; empty: there is none, or
/// they are no parts, which the step's passes report.
static std::string findShared(const StepOptions &given, ModuleOp module) {
  ScopedDiagnosticHandler silence(module->getContext(),
                                  [](Diagnostic &) { return success(); });
  FailureOr<EntryOp> loss = findLossEntry(module);
  FailureOr<ParameterTable> parameters = ParameterTable::build(module);
  if (failed(loss) || failed(parameters))
    return "";
  FailureOr<LayerParts> cut =
      LayerParts::cut(*loss, llvm::to_vector(given.splitAfter));
  return failed(cut) ? "" : findShared(*loss, *cut, *parameters);
}

Status hone::checkStepOptions(const StepOptions &given, const Spec &spec,
                              ModuleOp module) {
  auto refuse = [](const std::string &option, const std::string &problem,
                   const std::string &remedy) {
    return Status(ErrorCode::OptionsDisagree, "--step-options: " + option,
                  problem, remedy);
  };
  const bool isCut = !given.splitAfter.empty();
  if (!isCut && !given.part.empty())
    return refuse("part", "no part is there without a cut",
                  "add split-after, or leave part out");
  if (!given.exchangeDtype.empty() && given.exchangeDtype != "float32" &&
      given.exchangeDtype != "bfloat16")
    return refuse("exchange-dtype",
                  "expected float32 or bfloat16 but found '" +
                      given.exchangeDtype + "'",
                  "leave it out for float32");
  if (given.inFlight < 1 || given.inFlight > 64)
    return refuse("in-flight",
                  "expected 1 to 64 iterations but found " +
                      std::to_string(given.inFlight),
                  "leave it out for one at a time");
  if (spec.compares() && isCut)
    return refuse("split-after",
                  "gradients are compared in one program, which has all layers",
                  "leave it out, or remove train.compare");
  if (spec.train.data_parallel && isCut)
    return refuse("split-after", "ranks have all layers",
                  "leave it out, or set train.data_parallel to false");
  if (std::string shared = isCut ? findShared(given, module) : "";
      !shared.empty())
    return refuse("split-after",
                  "expected parts that share nothing that trains, but '" +
                      shared + "' is read in two",
                  "leave it out, train adapters, or set " +
                      spec.weights.untie.key() + " if it is the head's, too");
  return Status::ok();
}
