//===- ExtractPart.cpp - hone-extract-part --------------------------------===//
//
// What a run of a part makes and another part reads becomes a message. All that
// belongs to no part, such as numbers, checks and updates, every part does for
// itself, on the parameters that it has: no part leads, and each knows at the
// same item what the others know.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/module/ParameterTable.h"
#include "passes/module/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_EXTRACTPART
#include "passes/Passes.h.inc"

namespace {

struct ExtractPart : impl::ExtractPartBase<ExtractPart> {
  using ExtractPartBase::ExtractPartBase;

  void runOnOperation() override {
    if (part.empty())
      return;
    module = getOperation();
    for (EntryOp entry : module.getOps<EntryOp>())
      if (entry.getPart())
        parts.insert(*entry.getPart());
    if (!parts.contains(part)) {
      module.emitError("has no part '") << part
                                        << "'; hone-split-parts makes "
                                           "'lower' and 'upper'";
      return signalPassFailure();
    }
    if (failed(assignParameters()) ||
        llvm::any_of(module.getOps<ScheduleOp>(), [&](ScheduleOp schedule) {
          return failed(extract(schedule));
        }))
      return signalPassFailure();
    for (EntryOp entry : llvm::make_early_inc_range(module.getOps<EntryOp>()))
      if (!isOurs(entry))
        entry.erase();
    narrowSquares();
  }

private:
  /// Whose each trainable parameter is, in the order of the whole model.
  LogicalResult assignParameters();
  int64_t countOf(StringRef owner) const { return llvm::count(owners, owner); }

  bool isOurs(EntryOp entry) const {
    return !entry.getPart() || *entry.getPart() == part;
  }
  /// The part that runs `op`; "" if all do.
  StringRef ownerOf(Operation *op);
  /// The parts but `owner` that read `value`, in order.
  SmallVector<StringRef> readersOf(Value value, StringRef owner);

  LogicalResult extract(ScheduleOp schedule);
  void exchange(RunOp run, ScheduleOp schedule);
  /// Sends `value`, waiting before the next batch.
  void send(OpBuilder &builder, Value value, StringRef to, StringRef channel,
            Value batch, int64_t stage);
  Value receive(OpBuilder &builder, Location loc, Type type, StringRef from,
                StringRef channel, Value batch, int64_t stage);
  /// After a receive, before the first item that reads `value`.
  void waitBeforeUse(Value value, int64_t stage);

  /// What each part has of a vector over parameters, as one of all.
  LogicalResult gather(RunOp run, ScheduleOp schedule);
  func::FuncOp gatherFunction();
  /// The sums of squares are of the parameters that are here.
  void narrowSquares();
  RankedTensorType squaresType(StringRef owner) {
    return RankedTensorType::get(countOf(owner),
                                 Float64Type::get(&getContext()));
  }

  ModuleOp module;
  llvm::SetVector<StringRef> parts;
  SmallVector<StringRef> owners;
};

} // namespace

LogicalResult ExtractPart::assignParameters() {
  FailureOr<ParameterTable> table = ParameterTable::build(module);
  if (failed(table))
    return failure();
  SymbolTable symbols(module);
  llvm::StringMap<StringRef> ownerOf;
  LogicalResult result = success();
  for (EntryOp entry : module.getOps<EntryOp>()) {
    StringRef owner = entry.getPart().value_or("");
    auto visit = [&](CallOp call, BlockOp block) {
      block.walk([&](ParameterOp op) {
        std::string name = (call.getPrefix() + op.getName()).str();
        auto [known, isNew] = ownerOf.try_emplace(name, owner);
        if (!isNew && known->second != owner && op.getTrainable()) {
          call.emitOpError("trains '")
              << name << "', which the part '" << known->second
              << "' trains too; a parameter has one part";
          result = failure();
        }
      });
    };
    if (failed(forEachCall(entry, symbols, visit)))
      return failure();
  }
  for (const Parameter &parameter : table->trainable())
    owners.push_back(ownerOf.lookup(parameter.name));
  return result;
}

