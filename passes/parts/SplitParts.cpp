//===- SplitParts.cpp - hone-split-parts ----------------------------------===//
//
// A cut changes only the callers: each longest run of calls of one part becomes
// an entry, and the values that cross become its boundary. So a model that is
// cut computes the same bits, and a cut needs no derivation of its own. Values
// that cross in a narrower type are rounded here, in the one module, and not
// where they are sent: so parts in programs of their own still have its bits.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/derive/ScalarFunctions.h"
#include "passes/module/Conversion.h"
#include "passes/module/Schedule.h"
#include "passes/parts/LayerParts.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_SPLITPARTS
#include "passes/Passes.h.inc"

/// The loss that is evaluated: training has copies of it along directions.
static FailureOr<EntryOp> findEvaluated(ModuleOp module) {
  if (std::optional<Schedule> schedule =
          Schedule::find(module, Purpose::Evaluate))
    return schedule->entries().front();
  return findLossEntry(module);
}

namespace {

/// A value that crosses from segment to segment.
struct Crossing {
  Value value;
  bool isRounded; ///< to the type of exchanges

  bool operator==(const Crossing &other) const {
    return value == other.value && isRounded == other.isRounded;
  }
};

/// Ops of one part that stand together in an entry.
struct Segment {
  StringRef part;
  SmallVector<Operation *> ops;
  /// Values from before, and values that are read after it or returned.
  SmallVector<Crossing> arguments, results;
  EntryOp entry;
};

void insert(SmallVector<Crossing> &list, Crossing crossing) {
  if (!llvm::is_contained(list, crossing))
    list.push_back(crossing);
}

struct SplitParts : impl::SplitPartsBase<SplitParts> {
  using SplitPartsBase::SplitPartsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (after.empty())
      return;
    FailureOr<EntryOp> loss = findEvaluated(module);
    if (failed(loss))
      return signalPassFailure();
    std::vector<std::string> given(names.begin(), names.end());
    FailureOr<LayerParts> cut = LayerParts::cut(
        *loss, SmallVector<int64_t>(after.begin(), after.end()), given);
    if (failed(cut))
      return signalPassFailure();
    parts = std::move(*cut);
    for (EntryOp entry : llvm::make_early_inc_range(module.getOps<EntryOp>()))
      if (!entry.getBody().getOps<CallOp>().empty() && failed(split(entry)))
        return signalPassFailure();
    if (inFlight > 1)
      module.walk([&](RepeatOp repeat) {
        if (failed(settleStages(repeat)))
          signalPassFailure();
      });
  }

private:
  /// The part of an op that stands in an entry; "" if it has none of its own,
  /// or is null.
  StringRef partOf(Operation *op) const;
  LogicalResult checkPools(EntryOp entry) const;
  FailureOr<std::vector<Segment>> segmentsOf(EntryOp entry) const;
  LogicalResult split(EntryOp entry);
  /// The type in which `type` crosses to another part.
  Type exchangedType(Type type) const;
  /// `from` as a `to`, by a block that only converts.
  Value convert(OpBuilder &builder, Value from, Type to);
  void createEntry(EntryOp whole, Segment &segment, Phase phase);
  LogicalResult replaceRuns(EntryOp whole,
                            const std::vector<Segment> &segments);
  /// Moves readers of later stages there, and copies carried values that they
  /// read.
  LogicalResult settleStages(RepeatOp repeat);

  LayerParts parts;
};

} // namespace

StringRef SplitParts::partOf(Operation *op) const {
  if (!op)
    return {};
  if (auto call = dyn_cast<CallOp>(op))
    return parts.partOf(call.getPrefix());
  if (auto gradient = dyn_cast<LayerGradientOp>(op))
    return parts.partOf(gradient.getPrefix());
  if (auto fold = dyn_cast<FoldGradientOp>(op))
    return partOf(fold.getLayerGradient());
  if (auto update = dyn_cast<UpdateOpInterface>(op))
    if (Value gradient = update.getLayerGradient())
      return partOf(gradient.getDefiningOp());
  // A pool is of the part whose layers read it, and so are the values in it.
  if (auto keep = dyn_cast<KeepOp>(op))
    return partOf(keep.getPool().getDefiningOp());
  // So is a layer's own number.
  if (isa<PoolOp, KeptOp, ElementOp>(op))
    for (Operation *user : op->getUsers())
      if (isa<KeptOp, CallOp>(user))
        return partOf(user);
  return {};
}

/// Values that layers of one part keep stay there.
LogicalResult SplitParts::checkPools(EntryOp entry) const {
  for (KeptOp kept : entry.getBody().getOps<KeptOp>()) {
    StringRef part = partOf(kept.getPool().getDefiningOp());
    for (Operation *user : kept->getUsers()) {
      if (partOf(user) == part)
        continue;
      InFlightDiagnostic diag =
          kept.emitOpError("reads a pool of another part; give each part a "
                           "pool of its own");
      diag.attachNote(kept.getPool().getLoc()) << "the pool is here";
      return diag;
    }
  }
  return success();
}

