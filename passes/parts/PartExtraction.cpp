//===- PartExtraction.cpp - One part of a model as a module ---------------===//
//
// A value that a run of one part makes and another part reads becomes a
// message; so do batches and the counts of a step, which the part that has the
// data makes. A message goes from part to part, in the order of their layers,
// up to the last one that reads it: a part meets only its neighbours. Every
// part does all that belongs to no part, such as numbers, checks and updates,
// for itself, on the parameters that it has: each knows at the same item what
// the others know. But items from which only late values are made are the last
// part's alone: it reports these, and no part below waits for them.
//
//===----------------------------------------------------------------------===//

#include "passes/parts/PartExtraction.h"
#include "passes/module/Schedule.h"
#include "passes/parts/CommonItems.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace hone {

namespace {

class PartExtraction {
public:
  PartExtraction(ModuleOp module, StringRef part)
      : module(module), part(part), parts(partsOf(module)) {}

  LogicalResult run();

private:
  /// Finds the owner of each trainable parameter, in the whole model's order.
  LogicalResult assignParameters();
  /// Checks that the parameters of each op have one place in the table.
  LogicalResult checkNumbers() const;
  StringRef ownerOfLayer(StringRef prefix) const;
  /// The owners of the parameters that `op` updates or reads.
  SmallVector<StringRef> ownersOf(PerParameterOpInterface op) const;
  int64_t countOwn(ArrayRef<StringRef> owners) const {
    return llvm::count(owners, part);
  }

  bool isOurs(EntryOp entry) const {
    return !entry.getPart() || *entry.getPart() == part;
  }
  StringRef dataPart() const { return parts.front(); }
  /// The part that runs `op`; "" if all do.
  StringRef ownerOf(Operation *op) const;
  /// The parts but `owner` that read `value`, in order.
  SmallVector<StringRef> readersOf(Value value, StringRef owner) const;

  LogicalResult extract(ScheduleOp schedule);
  /// Whether `reader` reads `value` where `user` has it.
  bool reads(StringRef reader, Operation *user, Value value) const;
  int64_t placeOf(StringRef name) const {
    return llvm::find(parts, name) - parts.begin();
  }
  /// How many parts there are above this one.
  int64_t countAbove() const { return parts.size() - placeOf(part) - 1; }
  bool isFirst() const { return part == parts.front(); }
  bool isLast() const { return part == parts.back(); }
  StringRef before() const { return parts[placeOf(part) - 1]; }
  StringRef after() const { return parts[placeOf(part) + 1]; }
  /// Receives late values from the part above, and sends them to the one below,
  /// which has them in its next step.
  void exchangeLate(LateOp late);
  Value integer(OpBuilder &builder, Location loc, int64_t number);
  /// Receives the results of `op`, sends them on, or both.
  void exchange(Operation *op, ScheduleOp schedule);
  /// Sends `value`, and waits where its memory is needed again.
  void send(OpBuilder &builder, Value value, StringRef to, StringRef channel,
            Value batch, DictionaryAttr inputs, int64_t stage);
  Value receive(OpBuilder &builder, Location loc, Type type, StringRef from,
                StringRef channel, Value batch, DictionaryAttr inputs,
                int64_t stage);
  /// After a receive, before the first item that reads `value`.
  void waitBeforeUse(Value value, int64_t stage);
  /// The inputs of `batch` that entries of the part at `place` and of those
  /// after it read, with their types.
  DictionaryAttr inputsFrom(int64_t place, Value batch) const;

  /// Erases functions of numbers that are other parts' alone.
  void eraseUncalled();

