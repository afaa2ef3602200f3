//===- RouteChecks.cpp - Gradients that do not go through every layer -----===//
//
// The lowest layer alone is selected, so that its cotangent goes through the
// stand-ins of all others.
//
//===----------------------------------------------------------------------===//

#include "compiler/selfcheck/RouteChecks.h"

#include "compiler/selfcheck/Numbers.h"
#include "passes/Passes.h"
#include "passes/methods/StepSettings.h"
#include "passes/module/Schedule.h"
#include "passes/parts/LayerParts.h"
#include "passes/selection/SelectLayers.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace hone;
using namespace hone::selfcheck;

/// Of the same sums in another program.
static constexpr double kSameLimit = 1e-12;

namespace {

class RouteCheck {
public:
  RouteCheck(Route route, const ModelCheckRequest &request)
      : route(route), request(request) {}

  /// Adds the gradient's entry on the route to the module of `loss`.
  FailureOr<EntryOp> derive(EntryOp loss);
  /// Adds the loss in which a layer that is left out is h + shortcut, and which
  /// returns beside the loss h and the layer's own output, for each of them.
  FailureOr<EntryOp> writeShortcuts(EntryOp loss) const;

  /// Whether the layer called `prefix` has a gradient on the route.
  bool trains(StringRef prefix) const {
    return selects() ? !llvm::is_contained(leftOut, prefix)
                     : cut.has(part(), prefix);
  }
  bool selects() const {
    return route != Route::LowerPart && route != Route::UpperPart;
  }
  /// Whether the loss is that of the whole model.
  bool isOfWholeLoss() const { return !selects() || route == Route::Exact; }
  std::string describe() const;

  /// The entry's arguments beside the scale.
  std::vector<std::vector<int32_t>> arguments() const;
  llvm::Error compareWithDifferences(CheckValues::Tensors weights,
                                     const std::vector<double> &theta,
                                     const std::vector<double> &gradient,
                                     const ParameterTable &parameters,
                                     rt::Pool &pool,
                                     std::vector<Check> &checks);

private:
  StringRef part() const {
    return route == Route::LowerPart ? "lower" : "upper";
  }

  Route route;
  const ModelCheckRequest &request;
  LayerParts cut;
  SmallVector<LayerNumbers> numbers;
  int64_t layers = 0;               ///< that may be selected
  std::vector<std::string> leftOut; ///< prefixes of all but the lowest
  std::vector<int64_t> widths;      ///< of their results
  std::vector<std::string> blocks;  ///< that stand in for others
};

} // namespace

FailureOr<EntryOp> RouteCheck::derive(EntryOp loss) {
  auto module = loss->getParentOfType<ModuleOp>();
  DeriveBackwardOptions options;
  options.residuals = isOfWholeLoss() ? request.residuals : "mesp";
  if (selects()) {
    for (StringRef prefix : selectableLayers(loss))
      leftOut.push_back(prefix.str());
    layers = leftOut.size();
    if (!leftOut.empty())
      leftOut.erase(leftOut.begin());
    for (CallOp call : loss.getBody().getOps<CallOp>())
      if (llvm::is_contained(leftOut, call.getPrefix()))
        widths.push_back(elementsAtRows(call.getResult(0).getType(), 1));
  } else {
    rt::Settings settings;
    settings.parts.add("lower").layers = "0";
    settings.parts.add("upper");
    settings.parts[route == Route::LowerPart].method =
        rt::methodsOf(rt::MethodKind::Directions).front();
    StepSettings::write(settings, module);
    FailureOr<LayerParts> found = cutParts(settings, loss);
    if (failed(found))
      return failure();
    cut = std::move(*found);
  }
  PassManager derive(module->getContext());
  derive.addPass(createDeriveBackward(options));
  if (failed(derive.run(module)))
    return failure();
  FailureOr<EntryOp> entry = findGradientEntry(module);
  if (failed(entry))
    return failure();
  if (selects()) {
    bool hasSlots = !isOfWholeLoss();
    numbers = selectedNumbers(*entry, hasSlots);
    if (failed(selectLayers(*entry, numbers,
                            hasSlots ? std::optional(layers) : std::nullopt)) ||
        (route == Route::SkippedForwards &&
         failed(skipForwards(*entry, /*layers=*/nullptr))))
      return failure();
  }
  llvm::SetVector<StringRef> standIns;
  for (CallOp call : entry->getBody().getOps<CallOp>())
    for (FlatSymbolRefAttr callee : call.getCallees())
      if (callee.getValue() == call.getOtherwise() ||
          callee.getValue().ends_with(".held"))
        standIns.insert(callee.getValue());
  for (StringRef name : standIns)
    blocks.push_back("@" + name.str());
  return entry;
}

FailureOr<EntryOp> RouteCheck::writeShortcuts(EntryOp loss) const {
  OpBuilder builder(loss);
  auto entry = cast<EntryOp>(builder.clone(*loss));
  entry.setSymName((loss.getSymName() + ".shortcuts").str());
  Operation *end = entry.getBodyBlock().getTerminator();
  SmallVector<Value> results(end->getOperands());
  for (CallOp call : llvm::to_vector(entry.getBody().getOps<CallOp>())) {
    auto at = llvm::find(leftOut, call.getPrefix());
    if (at == leftOut.end())
      continue;
    Location loc = call.getLoc();
    Value before = call.getValues().front(), after = call.getResult(0);
    std::string name = "shortcut." + std::to_string(at - leftOut.begin());
    builder.setInsertionPoint(entry);
    auto block = BlockOp::create(
        builder, loc, name,
        builder.getFunctionType(before.getType(), after.getType()));
    mlir::Block &body = block.getBody().front();
    builder.setInsertionPointToEnd(&body);
    Value shortcut = InputOp::create(builder, loc, after.getType(), name);
    Value sum = AddOp::create(builder, loc, body.getArgument(0), shortcut);
    ReturnOp::create(builder, loc, sum);
    builder.setInsertionPointAfter(call);
    auto instead = CallOp::create(builder, loc, after.getType(), name,
                                  call.getPrefix(), before);
    after.replaceAllUsesWith(instead.getResult(0));
    results.append({before, after});
  }
  end->setOperands(results);
  entry.setFunctionType(
      builder.getFunctionType(TypeRange(), ValueRange(results).getTypes()));
  return entry;
}

