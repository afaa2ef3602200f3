//===- ScheduleBuilder.h - Writes the items of a schedule -----------------===//
//
// Passes that make schedules share this: a builder of items, the schedules that
// are the same for every method, and the items with which all of them begin.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/derive/ScalarFunctions.h"
#include "passes/derive/UpdateEntries.h"
#include "passes/module/ParameterTable.h"
#include "passes/module/Schedule.h"

#include "llvm/ADT/StringMap.h"

namespace hone {

/// Which layers a step updates, where it does not update all: an i32 for each,
/// and how many updates each has had with this one, an f32.
struct UpdatedLayers {
  mlir::Value mask = {}, counts = {};
};

/// Writes items at the builder's place.
class ScheduleBuilder {
public:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using Type = mlir::Type;

  /// Adds the schedule of `purpose` to `module`.
  ScheduleBuilder(mlir::ModuleOp module, Purpose purpose);

  /// The number of the program called `name`, or several of them.
  Value setting(llvm::StringRef name, Type type);
  Value realSetting(llvm::StringRef name) { return setting(name, real); }
  Value integerSetting(llvm::StringRef name) { return setting(name, integer); }
  /// From here on items have `value` where they would have that setting.
  void replaceSetting(llvm::StringRef name, Value value) {
    settings[name] = value;
  }

  /// scalar.`name`(operands), a `type` or by default a real number. Without
  /// such a function hasFailed, and the result is not to be used.
  Value scalar(llvm::StringRef name, ValueRange operands, Type type = {});

  mlir::ResultRange run(EntryOp entry, ValueRange values, Value batch = {}) {
    return runEither({}, entry, {}, values, batch);
  }
  /// `entry` if `condition` is not zero, else `otherwise`; without a condition
  /// `entry`.
  mlir::ResultRange runEither(Value condition, EntryOp entry, EntryOp otherwise,
                              ValueRange values, Value batch);
  Value load() { return LoadOp::create(builder, loc); }

  /// `body` applied to `carried`, `count` times; `expected`: for estimates.
  mlir::ResultRange
  repeat(Value count, ValueRange carried,
         llvm::function_ref<llvm::SmallVector<Value>(ValueRange)> body,
         int64_t expected = 1);
  /// `sum` plus the result of `body` for each of `count` batches.
  Value addOverBatches(Value sum, Value count,
                       llvm::function_ref<Value(Value batch)> body);

  void report(Value value, llvm::StringRef name) {
    ReportOp::create(builder, loc, value, name);
  }
  /// The step goes on only if all are finite; `problem` if that is not about
  /// training that diverged.
  void check(ValueRange values, llvm::StringRef problem = {});

  /// The arguments of an update, computed from settings of `part`, which may be
  /// empty; `clip` scales gradients.
  llvm::SmallVector<Value> updateScalars(const UpdateScalars &wanted,
                                         llvm::StringRef part, Value clip,
                                         Value rate,
                                         const UpdatedLayers &updated = {});
  Value learningRate(llvm::StringRef part);
  /// `numbers`, by a function scalar.`name` of its own, which the first one
  /// adds.
  Value constants(llvm::StringRef name, llvm::ArrayRef<double> numbers);
  /// The lengths of each of `ranges`, by a function scalar.`name` of its own,
  /// from sums of the squares of each parameter.
  Value layerNorms(llvm::StringRef name, llvm::ArrayRef<ParameterRange> ranges,
                   Value squares);
  /// Seed and step, which random streams have for a key.
  Value stepKey();

  mlir::ModuleOp module;
  mlir::Location loc;
  mlir::OpBuilder builder;
  Type real, integer;
  bool hasFailed = false;

private:
  /// `function` applied to `operands`; a setting `name` after a failure.
  Value call(mlir::FailureOr<mlir::func::FuncOp> function, llvm::StringRef name,
             ValueRange operands, Type type);

  llvm::StringMap<Value> settings;
};

/// The names that symbols of `module` must not have: those that a pass defines.
/// Fails with a diagnostic at the symbol.
mlir::LogicalResult checkNamesAreFree(mlir::ModuleOp module,
                                      llvm::ArrayRef<std::string> names);

/// "zero_gradient" of "hone.zero_gradient": the entry of createVectorEntry().
template <typename OpTy> std::string vectorEntryName() {
  return OpTy::getOperationName().split('.').second.str();
}

/// An entry with one op, on the entry's arguments; with `layers`, on those.
template <typename OpTy>
EntryOp createVectorEntry(mlir::ModuleOp module, mlir::TypeRange arguments,
                          mlir::TypeRange results,
                          llvm::StringRef name = vectorEntryName<OpTy>(),
                          mlir::ArrayAttr layers = {}) {
  auto builder = mlir::OpBuilder::atBlockEnd(module.getBody());
  auto entry = EntryOp::create(builder, module.getLoc(), name, Phase::Vector,
                               arguments, results);
  mlir::Block &body = entry.getBodyBlock();
  builder.setInsertionPoint(&body, body.begin());
  auto op = OpTy::create(builder, module.getLoc(), results,
                         mlir::ValueRange(body.getArguments()));
  if (layers)
    op->setAttr("layers", layers);
  if (!results.empty()) {
    builder.setInsertionPointToEnd(&body);
    ReturnOp::create(builder, module.getLoc(), op->getResults());
  }
  return entry;
}

/// The entry of `module` with this name; null: there is none.
EntryOp findEntry(mlir::ModuleOp module, llvm::StringRef name);

} // namespace hone