FailureOr<std::vector<Segment>> SplitParts::segmentsOf(EntryOp entry) const {
  std::vector<Segment> segments;
  for (Operation &op : entry.getBodyBlock().without_terminator()) {
    StringRef part = partOf(&op);
    if (part.empty())
      return op.emitOpError("belongs to no part of the model");
    if (segments.empty() || segments.back().part != part)
      segments.push_back({part, {}, {}, {}, {}});
    segments.back().ops.push_back(&op);
  }
  llvm::DenseMap<Operation *, Segment *> owner;
  for (Segment &segment : segments)
    for (Operation *op : segment.ops)
      owner[op] = &segment;
  for (Segment &segment : segments)
    for (Operation *op : segment.ops) {
      for (Value operand : op->getOperands()) {
        Operation *maker = operand.getDefiningOp();
        Segment *from = maker ? owner.lookup(maker) : nullptr;
        if (from == &segment)
          continue;
        Crossing crossing = {operand, from && from->part != segment.part &&
                                          exchangedType(operand.getType()) !=
                                              operand.getType()};
        insert(segment.arguments, crossing);
        if (from)
          insert(from->results, crossing);
      }
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(),
                         [](Operation *user) { return isa<ReturnOp>(user); }))
          insert(segment.results, {result, false});
    }
  return segments;
}

Type SplitParts::exchangedType(Type type) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (dtype != "bfloat16" || !tensor || !hasRows(tensor) ||
      !tensor.getElementType().isF32())
    return type;
  return tensor.clone(BFloat16Type::get(type.getContext()));
}

Value SplitParts::convert(OpBuilder &builder, Value from, Type to) {
  SymbolTable symbols(getOperation());
  BlockOp block = getConversion(symbols, cast<RankedTensorType>(from.getType()),
                                cast<RankedTensorType>(to).getElementType(),
                                builder.getInsertionBlock()->getParentOp());
  return CallOp::create(builder, from.getLoc(), TypeRange(to),
                        block.getSymName(), /*prefix=*/"", from)
      .getResult(0);
}

void SplitParts::createEntry(EntryOp whole, Segment &segment, Phase phase) {
  StringRef name = whole.getPhase() == Phase::Forward ? whole.getSymName()
                                                      : stringifyPhase(phase);
  OpBuilder builder(whole);
  auto typesOf = [&](ArrayRef<Crossing> values) {
    return llvm::map_to_vector(values, [&](const Crossing &own) {
      Type type = Value(own.value).getType();
      return own.isRounded ? exchangedType(type) : type;
    });
  };
  std::string symbol = (segment.part + "." + name).str();
  // An entry of updates is split in the same phases as that of gradients.
  if (SymbolTable(getOperation()).lookup(symbol))
    symbol = (segment.part + "." + whole.getSymName() + "." + name).str();
  segment.entry =
      EntryOp::create(builder, whole.getLoc(), symbol, phase,
                      typesOf(segment.arguments), typesOf(segment.results));
  segment.entry.setPartAttr(builder.getStringAttr(segment.part));
  mlir::Block &body = segment.entry.getBodyBlock();
  bool hasReturn = !body.empty();
  builder = hasReturn ? OpBuilder(body.getTerminator())
                      : OpBuilder::atBlockEnd(&body);
  IRMapping mapping;
  for (auto [crossing, argument] :
       llvm::zip_equal(segment.arguments, body.getArguments()))
    mapping.map(crossing.value, crossing.isRounded
                                    ? convert(builder, argument,
                                              Value(crossing.value).getType())
                                    : Value(argument));
  for (Operation *op : segment.ops)
    builder.clone(*op, mapping);
  if (hasReturn)
    return;
  SmallVector<Value> returned;
  for (const Crossing &result : segment.results) {
    Value made = mapping.lookup(result.value);
    returned.push_back(
        result.isRounded ? convert(builder, made, exchangedType(made.getType()))
                         : made);
  }
  ReturnOp::create(builder, whole.getLoc(), returned);
}