StringRef ExtractPart::ownerOf(Operation *op) {
  auto run = dyn_cast<RunOp>(op);
  if (!run)
    return "";
  auto entry = module.lookupSymbol<EntryOp>(run.getEntry());
  return entry.getPart().value_or("");
}

SmallVector<StringRef> ExtractPart::readersOf(Value value, StringRef owner) {
  return llvm::filter_to_vector(parts, [&](StringRef reader) {
    return reader != owner &&
           llvm::any_of(value.getUsers(), [&](Operation *user) {
             StringRef runs = ownerOf(user);
             return runs.empty() || runs == reader;
           });
  });
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static Value batchFor(Type type, Value batch) {
  return hasRows(type) ? batch : Value();
}

void ExtractPart::send(OpBuilder &builder, Value value, StringRef to,
                       StringRef channel, Value batch, int64_t stage) {
  Location loc = value.getLoc();
  SendOp::create(builder, loc, value, to, channel,
                 batchFor(value.getType(), batch), stage);
  // The value is in memory until then; the next batch needs it no more.
  mlir::Block *body = builder.getInsertionBlock();
  auto isNext = [](Operation &op) {
    return isa<LoadOp, RepeatOp, YieldOp>(op);
  };
  auto next = std::find_if(builder.getInsertionPoint(), body->end(), isNext);
  OpBuilder end(body, next);
  WaitOp::create(end, loc, value, stage);
}

void ExtractPart::waitBeforeUse(Value value, int64_t stage) {
  mlir::Block *body = value.getParentBlock();
  Operation *first = nullptr;
  for (Operation *user : value.getUsers()) {
    Operation *item = body->findAncestorOpInBlock(*user);
    if (!first || item->isBeforeInBlock(first))
      first = item;
  }
  OpBuilder builder(first);
  auto item = dyn_cast<ItemOpInterface>(first);
  WaitOp::create(builder, value.getLoc(), value,
                 item ? std::max<int64_t>(stage, item.getItemStage()) : stage);
}

Value ExtractPart::receive(OpBuilder &builder, Location loc, Type type,
                           StringRef from, StringRef channel, Value batch,
                           int64_t stage) {
  return ReceiveOp::create(builder, loc, type, from, channel,
                           batchFor(type, batch), stage);
}

void ExtractPart::exchange(RunOp run, ScheduleOp schedule) {
  StringRef owner = ownerOf(run);
  OpBuilder builder(run->getContext());
  builder.setInsertionPointAfter(run);
  int64_t stage = run.getStage();
  for (OpResult result : run.getResults()) {
    SmallVector<StringRef> readers = readersOf(result, owner);
    std::string channel =
        (stringifyPurpose(schedule.getPurpose()) + "." + run.getEntry() + "." +
         Twine(result.getResultNumber()))
            .str();
    if (owner == part) {
      for (StringRef reader : readers)
        send(builder, result, reader, channel, run.getBatch(), stage);
    } else if (llvm::is_contained(readers, part)) {
      Value arrived = receive(builder, run.getLoc(), result.getType(), owner,
                              channel, run.getBatch(), stage);
      result.replaceAllUsesWith(arrived);
    }
  }
}

//===----------------------------------------------------------------------===//
// Vectors over parameters
//===----------------------------------------------------------------------===//

func::FuncOp ExtractPart::gatherFunction() {
  static constexpr StringRef name = "scalar.gather";
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  Location loc = module.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Type> types;
  SmallVector<StringRef> givers;
  for (StringRef giver : parts)
    if (int64_t count = countOf(giver)) {
      givers.push_back(giver);
      types.push_back(MemRefType::get(count, builder.getF64Type()));
    }
  types.push_back(MemRefType::get(owners.size(), builder.getF64Type()));
  auto function = func::FuncOp::create(builder, loc, name,
                                       builder.getFunctionType(types, {}));
  function.setPrivate();
  mlir::Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  // One loop for each run of parameters that one part has.
  SmallVector<int64_t> taken(givers.size());
  for (size_t first = 0; first < owners.size();) {
    size_t end = first;
    while (end < owners.size() && owners[end] == owners[first])
      ++end;
    size_t giver = llvm::find(givers, owners[first]) - givers.begin();
    int64_t length = end - first;
    auto loop =
        scf::ForOp::create(builder, loc, index(0), index(length), index(1));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      auto at = [&](int64_t from) -> Value {
        return arith::AddIOp::create(builder, loc, loop.getInductionVar(),
                                     index(from));
      };
      Value sum = memref::LoadOp::create(builder, loc, body->getArgument(giver),
                                         at(taken[giver]));
      memref::StoreOp::create(builder, loc, sum, body->getArguments().back(),
                              at(first));
    }
    taken[giver] += length;
    first = end;
  }
  func::ReturnOp::create(builder, loc);
  return function;
}

