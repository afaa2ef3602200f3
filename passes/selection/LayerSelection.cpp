//===- LayerSelection.cpp - The layers of a part that a step selects ------===//

#include "passes/selection/LayerSelection.h"

#include "passes/module/Layers.h"

using namespace mlir;

namespace hone {

FailureOr<LayerSelection> LayerSelection::read(StepModel &model,
                                               const TrainedPart &part) {
  const rt::LcsbSettings &given = part.settings;
  LayerSelection selection(part);
  selection.prefixes = selectableLayers(
      model.loss, [&](StringRef prefix) { return part.has(prefix); });
  const Layers numbered = Layers::of(model.loss);
  for (StringRef prefix : selection.prefixes)
    selection.numbersOfLayers.push_back(double(*numbered.numberOf(prefix)));
  selection.updatesAll = given.unselected_update != "none";
  for (const TrainableLayer &layer : model.parameters.layers())
    if (!selection.updatesAll && part.has(layer.prefix) &&
        !llvm::is_contained(selection.prefixes, layer.prefix))
      selection.always.push_back(layer.prefix);
  const auto layers = static_cast<int64_t>(selection.prefixes.size());
  if (given.unselected == "identity")
    selection.inputs = selection.own.mostOf(layers);
  Builder builder(model.module.getContext());
  selection.integers = RankedTensorType::get(layers, builder.getI32Type());
  selection.floats = RankedTensorType::get(layers, builder.getF32Type());
  if (selection.averages() && failed(selection.findRanges(model)))
    return failure();
  return selection;
}

LogicalResult LayerSelection::findRanges(StepModel &model) {
  std::optional<ThetaSlice> slice =
      model.parameters.slice(part.prefixes(model));
  if (!slice)
    return model.module.emitError(
        "expects layers of a part that lie one after another in theta");
  for (StringRef prefix : prefixes) {
    ParameterRange range = {0, 0};
    for (auto [index, parameter] : llvm::enumerate(slice->parameters))
      if (model.parameters.layers()[parameter.layer].prefix == prefix) {
        range.begin = range.end == 0 ? index : range.begin;
        range.end = index + 1;
      }
    ranges.push_back(range);
  }
  return success();
}

SmallVector<std::string> LayerSelection::names() const {
  if (!restartsState())
    return {};
  return {part.symbol(vectorEntryName<ZeroStateOp>())};
}

void LayerSelection::createEntries(const StepModel &model) {
  if (!restartsState())
    return;
  ModuleOp module = model.module;
  Builder builder(module.getContext());
  zeroState = createVectorEntry<ZeroStateOp>(
      module, {}, {}, names().front(),
      always.empty() ? part.prefixes(model)
                     : builder.getStrArrayAttr(prefixes));
}

Value LayerSelection::ratio(ScheduleBuilder &b) {
  Value first = b.realSetting(setting("selection_ratio"));
  StringRef formula = own.ratioFormula();
  if (formula.empty())
    return first;
  return b.scalar(formula,
                  {first, b.realSetting(setting("selection_ratio_end")),
                   b.integerSetting(setting("selection_warmup")),
                   b.integerSetting("steps"), b.integerSetting("completed")});
}

void LayerSelection::begin(ScheduleBuilder &b) {
  Value completed = b.integerSetting("completed");
  Value turn =
      own.period > 1
          ? b.scalar("turn",
                     {completed, b.integerSetting(setting("selection_period")),
                      b.integerSetting(setting("selection_warmup"))},
                     b.integer)
          : completed;
  SmallVector<Value> operands;
  if (own.hasRatio())
    operands.push_back(ratio(b));
  else if (own.kind == SelectionRule::Kind::Cyclic)
    operands.push_back(b.integerSetting(setting("selection_groups")));
  operands.push_back(turn);
  if (own.isRandom()) {
    Value seed = b.integerSetting("seed");
    // Layers are counted from the part's first.
    for (size_t below = 0; below < part.place; ++below)
      seed =
          b.scalar(below == 0 ? "upper_seed" : "further_seed", seed, b.integer);
    operands.push_back(seed);
  }
  if (averages()) {
    importance = b.scalar(
        "importance_before",
        {b.setting("before." + setting("importance"), floats), completed},
        floats);
    operands.append(
        {importance, b.realSetting(setting("selection_temperature"))});
  }
  mask = b.scalar(own.formula(), operands, integers);
  makeNumbers(b);
  past = {};
  if (own.warmup > 0)
    past = b.scalar("is_warm",
                    {completed, b.integerSetting(setting("selection_warmup"))},
                    b.integer);
  // The mask of a warm-up is not that of the layers that run.
  selected = past ? b.scalar("selected_now", {mask, past}, integers) : mask;
}

void LayerSelection::makeNumbers(ScheduleBuilder &b) {
  Value reaches;
  auto findReaches = [&] {
    return reaches ? reaches : reaches = b.scalar("reaches", mask, integers);
  };
  values.clear();
  for (LayerNumbers wanted : wantedNumbers)
    switch (wanted) {
    case LayerNumbers::Mask:
      values.push_back(mask);
      break;
    case LayerNumbers::Slots:
      values.push_back(b.scalar("slots", mask, integers));
      break;
    case LayerNumbers::Reaches:
      values.push_back(findReaches());
      break;
    case LayerNumbers::Skips:
      values.push_back(b.scalar("skips", {mask, findReaches()}, integers));
      break;
    }
}

UpdatedLayers LayerSelection::beginUpdates(ScheduleBuilder &b) {
  if (updatesAll)
    return {};
  Value restarts =
      restartsState()
          ? b.scalar("begins_turn",
                     {b.integerSetting("completed"),
                      b.integerSetting(setting("selection_period")),
                      b.integerSetting(setting("selection_warmup"))},
                     b.integer)
          : b.scalar("false", {}, b.integer);
  if (restartsState())
    b.runEither(restarts, zeroState, {}, {}, {});
  if (part.optimizer().countsUpdates())
    counts = b.scalar(
        "count_updates",
        {b.setting("before." + setting("updates"), floats), selected, restarts},
        floats);
  return {selected, counts};
}

void LayerSelection::average(ScheduleBuilder &b, Value squares) {
  if (!averages())
    return;
  Value norms = b.layerNorms(setting("layer_norms"), ranges, squares);
  importance = b.scalar(
      "importance_after",
      {importance, selected, norms, b.realSetting(setting("selection_decay"))},
      floats);
}

void LayerSelection::report(ScheduleBuilder &b) {
  Value numbers = b.constants(setting("layer_numbers"), numbersOfLayers);
  b.report(b.scalar("selected_layers", {selected, numbers}, floats),
           setting("selected_layers"));
  if (averages())
    b.report(importance, setting("importance"));
  if (counts)
    b.report(counts, setting("updates"));
}

SmallVector<Value> LayerSelection::evaluationWeights(ScheduleBuilder &b) const {
  if (!own.skipsForwards())
    return {};
  const auto layers = static_cast<int64_t>(prefixes.size());
  auto reals = RankedTensorType::get(layers, b.builder.getF64Type());
  Value ratio = b.realSetting(setting("selection_ratio"));
  return {b.scalar("depth_rests", ratio, reals),
          b.scalar("depth_weights", ratio, reals)};
}

} // namespace hone
