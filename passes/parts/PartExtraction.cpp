//===- PartExtraction.cpp - What one part of a model does by itself -------===//
//
// What a run of a part makes and another part reads becomes a message; so do
// batches and the counts of a step, which the part that has the data makes. All
// else that belongs to no part, such as numbers, checks and updates, every part
// does for itself, on the parameters that it has: each knows at the same item
// what the others know. But what only late values are made of is the last
// part's alone: it says them, and nobody below waits for them.
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
  /// The part that makes what `op` does; "" if all do.
  StringRef ownerOf(Operation *op) const;
  /// The parts but `owner` that read `value`, in order.
  SmallVector<StringRef> readersOf(Value value, StringRef owner) const;

  LogicalResult extract(ScheduleOp schedule);
  /// Whether `reader` reads `value` where `user` has it.
  bool reads(StringRef reader, Operation *user, Value value) const;
  /// How many parts there are above.
  int64_t distance(StringRef from) const {
    return parts.end() - llvm::find(parts, from) - 1;
  }
  /// Gives a batch on from part to part, as hidden states go, so that each
  /// waits for its neighbours alone.
  void relay(LoadOp load, ScheduleOp schedule);
  /// The values of a step before, from the last part.
  void exchangeLate(LateOp late);
  /// Sends what the last part has, and reports it for as many steps as another
  /// part may still wait for it.
  void sendLate(OpBuilder &builder, Value value, const std::string &channel);
  Value integer(OpBuilder &builder, Location loc, int64_t number);
  /// Sends, or receives, what `op` makes.
  void exchange(Operation *op, ScheduleOp schedule);
  /// Sends `value`, and waits where its memory is needed again.
  void send(OpBuilder &builder, Value value, StringRef to, StringRef channel,
            Value batch, DictionaryAttr inputs, int64_t stage);
  Value receive(OpBuilder &builder, Location loc, Type type, StringRef from,
                StringRef channel, Value batch, DictionaryAttr inputs,
                int64_t stage);
  /// After a receive, before the first item that reads `value`.
  void waitBeforeUse(Value value, int64_t stage);
  /// The inputs of `batch` that entries of `reader` read, with their types.
  DictionaryAttr inputsFor(StringRef reader, Value batch) const;

  /// Erases functions of numbers that are other parts' alone.
  void eraseUncalled();

  /// What each part has of a vector over parameters, as one of all. Two parts
  /// give each other their own; of more, the last one is given all and says the
  /// whole, so that no part needs a link to each other one.
  LogicalResult gather(RunOp run, ScheduleOp schedule);
  bool isDirect() const { return parts.size() == 2; }
  /// Whether this part makes one vector of them.
  bool gathers() const { return isDirect() || part == parts.back(); }
  /// Whether `from` gives `to` what it has of such a vector.
  bool gives(StringRef from, StringRef to) const {
    return from != to && (isDirect() || to == parts.back());
  }
  func::FuncOp gatherFunction(EntryOp entry, ArrayRef<StringRef> owners);
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
  SmallVector<StringRef> owners;
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
  if (failed(assignParameters()) ||
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
  WaitOp::create(builder, value.getLoc(), value,
                 item ? std::max<int64_t>(stage, item.getItemStage()) : stage);
}

Value PartExtraction::receive(OpBuilder &builder, Location loc, Type type,
                              StringRef from, StringRef channel, Value batch,
                              DictionaryAttr inputs, int64_t stage) {
  return ReceiveOp::create(builder, loc, type, from, channel,
                           batchFor(type, batch), inputs, /*behind=*/0, stage);
}