LogicalResult ExtractPart::gather(RunOp run, ScheduleOp schedule) {
  if (run.getNumResults() == 0)
    return success();
  auto entry = module.lookupSymbol<EntryOp>(run.getEntry());
  if (entry.getBody().getOps<PerParameterOpInterface>().empty())
    return run.emitOpError("cannot be given to a part: what it returns is of "
                           "all parameters");
  OpBuilder builder(run);
  int64_t stage = run.getStage();
  std::string channel =
      (stringifyPurpose(schedule.getPurpose()) + "." + run.getEntry()).str();
  Value own;
  if (countOf(part) > 0) {
    own = RunOp::create(builder, run.getLoc(), TypeRange(squaresType(part)),
                        run.getEntry(), /*otherwise=*/nullptr, ValueRange(),
                        /*batch=*/Value(), /*condition=*/Value(), stage,
                        run.getLane())
              .getResult(0);
    for (StringRef other : parts)
      if (other != part)
        send(builder, own, other, channel, Value(), stage);
  }
  SmallVector<Value> pieces;
  for (StringRef giver : parts)
    if (countOf(giver) > 0)
      pieces.push_back(giver == part
                           ? own
                           : receive(builder, run.getLoc(), squaresType(giver),
                                     giver, channel, Value(), stage));
  auto all = ScalarOp::create(builder, run.getLoc(), run.getResultTypes(),
                              gatherFunction().getSymName(), pieces, stage);
  run.getResult(0).replaceAllUsesWith(all.getResult(0));
  run.erase();
  return success();
}

void ExtractPart::narrowSquares() {
  for (EntryOp entry : llvm::make_early_inc_range(module.getOps<EntryOp>()))
    for (auto op : entry.getBody().getOps<PerParameterOpInterface>()) {
      if (countOf(part) == 0) {
        entry.erase(); // nothing runs it
        break;
      }
      op.getNumbers().setType(squaresType(part));
      entry.setFunctionType(FunctionType::get(
          entry.getContext(), entry.getArgumentTypes(), squaresType(part)));
    }
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

LogicalResult ExtractPart::extract(ScheduleOp schedule) {
  SmallVector<RunOp> runs;
  schedule.walk([&](RunOp run) { runs.push_back(run); });
  for (RunOp run : runs)
    if (run.getCondition() &&
        (!ownerOf(run).empty() || run.getNumResults() > 0))
      return run.emitOpError("cannot be given to a part: it is conditional");
  // What crosses is decided with all runs in place.
  SmallVector<RunOp> foreign;
  for (RunOp run : runs) {
    StringRef owner = ownerOf(run);
    if (owner.empty()) {
      if (failed(gather(run, schedule)))
        return failure();
      continue;
    }
    exchange(run, schedule);
    if (owner != part)
      foreign.push_back(run);
  }
  for (RunOp run : llvm::reverse(foreign))
    run.erase();
  // A part receives only values that it reads, and waits for each.
  SmallVector<ReceiveOp> receives;
  schedule.walk([&](ReceiveOp op) { receives.push_back(op); });
  for (ReceiveOp op : receives)
    waitBeforeUse(op.getValue(), op.getStage());
  return success();
}

} // namespace hone
