//===- ScheduleBuilder.cpp - Writes the items of a schedule ---------------===//

#include "passes/derive/ScheduleBuilder.h"

using namespace mlir;

namespace hone {

ScheduleBuilder::ScheduleBuilder(ModuleOp module, Purpose purpose)
    : module(module), loc(module.getLoc()),
      builder(OpBuilder::atBlockEnd(module.getBody())) {
  auto schedule = ScheduleOp::create(builder, loc, purpose);
  builder.setInsertionPointToEnd(&schedule.getBody().front());
  real = scalarType(module.getContext());
  integer = integerType(module.getContext());
}

Value ScheduleBuilder::setting(StringRef name, Type type) {
  Value &known = settings[name];
  if (!known)
    known = SettingOp::create(builder, loc, type, name);
  return known;
}

Value ScheduleBuilder::scalar(StringRef name, ValueRange operands, Type type) {
  Type result = type ? type : real;
  return call(getScalarFunction(module, name, operands.getTypes(), result),
              name, operands, result);
}

Value ScheduleBuilder::call(FailureOr<func::FuncOp> function, StringRef name,
                            ValueRange operands, Type type) {
  if (failed(function)) {
    hasFailed = true;
    return SettingOp::create(builder, loc, type, name);
  }
  return ScalarOp::create(builder, loc, type, function->getSymName(), operands)
      .getResult(0);
}

ResultRange ScheduleBuilder::runEither(Value condition, EntryOp entry,
                                       EntryOp otherwise, ValueRange values,
                                       Value batch) {
  auto other = otherwise ? FlatSymbolRefAttr::get(otherwise.getSymNameAttr())
                         : FlatSymbolRefAttr();
  return RunOp::create(builder, loc, entry.getResultTypes(), entry.getSymName(),
                       other, values, batch, condition)
      .getResults();
}

ResultRange
ScheduleBuilder::repeat(Value count, ValueRange carried,
                        function_ref<SmallVector<Value>(ValueRange)> body,
                        int64_t expected) {
  auto repeat = RepeatOp::create(builder, loc, carried.getTypes(), count,
                                 carried, expected);
  mlir::Block &block = repeat.getBody().emplaceBlock();
  for (Value value : carried)
    block.addArgument(value.getType(), loc);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&block);
  YieldOp::create(builder, loc, body(block.getArguments()));
  return repeat.getResults();
}

Value ScheduleBuilder::addOverBatches(Value sum, Value count,
                                      function_ref<Value(Value batch)> body) {
  return repeat(count, sum, [&](ValueRange before) {
    Value term = body(load());
    return SmallVector<Value>{scalar("add", {before[0], term})};
  })[0];
}

void ScheduleBuilder::check(ValueRange values, StringRef problem) {
  CheckOp::create(builder, loc, values,
                  problem.empty() ? nullptr : builder.getStringAttr(problem));
}

/// "lower.momentum"
static std::string ownSetting(StringRef part, StringRef name) {
  return (part.empty() ? name : part + "." + name).str();
}

SmallVector<Value>
ScheduleBuilder::updateScalars(const UpdateScalars &wanted, StringRef part,
                               Value clip, Value rate,
                               const UpdatedLayers &updated) {
  auto own = [&](const Twine &name) {
    return realSetting(ownSetting(part, name.str()));
  };
  SmallVector<Value> values;
  for (auto [wantedName, type] : llvm::zip_equal(wanted.names, wanted.types)) {
    StringRef name = wantedName;
    const bool isAlways = name.consume_front(alwaysPrefix);
    if (name == "gradient_scale")
      values.push_back(clip);
    else if (name == "learning_rate")
      values.push_back(rate);
    else if (name == "rate_of_b")
      values.push_back(scalar("multiply", {rate, own("loraplus_lr_ratio")}));
    else if (name == "selected")
      values.push_back(updated.mask);
    else if (const CountedNumber *counted = findCounted(name))
      values.push_back(
          updated.mask && !isAlways
              ? scalar(counted->formulaOfEach,
                       {own(counted->setting), updated.counts}, type)
              : scalar(counted->formula,
                       {own(counted->setting), integerSetting("completed")}));
    else if (name == "rounding_key")
      values.push_back(stepKey());
    else
      values.push_back(own(name));
  }
  return values;
}

Value ScheduleBuilder::learningRate(StringRef part) {
  auto own = [&](StringRef name) { return ownSetting(part, name); };
  return scalar("learning_rate",
                {realSetting(own("learning_rate")),
                 integerSetting(own("lr_scheduler_type")),
                 integerSetting(own("warmup_steps")), integerSetting("steps"),
                 integerSetting("completed")});
}

Value ScheduleBuilder::constants(StringRef name, ArrayRef<double> numbers) {
  auto type = RankedTensorType::get(numbers.size(), builder.getF64Type());
  auto known = module.lookupSymbol<func::FuncOp>(("scalar." + name).str());
  return call(known ? known : getConstants(module, name, numbers), name, {},
              type);
}

Value ScheduleBuilder::layerNorms(StringRef name,
                                  ArrayRef<ParameterRange> ranges,
                                  Value squares) {
  auto type = RankedTensorType::get(ranges.size(), builder.getF64Type());
  int64_t parameters = cast<RankedTensorType>(squares.getType()).getDimSize(0);
  return call(getLayerNorms(module, name, ranges, parameters), name, squares,
              type);
}

Value ScheduleBuilder::stepKey() {
  return scalar("step_key",
                {integerSetting("seed"), integerSetting("completed")},
                randomKeyType(module.getContext()));
}

LogicalResult checkNamesAreFree(ModuleOp module, ArrayRef<std::string> names) {
  SymbolTable symbols(module);
  for (const std::string &name : names)
    if (Operation *taken = symbols.lookup(name))
      return taken->emitOpError("has the name '@")
             << name << "', which scheduling defines; give it another name";
  return success();
}

EntryOp findEntry(ModuleOp module, StringRef name) {
  return SymbolTable(module).lookup<EntryOp>(name);
}

} // namespace hone