DictionaryAttr PartExtraction::inputsFor(StringRef reader, Value batch) const {
  SymbolTable symbols(module);
  NamedAttrList inputs;
  for (Operation *user : batch.getUsers()) {
    auto run = dyn_cast<RunOp>(user);
    if (!run || ownerOf(run) != reader)
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

/// What a channel of `op` is called.
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
  if (auto load = dyn_cast<LoadOp>(op); load && common)
    return relay(load, schedule);
  StringRef owner = ownerOf(op);
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto run = dyn_cast<RunOp>(op);
  Value batch = run ? run.getBatch() : Value();
  auto item = dyn_cast<ItemOpInterface>(op);
  int64_t stage = item ? item.getItemStage() : 0;
  for (OpResult result : op->getResults()) {
    SmallVector<StringRef> readers = readersOf(result, owner);
    std::string channel = channelOf(op, result.getResultNumber(), schedule);
    auto inputs = [&](StringRef reader) {
      return isa<LoadOp>(op) ? inputsFor(reader, result) : DictionaryAttr();
    };
    if (owner == part) {
      for (StringRef reader : readers)
        send(builder, result, reader, channel, batch, inputs(reader), stage);
    } else if (llvm::is_contained(readers, part)) {
      Value arrived = receive(builder, op->getLoc(), result.getType(), owner,
                              channel, batch, inputs(part), stage);
      result.replaceAllUsesWith(arrived);
    }
  }
}

//===----------------------------------------------------------------------===//
// Late values
//===----------------------------------------------------------------------===//

void PartExtraction::relay(LoadOp load, ScheduleOp schedule) {
  const auto *own = llvm::find(parts, part);
  Value batch = load.getBatch();
  // What parts from `first` on read of it.
  auto inputsFrom = [&](const StringRef *first) {
    NamedAttrList all;
    for (StringRef reader : llvm::make_range(first, parts.end()))
      for (NamedAttribute input : inputsFor(reader, batch))
        all.set(input.getName(), input.getValue());
    return all.getDictionary(module.getContext());
  };
  const std::string channel = channelOf(load, 0, schedule);
  const DictionaryAttr here = inputsFrom(own),
                       above = own + 1 == parts.end() ? DictionaryAttr()
                                                      : inputsFrom(own + 1);
  OpBuilder builder(load->getContext());
  builder.setInsertionPointAfter(load);
  if (own != parts.begin()) {
    Value arrived = receive(builder, load.getLoc(), batch.getType(), own[-1],
                            channel, /*batch=*/Value(), here, load.getStage());
    batch.replaceAllUsesWith(arrived);
    batch = arrived;
  }
  if (above)
    send(builder, batch, own[1], channel, /*batch=*/Value(), above,
         load.getStage());
}

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

void PartExtraction::sendLate(OpBuilder &builder, Value value,
                              const std::string &channel) {
  for (StringRef other : llvm::ArrayRef(parts.getArrayRef()).drop_back())
    SendOp::create(builder, value.getLoc(), value, other, channel,
                   /*batch=*/Value(), /*inputs=*/DictionaryAttr(),
                   distance(other));
  WaitOp::create(builder, value.getLoc(), value);
  // Named by how many steps ago it was sent, when a checkpoint is taken up.
  Value before = value;
  for (int64_t ago = 1; ago <= distance(parts.front()); ++ago) {
    const std::string name = channel + "." + std::to_string(ago);
    ReportOp::create(builder, value.getLoc(), before, name);
    before = SettingOp::create(builder, value.getLoc(), value.getType(),
                               "before." + name);
  }
}

void PartExtraction::exchangeLate(LateOp late) {
  OpBuilder builder(late);
  StringRef last = parts.back();
  late.getSteps().replaceAllUsesWith(
      integer(builder, late.getLoc(), distance(part)));
  for (auto [index, value, arrived] :
       llvm::enumerate(late.getValues(), late.getLates())) {
    const std::string channel = "train.late." + std::to_string(index);
    Value own = value;
    if (part == last)
      sendLate(builder, value, channel);
    else
      own = ReceiveOp::create(builder, late.getLoc(), value.getType(), last,
                              channel, /*batch=*/Value(),
                              /*inputs=*/DictionaryAttr(), distance(part));
    arrived.replaceAllUsesWith(own);
  }
  late.erase();
}

//===----------------------------------------------------------------------===//
// Vectors over parameters
//===----------------------------------------------------------------------===//

func::FuncOp PartExtraction::gatherFunction(EntryOp entry,
                                            ArrayRef<StringRef> owners) {
  std::string name = "scalar.gather." + entry.getSymName().str();
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  Location loc = module.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Type> types;
  SmallVector<StringRef> givers;
  for (StringRef giver : parts)
    if (int64_t count = llvm::count(owners, giver)) {
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

LogicalResult PartExtraction::gather(RunOp run, ScheduleOp schedule) {
  if (run.getNumResults() == 0)
    return success();
  auto entry = module.lookupSymbol<EntryOp>(run.getEntry());
  auto ops = entry.getBody().getOps<PerParameterOpInterface>();
  if (ops.empty())
    return run.emitOpError("cannot be given to a part: what it returns is of "
                           "all parameters");
  const SmallVector<StringRef> givers = ownersOf(*ops.begin());
  OpBuilder builder(run);
  int64_t stage = run.getStage();
  std::string channel =
      (stringifyPurpose(schedule.getPurpose()) + "." + run.getEntry()).str();
  Value own;
  if (countOwn(givers) > 0) {
    own = RunOp::create(
              builder, run.getLoc(), TypeRange(numbersType(countOwn(givers))),
              run.getEntry(), /*otherwise=*/nullptr, ValueRange(),
              /*batch=*/Value(), /*condition=*/Value(), stage, run.getLane())
              .getResult(0);
    for (StringRef other : parts)
      if (gives(part, other))
        send(builder, own, other, channel, Value(), {}, stage);
  }
  Value all;
  const std::string ofAll = channel + ".all";
  if (gathers()) {
    SmallVector<Value> pieces;
    for (StringRef giver : parts)
      if (int64_t count = llvm::count(givers, giver))
        pieces.push_back(giver == part ? own
                                       : receive(builder, run.getLoc(),
                                                 numbersType(count), giver,
                                                 channel, Value(), {}, stage));
    all = ScalarOp::create(builder, run.getLoc(), run.getResultTypes(),
                           gatherFunction(entry, givers).getSymName(), pieces,
                           stage)
              .getResult(0);
    for (StringRef other : parts)
      if (!isDirect() && other != part)
        send(builder, all, other, ofAll, Value(), {}, stage);
  } else {
    all = receive(builder, run.getLoc(), run.getResult(0).getType(),
                  parts.back(), ofAll, Value(), {}, stage);
  }
  run.getResult(0).replaceAllUsesWith(all);
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
      isOwn = !op->use_empty(); // of what was of other layers
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
  // What crosses is decided with all runs in place.
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
  if (common && part != parts.back())
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