std::string RouteCheck::describe() const {
  return blocks.empty() ? "" : " through " + llvm::join(blocks, ", ");
}

std::vector<std::vector<int32_t>> RouteCheck::arguments() const {
  std::vector<std::vector<int32_t>> arguments;
  for (LayerNumbers wanted : numbers) {
    std::vector<int32_t> &own = arguments.emplace_back(layers);
    for (int64_t layer = 0; layer < layers; ++layer)
      own[layer] = wanted == LayerNumbers::Reaches ||
                   (wanted != LayerNumbers::Slots && layer == 0);
  }
  return arguments;
}

llvm::Error RouteCheck::compareWithDifferences(
    CheckValues::Tensors weights, const std::vector<double> &theta,
    const std::vector<double> &gradient, const ParameterTable &parameters,
    rt::Pool &pool, std::vector<Check> &checks) {
  auto program = ModelProgram::build(
      request.float64, [&](EntryOp loss) { return writeShortcuts(loss); },
      request.target, std::move(weights));
  if (!program)
    return program.takeError();
  // A layer's own output is right once the shortcuts below it are.
  std::vector<std::vector<double>> shortcuts(leftOut.size());
  auto lossAt = [&](const std::vector<double> &at) {
    program->setInputs(at);
    for (auto [index, shortcut] : llvm::enumerate(shortcuts))
      program->setInput("shortcut." + std::to_string(index), shortcut);
    program->run(pool);
    return program->number(0);
  };
  for (auto [shortcut, count] : llvm::zip_equal(shortcuts, widths))
    shortcut.resize(kRows * count);
  (void)lossAt(theta);
  if (route == Route::Identity)
    for (size_t i = 0; i < shortcuts.size(); ++i) {
      size_t count = shortcuts[i].size();
      std::vector<double> before = program->numbers(1 + 2 * i, count);
      shortcuts[i] = program->numbers(2 + 2 * i, count);
      for (size_t j = 0; j < count; ++j)
        shortcuts[i][j] -= before[j];
      (void)lossAt(theta);
    }
  for (auto [layer, check] : llvm::zip_equal(parameters.layers(), checks)) {
    if (!trains(layer.prefix))
      continue;
    auto errorAlong = [&](ArrayRef<Parameter> tensors) {
      std::vector<double> direction(theta.size());
      for (const Parameter &tensor : tensors)
        setDirection(tensor, gradient, direction);
      double expected = dot(gradient, direction);
      return std::abs(slopeOf(lossAt, theta, direction) - expected) /
             std::abs(expected);
    };
    ArrayRef<Parameter> tensors =
        parameters.ofLayer(&layer - parameters.layers().data());
    check.limit = kDifferenceLimit;
    check.error = errorAlong(tensors);
    if (!check.holds())
      for (const Parameter &tensor : tensors)
        check.add(errorAlong(tensor), tensor.name);
  }
  return llvm::Error::success();
}

static const char *nameOf(Route route) {
  switch (route) {
  case Route::Exact:
    return "unselected exact";
  case Route::Identity:
    return "unselected identity";
  case Route::SkippedForwards:
    return "skipped forwards";
  case Route::LowerPart:
    return "lower part";
  case Route::UpperPart:
    return "upper part";
  }
  llvm_unreachable("all routes are handled");
}

llvm::Error selfcheck::checkRoute(Route route, const ModelCheckRequest &request,
                                  const CheckValues &values,
                                  const ParameterTable &parameters,
                                  const std::vector<double> &gradient,
                                  rt::Pool &pool, Report &report) {
  RouteCheck check(route, request);
  const std::vector<double> &theta = values.theta();
  auto program = ModelProgram::build(
      request.float64, [&](EntryOp loss) { return check.derive(loss); },
      request.target, values.decoded());
  if (!program)
    return program.takeError();
  program->setInputs(theta);
  program->setArgument<double>(0, 1.0);
  for (auto [index, numbers] : llvm::enumerate(check.arguments()))
    program->setArgument<int32_t>(1 + index, numbers);
  program->run(pool);
  std::vector<double> found = program->gradient();

  std::vector<Check> checks;
  for (auto [index, layer] : llvm::enumerate(parameters.layers())) {
    llvm::StringRef name = llvm::StringRef(layer.prefix).rtrim('.');
    Check &own = checks.emplace_back(
        Check{nameOf(route),
              "gradient of " + (name.empty() ? "the head" : name).str() +
                  check.describe(),
              0, kSameLimit});
    for (const Parameter &tensor : parameters.ofLayer(index)) {
      if (!check.trains(layer.prefix))
        own.add(norm(slice(found, tensor)), tensor.name);
      else if (check.isOfWholeLoss())
        own.add(relativeError(slice(found, tensor), slice(gradient, tensor)),
                tensor.name);
    }
  }
  if (!check.isOfWholeLoss())
    if (llvm::Error error = check.compareWithDifferences(
            program->takeWeights(), theta, found, parameters, pool, checks))
      return error;
  llvm::append_range(report.checks, checks);
  return llvm::Error::success();
}