  /// The share of the parts from `first` to before `end` in a vector over
  /// parameters, in the whole model's order.
  struct Share {
    int64_t first, end;
    Value numbers;
    bool has(int64_t place) const { return first <= place && place < end; }
  };
  /// Makes one vector of all parts' shares. Both ways along the chain each part
  /// adds its own to the one that it receives and sends that on.
  LogicalResult gather(RunOp run, ScheduleOp schedule);
  /// Joins several shares; `suffix` tells the function from others of the entry
  /// that `run` runs.
  Value merge(OpBuilder &builder, RunOp run, ArrayRef<StringRef> owners,
              ArrayRef<Share> shares, StringRef suffix);
  func::FuncOp mergeFunction(ArrayRef<StringRef> owners, ArrayRef<Share> shares,
                             const Twine &suffix);
  /// Entries of all parts are of the layers and parameters that are here; false
  /// if nothing is left of one.
  bool narrow(EntryOp entry);
  /// Whether entries of the part add to its gradient, which so has memory in
  /// training, and begins at zero.
  bool addsToGradient() const;

  RankedTensorType numbersType(int64_t count) const {
    return RankedTensorType::get(
        count, Float64Type::get(ModuleOp(module).getContext()));
  }

  ModuleOp module;
  StringRef part;
  llvm::SetVector<StringRef> parts;
  std::optional<ParameterTable> table;
  SmallVector<StringRef> owners;     ///< of trainable parameters
  std::optional<CommonItems> common; ///< of the schedule, if it has late values
};

} // namespace

llvm::SetVector<StringRef> partsOf(ModuleOp module) {
  llvm::SetVector<StringRef> parts;
  for (EntryOp entry : module.getOps<EntryOp>())
    if (entry.getPart())
      parts.insert(*entry.getPart());
  return parts;
}

LogicalResult extractPart(ModuleOp module, StringRef part) {
  return PartExtraction(module, part).run();
}

LogicalResult PartExtraction::run() {
  if (failed(assignParameters()) || failed(checkNumbers()) ||
      llvm::any_of(module.getOps<ScheduleOp>(), [&](ScheduleOp schedule) {
        return failed(extract(schedule));
      }))
    return failure();
  SmallVector<EntryOp> entries(module.getOps<EntryOp>());
  for (EntryOp entry : entries) {
    if (isOurs(entry) && (entry.getPart() || narrow(entry)))
      continue;
    module.walk([&](RunOp run) {
      if (run.getEntry() == entry.getSymName())
        run.erase();
    });
    entry.erase();
  }
  eraseUncalled();
  return success();
}

void PartExtraction::eraseUncalled() {
  SmallVector<func::FuncOp> uncalled;
  do {
    uncalled = llvm::filter_to_vector(
        ModuleOp(module).getOps<func::FuncOp>(), [&](func::FuncOp function) {
          return SymbolTable::symbolKnownUseEmpty(function, module);
        });
    for (func::FuncOp function : uncalled)
      function.erase();
  } while (!uncalled.empty());
}

