//===- ScheduleBuilder.h - Writes the items of a schedule -----------------===//
//
// What the passes share that make schedules: a builder of items, the schedules
// that are the same for every method, and what all of them begin with.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_PASSES_DERIVE_SCHEDULEBUILDER_H
#define HONE_PASSES_DERIVE_SCHEDULEBUILDER_H

#include "passes/derive/UpdateEntries.h"
#include "passes/module/ParameterTable.h"
#include "passes/module/Schedule.h"

#include "llvm/ADT/StringMap.h"

namespace hone {

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

  /// What `body` makes of `carried`, `count` times; `expected`: for estimates.
  mlir::ResultRange
  repeat(Value count, ValueRange carried,
         llvm::function_ref<llvm::SmallVector<Value>(ValueRange)> body,
         int64_t expected = 1);
  /// `sum` and what `body` returns for each of `count` batches.
  Value addOverBatches(Value sum, Value count,
                       llvm::function_ref<Value(Value batch)> body);

  /// `own` of each of `ranks`, in their order; `own` is that of `rank`.
  llvm::SmallVector<Value> exchange(Value own, llvm::StringRef channel,
                                    llvm::ArrayRef<std::string> ranks,
                                    llvm::StringRef rank);

  void report(Value value, llvm::StringRef name) {
    ReportOp::create(builder, loc, value, name);
  }
  /// The step goes on only if all are finite; `problem` if that is not about
  /// training that diverged.
  void check(ValueRange values, llvm::StringRef problem = {});

  /// What an update takes, computed from settings; `clip` scales gradients.
  llvm::SmallVector<Value> updateScalars(const UpdateScalars &wanted,
                                         Value clip, Value rate);
  Value learningRate();
  /// Seed and step, which random streams have for a key.
  Value stepKey();

  mlir::ModuleOp module;
  mlir::Location loc;
  mlir::OpBuilder builder;
  Type real, integer;
  bool hasFailed = false;

private:
  llvm::StringMap<Value> settings;
};

/// What every method's schedules are made of.
struct StepParts {
  EntryOp loss; ///< without arguments
  ParameterTable parameters;
  Optimizer optimizer;
  mlir::Type perParameter; ///< a number for each trainable parameter

  /// Fails with a diagnostic if the module has no such loss or there is no such
  /// optimizer.
  static mlir::FailureOr<StepParts> find(mlir::ModuleOp module,
                                         llvm::StringRef optimizer);
};

/// The names that symbols of `module` must not have: those that a pass defines.
/// Fails with a diagnostic at the symbol.
mlir::LogicalResult checkNamesAreFree(mlir::ModuleOp module,
                                      llvm::ArrayRef<std::string> names);

/// "zero_gradient" of "hone.zero_gradient": what createVectorEntry() calls it.
template <typename OpTy> std::string vectorEntryName() {
  return OpTy::getOperationName().split('.').second.str();
}

/// An entry with one op, on the entry's arguments.
template <typename OpTy>
EntryOp createVectorEntry(mlir::ModuleOp module, mlir::TypeRange arguments,
                          mlir::TypeRange results) {
  auto builder = mlir::OpBuilder::atBlockEnd(module.getBody());
  auto entry =
      EntryOp::create(builder, module.getLoc(), vectorEntryName<OpTy>(),
                      Phase::Vector, arguments, results);
  mlir::Block &body = entry.getBodyBlock();
  builder.setInsertionPoint(&body, body.begin());
  auto op = OpTy::create(builder, module.getLoc(), results,
                         mlir::ValueRange(body.getArguments()));
  if (!results.empty()) {
    builder.setInsertionPointToEnd(&body);
    ReturnOp::create(builder, module.getLoc(), op->getResults());
  }
  return entry;
}

/// `evaluate` and `validate`, the same whatever the method. Fail with a
/// diagnostic if a name is taken.
mlir::LogicalResult scheduleEvaluation(mlir::ModuleOp module,
                                       const StepParts &parts);
mlir::LogicalResult scheduleValidation(mlir::ModuleOp module,
                                       const StepParts &parts);

} // namespace hone

#endif