LogicalResult SplitParts::replaceRuns(EntryOp whole,
                                      const std::vector<Segment> &segments) {
  SmallVector<RunOp> runs;
  getOperation().walk([&](RunOp run) {
    if (run.getEntry() == whole.getSymName() ||
        run.getOtherwise() == whole.getSymName())
      runs.push_back(run);
  });
  for (RunOp run : runs) {
    if (run.getCondition())
      return run.emitOpError("cannot be cut: it is conditional");
    const bool isStaged = inFlight > 1 && isa<RepeatOp>(run->getParentOp());
    const int64_t last = isStaged ? inFlight - 1 : run.getStage();
    IRMapping values, rounded;
    values.map(whole.getBodyBlock().getArguments(), run.getValues());
    OpBuilder builder(run);
    for (auto [index, segment] : llvm::enumerate(segments)) {
      SmallVector<Value> arguments;
      for (const Crossing &argument : segment.arguments)
        arguments.push_back(
            (argument.isRounded ? rounded : values).lookup(argument.value));
      auto piece = RunOp::create(
          builder, run.getLoc(), EntryOp(segment.entry).getResultTypes(),
          EntryOp(segment.entry).getSymName(), /*otherwise=*/nullptr, arguments,
          run.getBatch(), /*condition=*/Value());
      piece.setStage(std::min<int64_t>(last, run.getStage() +
                                                 static_cast<int64_t>(index)));
      for (auto [result, made] :
           llvm::zip_equal(segment.results, piece.getResults()))
        (result.isRounded ? rounded : values).map(result.value, Value(made));
    }
    for (auto [from, to] :
         llvm::zip_equal(run.getResults(),
                         whole.getBodyBlock().getTerminator()->getOperands())) {
      // A number that crosses has the rest of the flight to arrive.
      for (Operation *user : from.getUsers())
        if (auto item = dyn_cast<ItemOpInterface>(user);
            item && user->getBlock() == run->getBlock())
          item.setItemStage(std::max(item.getItemStage(), last));
      from.replaceAllUsesWith(values.lookup(to));
    }
    run.erase();
  }
  return success();
}

/// The stage of `op` if it stands in `body`, else 0.
static int64_t stageIn(mlir::Block *body, Operation *op) {
  auto item = dyn_cast_or_null<ItemOpInterface>(op);
  return item && op->getBlock() == body ? item.getItemStage() : 0;
}

LogicalResult SplitParts::settleStages(RepeatOp repeat) {
  mlir::Block *body = &repeat.getBody().front();
  ValueRange yielded = body->getTerminator()->getOperands();
  auto yieldStage = [&](BlockArgument carried) {
    return stageIn(body, yielded[carried.getArgNumber()].getDefiningOp());
  };
  // A reader of a later stage moves to it; stages only grow, up to the last.
  for (bool isSettled = false; !isSettled;) {
    isSettled = true;
    for (Operation &op : body->without_terminator()) {
      auto item = dyn_cast<ItemOpInterface>(op);
      if (!item)
        continue;
      int64_t stage = item.getItemStage();
      for (Value operand : op.getOperands()) {
        auto carried = dyn_cast<BlockArgument>(operand);
        stage = std::max(stage, carried && carried.getOwner() == body
                                    ? yieldStage(carried)
                                    : stageIn(body, operand.getDefiningOp()));
      }
      isSettled &= stage == item.getItemStage();
      item.setItemStage(stage);
    }
  }
  // A later stage reads a carried value as it was in its own iteration.
  for (BlockArgument carried : body->getArguments()) {
    const int64_t stage = yieldStage(carried);
    auto isLater = [&](OpOperand &use) {
      return stageIn(body, use.getOwner()) > stage;
    };
    if (llvm::none_of(carried.getUses(), isLater))
      continue;
    FailureOr<func::FuncOp> same = getScalarFunction(
        getOperation(), "same", carried.getType(), carried.getType());
    if (failed(same))
      return failure();
    OpBuilder builder = OpBuilder::atBlockBegin(body);
    auto kept = ScalarOp::create(builder, repeat.getLoc(), carried.getType(),
                                 same->getSymName(), Value(carried), stage);
    carried.replaceUsesWithIf(kept.getResult(0), isLater);
  }
  return success();
}

LogicalResult SplitParts::split(EntryOp entry) {
  if (failed(checkPools(entry)))
    return failure();
  // A pool or an element at the top would be a piece of its part by itself.
  // Each is moved once, since several may have the same first user, and after
  // its readers.
  SmallVector<Operation *> early;
  for (Operation &op : entry.getBodyBlock())
    if (isa<PoolOp, ElementOp>(op) && !op.use_empty())
      early.push_back(&op);
  for (Operation *op : llvm::reverse(early))
    op->moveBefore(
        *llvm::min_element(op->getUsers(), [](Operation *a, Operation *b) {
          return a->isBeforeInBlock(b);
        }));
  FailureOr<std::vector<Segment>> segments = segmentsOf(entry);
  if (failed(segments))
    return failure();
  auto top = llvm::find_if(*segments, [&](const Segment &segment) {
    return segment.part == parts.last();
  });
  for (auto segment = segments->begin(); segment != segments->end(); ++segment)
    createEntry(entry, *segment,
                entry.getPhase() == Phase::Forward || segment < top
                    ? Phase::Forward
                : segment == top ? entry.getPhase()
                                 : Phase::Backward);
  if (failed(replaceRuns(entry, *segments)))
    return failure();
  entry.erase();
  return success();
}

} // namespace hone