LogicalResult PartExtraction::assignParameters() {
  FailureOr<ParameterTable> built = ParameterTable::build(module);
  if (failed(built))
    return failure();
  table = std::move(*built);
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

LogicalResult PartExtraction::checkNumbers() const {
  for (EntryOp entry : ModuleOp(module).getOps<EntryOp>())
    for (PerParameterOpInterface op :
         entry.getBody().getOps<PerParameterOpInterface>())
      if (!table->slice(op->getAttrOfType<ArrayAttr>("layers")))
        return op->emitOpError(
            "expects layers that lie one after another in theta");
  return success();
}

StringRef PartExtraction::ownerOfLayer(StringRef prefix) const {
  const TrainableLayer *layer = table->findLayer(prefix);
  if (!layer)
    return {};
  ArrayRef<Parameter> own = table->ofLayer(layer - table->layers().data());
  return owners[&own.front() - table->trainable().data()];
}

SmallVector<StringRef>
PartExtraction::ownersOf(PerParameterOpInterface op) const {
  std::optional<ThetaSlice> slice =
      table->slice(op->getAttrOfType<ArrayAttr>("layers"));
  size_t first = slice->parameters.data() - table->trainable().data();
  return SmallVector<StringRef>(
      ArrayRef(owners).slice(first, slice->parameters.size()));
}

StringRef PartExtraction::ownerOf(Operation *op) const {
  if (isa<LoadOp>(op))
    return dataPart();
  if (auto setting = dyn_cast<SettingOp>(op))
    return setting.isOfData() ? dataPart() : StringRef();
  auto run = dyn_cast<RunOp>(op);
  if (!run)
    return "";
  auto entry = ModuleOp(module).lookupSymbol<EntryOp>(run.getEntry());
  return entry.getPart().value_or("");
}

SmallVector<StringRef> PartExtraction::readersOf(Value value,
                                                 StringRef owner) const {
  return llvm::filter_to_vector(parts, [&](StringRef reader) {
    return reader != owner &&
           llvm::any_of(value.getUsers(), [&](Operation *user) {
             return reads(reader, user, value);
           });
  });
}

bool PartExtraction::reads(StringRef reader, Operation *user,
                           Value value) const {
  StringRef runs = ownerOf(user);
  if (!runs.empty() || reader == parts.back() || !common)
    return runs.empty() || runs == reader;
  return common->reads(user, value);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static Value batchFor(Type type, Value batch) {
  return !isa<BatchType>(type) && hasRows(type) ? batch : Value();
}

void PartExtraction::send(OpBuilder &builder, Value value, StringRef to,
                          StringRef channel, Value batch, DictionaryAttr inputs,
                          int64_t stage) {
  Location loc = value.getLoc();
  SendOp::create(builder, loc, value, to, channel,
                 batchFor(value.getType(), batch), inputs,
                 /*behind=*/0, stage);
  if (llvm::any_of(value.getUsers(),
                   [](Operation *user) { return isa<WaitOp>(user); }))
    return; // one wait is for all that it is sent to
  // The value is in memory until then; the next batch needs it no more. A batch
  // lasts for the probes that are made of it.
  mlir::Block *body = builder.getInsertionBlock();
  auto isNext = [&](Operation &op) {
    return isa<LoadOp, YieldOp>(op) || (!inputs && isa<RepeatOp>(op));
  };
  auto next = std::find_if(builder.getInsertionPoint(), body->end(), isNext);
  OpBuilder end(body, next);
  WaitOp::create(end, loc, value, stage);
}

void PartExtraction::waitBeforeUse(Value value, int64_t stage) {
  mlir::Block *body = value.getParentBlock();
  Operation *first = nullptr;
  for (Operation *user : value.getUsers()) {
    Operation *item = body->findAncestorOpInBlock(*user);
    if (!first || item->isBeforeInBlock(first))
      first = item;
  }
  OpBuilder builder(first);
  auto item = dyn_cast<ItemOpInterface>(first);
  // The sender of a batch waits until the receiver waits for it. So the
  // receiver waits at the stage of the load, even if it reads the batch later:
  // else the sender never gets to the value that the receiver needs next.
  if (item && !isa<BatchType>(value.getType()))
    stage = std::max<int64_t>(stage, item.getItemStage());
  WaitOp::create(builder, value.getLoc(), value, stage);
}

Value PartExtraction::receive(OpBuilder &builder, Location loc, Type type,
                              StringRef from, StringRef channel, Value batch,
                              DictionaryAttr inputs, int64_t stage) {
  return ReceiveOp::create(builder, loc, type, from, channel,
                           batchFor(type, batch), inputs, /*behind=*/0, stage);
}

DictionaryAttr PartExtraction::inputsFrom(int64_t place, Value batch) const {
  SymbolTable symbols(module);
  NamedAttrList inputs;
  for (Operation *user : batch.getUsers()) {
    auto run = dyn_cast<RunOp>(user);
    if (!run || ownerOf(run).empty() || placeOf(ownerOf(run)) < place)
      continue;
    for (EntryOp entry : entriesOf(run, symbols))
      (void)forEachCall(entry, symbols, [&](CallOp, BlockOp block) {
        block.walk([&](InputOp input) {
          inputs.set(input.getName(), TypeAttr::get(input.getType()));
        });
      });
  }
  return inputs.getDictionary(batch.getContext());
}

/// The name of a channel of `op`.
static std::string channelOf(Operation *op, unsigned result,
                             ScheduleOp schedule) {
  std::string name = stringifyPurpose(schedule.getPurpose()).str() + ".";
  if (auto run = dyn_cast<RunOp>(op))
    return name + (run.getEntry() + "." + Twine(result)).str();
  if (auto setting = dyn_cast<SettingOp>(op))
    return name + setting.getName().str();
  return name + "batch";
}

void PartExtraction::exchange(Operation *op, ScheduleOp schedule) {
  StringRef owner = ownerOf(op);
  const int64_t from = placeOf(owner), own = placeOf(part);
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto run = dyn_cast<RunOp>(op);
  Value batch = run ? run.getBatch() : Value();
  auto item = dyn_cast<ItemOpInterface>(op);
  int64_t stage = item ? item.getItemStage() : 0;
  for (OpResult result : op->getResults()) {
    int64_t lowest = from, highest = from; // of those that it comes to
    for (StringRef reader : readersOf(result, owner)) {
      lowest = std::min(lowest, placeOf(reader));
      highest = std::max(highest, placeOf(reader));
    }
    if (own < lowest || own > highest)
      continue;
    std::string channel = channelOf(op, result.getResultNumber(), schedule);
    // The inputs of a batch, which goes up.
    auto inputs = [&](int64_t place) {
      return isa<LoadOp>(op) ? inputsFrom(place, result) : DictionaryAttr();
    };
    const DictionaryAttr here = inputs(own), above = inputs(own + 1);
    Value value = result;
    if (own != from) {
      value =
          receive(builder, op->getLoc(), result.getType(),
                  own < from ? after() : before(), channel, batch, here, stage);
      result.replaceAllUsesWith(value);
    }
    if (from <= own && own < highest)
      send(builder, value, after(), channel, batch, above, stage);
    if (lowest < own && own <= from)
      send(builder, value, before(), channel, batch, {}, stage);
  }
}

//===----------------------------------------------------------------------===//
// Late values
//===----------------------------------------------------------------------===//

Value PartExtraction::integer(OpBuilder &builder, Location loc,
                              int64_t number) {
  OpBuilder end = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(
      end, loc, "scalar.steps_late", end.getFunctionType({}, end.getI64Type()));
  function.setPrivate();
  end.setInsertionPointToStart(function.addEntryBlock());
  Value constant = arith::ConstantIntOp::create(end, loc, number, 64);
  func::ReturnOp::create(end, loc, constant);
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return ScalarOp::create(builder, loc, type, function.getSymName(),
                          ValueRange())
      .getResult(0);
}

void PartExtraction::exchangeLate(LateOp late) {
  OpBuilder builder(late);
  Location loc = late.getLoc();
  late.getSteps().replaceAllUsesWith(integer(builder, loc, countAbove()));
  for (auto [index, made, arrived] :
       llvm::enumerate(late.getValues(), late.getLates())) {
    const std::string channel = "train.late." + std::to_string(index);
    Value value = made;
    if (!isLast())
      value = ReceiveOp::create(builder, loc, made.getType(), after(), channel,
                                /*batch=*/Value(),
                                /*inputs=*/DictionaryAttr(), /*behind=*/1);
    if (!isFirst()) {
      SendOp::create(builder, loc, value, before(), channel, /*batch=*/Value(),
                     /*inputs=*/DictionaryAttr(), /*behind=*/1);
      WaitOp::create(builder, loc, value);
      // A resumed run has it from the checkpoint: the message was under way.
      const std::string report = channel + ".1";
      ReportOp::create(builder, loc, value, report);
      SettingOp::create(builder, loc, value.getType(), "before." + report);
    }
    arrived.replaceAllUsesWith(value);
  }
  late.erase();
}

//===----------------------------------------------------------------------===//
// Vectors over parameters
//===----------------------------------------------------------------------===//

func::FuncOp PartExtraction::mergeFunction(ArrayRef<StringRef> owners,
                                           ArrayRef<Share> shares,
                                           const Twine &suffix) {
  std::string name = ("scalar.gather." + suffix).str();
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  Location loc = module.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto memory = [&](int64_t count) {
    return MemRefType::get(count, builder.getF64Type());
  };
  SmallVector<Type> types;
  int64_t all = 0;
  for (const Share &share : shares) {
    int64_t count =
        cast<RankedTensorType>(share.numbers.getType()).getDimSize(0);
    types.push_back(memory(count));
    all += count;
  }
  types.push_back(memory(all));
  auto function = func::FuncOp::create(builder, loc, name,
                                       builder.getFunctionType(types, {}));
  function.setPrivate();
  mlir::Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto shareOf = [&](StringRef owner) {
    return llvm::find_if(
               shares,
               [&](const Share &share) { return share.has(placeOf(owner)); }) -
           shares.begin();
  };
  // One loop for each run of parameters of one share.
  SmallVector<int64_t> taken(shares.size());
  int64_t made = 0;
  for (size_t first = 0; first < owners.size();) {
    const size_t from = shareOf(owners[first]);
    size_t end = first;
    while (end < owners.size() && size_t(shareOf(owners[end])) == from)
      ++end;
    const int64_t length = end - first;
    first = end;
    if (from == shares.size())
      continue;
    auto loop =
        scf::ForOp::create(builder, loc, index(0), index(length), index(1));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      auto at = [&](int64_t begin) -> Value {
        return arith::AddIOp::create(builder, loc, loop.getInductionVar(),
                                     index(begin));
      };
      Value sum = memref::LoadOp::create(builder, loc, body->getArgument(from),
                                         at(taken[from]));
      memref::StoreOp::create(builder, loc, sum, body->getArguments().back(),
                              at(made));
    }
    taken[from] += length;
    made += length;
  }
  func::ReturnOp::create(builder, loc);
  return function;
}

Value PartExtraction::merge(OpBuilder &builder, RunOp run,
                            ArrayRef<StringRef> owners, ArrayRef<Share> shares,
                            StringRef suffix) {
  if (shares.size() == 1)
    return shares.front().numbers;
  func::FuncOp function =
      mergeFunction(owners, shares, run.getEntry() + suffix);
  auto all = cast<MemRefType>(function.getArgumentTypes().back());
  return ScalarOp::create(
             builder, run.getLoc(), TypeRange(numbersType(all.getDimSize(0))),
             function.getSymName(),
             llvm::map_to_vector(
                 shares, [](const Share &share) { return share.numbers; }),
             run.getStage())
      .getResult(0);
}

LogicalResult PartExtraction::gather(RunOp run, ScheduleOp schedule) {
  if (run.getNumResults() == 0)
    return success();
  auto entry = module.lookupSymbol<EntryOp>(run.getEntry());
  auto ops = entry.getBody().getOps<PerParameterOpInterface>();
  if (ops.empty())
    return run.emitOpError(
        "cannot be given to a part: it returns values of all "
        "parameters");
  const SmallVector<StringRef> owners = ownersOf(*ops.begin());
  OpBuilder builder(run);
  const int64_t stage = run.getStage(), own = placeOf(part);
  const std::string channel =
      (stringifyPurpose(schedule.getPurpose()) + "." + run.getEntry()).str();
  SmallVector<Share> below, mine, above; // one each, or none
  auto take = [&](SmallVector<Share> &shares, int64_t first, int64_t end,
                  llvm::function_ref<Value(Type)> numbers) {
    Share share{first, end, {}};
    if (int64_t count = llvm::count_if(owners, [&](StringRef owner) {
          return share.has(placeOf(owner));
        })) {
      share.numbers = numbers(numbersType(count));
      shares.push_back(share);
    }
  };
  auto receiveFrom = [&](StringRef peer) {
    return [&, peer](Type type) {
      return receive(builder, run.getLoc(), type, peer, channel, Value(), {},
                     stage);
    };
  };
  if (!isFirst())
    take(below, 0, own, receiveFrom(before()));
  if (!isLast())
    take(above, own + 1, parts.size(), receiveFrom(after()));
  take(mine, own, own + 1, [&](Type type) {
    return RunOp::create(builder, run.getLoc(), TypeRange(type), run.getEntry(),
                         /*otherwise=*/nullptr, ValueRange(),
                         /*batch=*/Value(), /*condition=*/Value(), stage,
                         run.getLane())
        .getResult(0);
  });
  auto give = [&](StringRef peer, ArrayRef<Share> shares, StringRef suffix) {
    if (!shares.empty())
      send(builder, merge(builder, run, owners, shares, suffix), peer, channel,
           Value(), {}, stage);
  };
  // A backward ends below, so the share from above is here first.
  SmallVector<Share> upper = mine, lower = below, all = below;
  upper.append(above);
  lower.append(mine);
  all.append(upper);
  if (!isFirst())
    give(before(), upper, ".above");
  if (!isLast())
    give(after(), lower, ".below");
  run.getResult(0).replaceAllUsesWith(merge(builder, run, owners, all, ""));
  run.erase();
  return success();
}

bool PartExtraction::addsToGradient() const {
  return llvm::any_of(ModuleOp(module).getOps<EntryOp>(), [&](EntryOp entry) {
    return entry.getPart() && *entry.getPart() == part &&
           !entry.getBody().getOps<LayerGradientOp>().empty();
  });
}

bool PartExtraction::narrow(EntryOp entry) {
  Builder builder(module.getContext());
  SmallVector<Operation *> ops;
  for (Operation &op : entry.getBodyBlock().without_terminator())
    ops.push_back(&op);
  bool isLeft = ops.empty();
  for (Operation *op : llvm::reverse(ops)) {
    auto numbers = dyn_cast<PerParameterOpInterface>(op);
    const int64_t own = numbers ? countOwn(ownersOf(numbers)) : 1;
    bool isOwn = own > 0;
    if (auto layers = op->getAttrOfType<ArrayAttr>("layers")) {
      SmallVector<StringRef> kept = llvm::filter_to_vector(
          layers.getAsValueRange<StringAttr>(),
          [&](StringRef prefix) { return ownerOfLayer(prefix) == part; });
      isOwn &= !kept.empty();
      op->setAttr("layers", builder.getStrArrayAttr(kept));
    } else if (isa<ZeroGradientOp>(op)) {
      isOwn = addsToGradient();
    } else if (isa<ElementOp>(op)) {
      isOwn = !op->use_empty(); // unread where it was of other layers
    }
    if (isOwn && numbers) {
      numbers.getNumbers().setType(numbersType(own));
      entry.setFunctionType(
          builder.getFunctionType(entry.getArgumentTypes(), numbersType(own)));
    }
    if (!isOwn && !numbers)
      op->erase();
    isLeft |= isOwn;
  }
  return isLeft;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

LogicalResult PartExtraction::extract(ScheduleOp schedule) {
  SmallVector<Operation *> makers;
  schedule.walk([&](Operation *op) {
    if (isa<RunOp, LoadOp>(op) || !ownerOf(op).empty())
      makers.push_back(op);
  });
  for (Operation *op : makers)
    if (auto run = dyn_cast<RunOp>(op);
        run && run.getCondition() &&
        (!ownerOf(run).empty() || run.getNumResults() > 0))
      return run.emitOpError("cannot be given to a part: it is conditional");
  auto lates = schedule.getBody().getOps<LateOp>();
  common.reset();
  if (!lates.empty())
    common = CommonItems::of(schedule);
  // Crossing values are decided with all runs in place.
  SmallVector<Operation *> foreign;
  for (Operation *op : makers) {
    StringRef owner = ownerOf(op);
    if (owner.empty()) {
      if (failed(gather(cast<RunOp>(op), schedule)))
        return failure();
      continue;
    }
    exchange(op, schedule);
    if (owner != part)
      foreign.push_back(op);
  }
  for (LateOp late : llvm::make_early_inc_range(lates))
    exchangeLate(late);
  if (common && !isLast())
    eraseUnreadItems(schedule);
  for (Operation *op : llvm::reverse(foreign))
    op->erase();
  // A part receives only values that it reads, and waits for each.
  SmallVector<ReceiveOp> receives;
  schedule.walk([&](ReceiveOp op) { receives.push_back(op); });
  for (ReceiveOp op : receives)
    waitBeforeUse(op.getValue(), op.getStage());
  return success();
}

} // namespace hone
